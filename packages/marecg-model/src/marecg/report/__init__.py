"""A run as one HTML page that opens without a network (`writing.write_report`).

`quarantine` is a page of its own: what a preparation left out.
"""
