"""Run experiments around MAR-ECG: other methods, controls, baselines, ablations, and tests of the graph.

A control is a training without the tested component, for example without the graph.

`marecg` doesn't import this package. It finds recipes, objectives and baselines by their entry points.
"""
