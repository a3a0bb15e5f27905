"""Define tasks: labels and splits of PTB-XL, CPSC2018 and prepared corpora.

`registry` finds a task by its name.
"""
