"""Write HTML pages of runs, records and classifiers, which open without a network. Run the demo.

Most numbers on the pages are computed by other packages.
"""
