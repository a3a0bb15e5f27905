"""Signals as arrays: filters, mains hum, leads, units and quality. No files and no records."""
