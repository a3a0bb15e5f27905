"""HTML pages that open without a network (of a run, a record, a classifier), their drawings, and the demo.

Only tables, charts and words are made here. Other rooms compute the values.
"""
