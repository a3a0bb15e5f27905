"""Does the graph help? Heads on frozen features, one for each graph, that differ in nothing but the graph.

docs/graph/plan.md says what is asked and how it is judged.
"""
