"""Write HTML pages of runs, records and classifiers, which open without a network. Run the demo.

These modules only write tables, charts and text. Other packages compute the values.
"""
