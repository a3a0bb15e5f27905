"""Probes of features: linear classifiers, choice of their strength, and protocols.

Nothing here knows where the features come from.
"""
