"""The classifier on top of an encoder: fit, calibrate, save, load and ask."""
