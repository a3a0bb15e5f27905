"""Probes of features: linear classifiers, choice of their strength, and protocols.

These modules don't depend on the origin of the features.
"""
