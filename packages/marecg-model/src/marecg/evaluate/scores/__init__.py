"""Compute scores: AUC, intervals, tests, reports and predictions.

These modules don't fit models.
"""
