"""Frozen-encoder probes: tasks, methods, protocols and scores. `evaluation` combines them.

Further modules probe several runs, check for leaks, and print the paper's table.
"""
