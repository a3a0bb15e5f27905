"""Pages that open without a network: of a run, of a record, of what was quarantined; and the demo.

Only tables, charts and words are made here; what they show is computed below.
"""
