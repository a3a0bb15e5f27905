"""Probe features with linear classifiers, by the rules of a protocol.

These modules don't depend on the origin of the features.
"""
