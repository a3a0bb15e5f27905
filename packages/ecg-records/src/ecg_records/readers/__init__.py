"""Readers of records on disk: WFDB, arrays, clinical formats and published collections.

`discovery` finds records. Each format and each dataset has a reader.
"""
