"""Scores: AUC, intervals, tests, reports and predictions.

These modules fit no models.
"""
