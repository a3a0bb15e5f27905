"""Test the benefit of the graph: train heads on the same frozen features, each with another graph.

research/graph/plan.md has the questions and the rules of evaluation.
"""
