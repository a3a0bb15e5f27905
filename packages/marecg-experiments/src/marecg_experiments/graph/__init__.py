"""Experiment on the graph's benefit: heads on frozen features that differ in the graph alone.

docs/graph/plan.md says what is asked and how it is judged.
"""
