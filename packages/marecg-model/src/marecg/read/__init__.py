"""Whatever lies on disk, as a `Record`: WFDB, arrays in files of six kinds, the published collections.

`discovery` finds records, each format and each dataset reads its own.
"""
