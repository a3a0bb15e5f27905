"""Probe frozen encoders: tasks, methods, protocols and scores, which `evaluation` combines.

Further modules probe several runs, check for leaks, and print tables of scores.
"""
