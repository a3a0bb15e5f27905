"""A signal as numbers, and what can be read out of it: leads, units, windows, quality, R-peaks, physiology.

No files and no records; `batch` alone has tensors.
"""
