"""Classifier on an encoder: fit, calibrate, save, load and predict."""
