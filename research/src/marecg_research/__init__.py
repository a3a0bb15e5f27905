"""Run experiments around MAR-ECG: other methods, controls, baselines, ablations, and tests of the graph.

`marecg` doesn't import this package. It finds recipes, objectives and baselines by their entry points.
"""
