"""Readers of records on disk: WFDB, arrays in files of six kinds, the published collections.

`discovery` finds records, each format and each dataset reads its own.
"""
