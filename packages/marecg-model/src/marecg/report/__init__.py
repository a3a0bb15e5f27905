"""HTML pages that open without a network (of a run, a record, a classifier), their drawings, and the demo.

These modules only write tables, charts and text. Other packages compute the values.
"""
