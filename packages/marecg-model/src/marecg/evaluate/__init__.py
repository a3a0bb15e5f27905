"""Probe frozen encoders: fit a linear classifier to their features, and score it on test records.

`tasks` defines labels and splits, `methods` compute features, `probe` fits classifiers, and `scores` computes
AUCs and reports. `evaluation` combines them for one encoder. Other modules probe several runs, check for test
records that were in training, and print tables of scores.
"""
