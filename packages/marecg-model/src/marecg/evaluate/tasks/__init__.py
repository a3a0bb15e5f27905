"""Tasks: labels and splits of PTB-XL, CPSC2018 and prepared corpora.

`registry` opens a task by its name.
"""
