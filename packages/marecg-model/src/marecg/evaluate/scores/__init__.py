"""Scores: AUC, intervals, tests, reports and predictions.

Nothing here fits anything.
"""
