"""Test the benefit of the graph: train heads on the same frozen features, each with another graph.

An arm is a training with a certain graph. A base is a frozen encoder. A regime defines which codes of the
training records are used, for example all codes. Arms are compared within a base, regime and seed.

research/graph/plan.md has the questions and the rules of evaluation.
"""
