"""The experiments around MAR-ECG: other methods, controls, baselines, ablations and the graph's experiment.

Nothing here is imported by name: `marecg` finds it by the entry points that are there for every package.
"""
