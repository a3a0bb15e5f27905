"""Experiment on the benefit of the graph: heads on the same frozen features, each with another graph.

research/graph/plan.md says what is asked and how it is judged.
"""
