"""What is asked of an encoder: labels and splits of PTB-XL, CPSC2018 and a prepared corpus.

`registry` opens a task by its name.
"""
