"""Signals as numbers: leads, units, quality, R-peaks, intervals. No files and no records."""
