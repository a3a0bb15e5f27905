"""Read records from disk: WFDB, arrays, clinical formats and published data sets.

`discovery` finds records. Each format and each data set has its own reader.
"""
