"""Frozen-encoder probes: tasks, methods, protocols and scores; `evaluation` combines them.

Beside it: sweeps and ablations over several runs, the leak check, and the paper's table.
"""
