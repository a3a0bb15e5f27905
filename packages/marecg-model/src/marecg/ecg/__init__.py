"""Signals as numbers: leads, units, windows, quality, R-peaks, physiology.

No files and no records; `batch` alone has tensors.
"""
