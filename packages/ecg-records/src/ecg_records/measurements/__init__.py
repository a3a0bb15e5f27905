"""Measure an ECG: R-peaks, rate, median beat, intervals, delineation."""
