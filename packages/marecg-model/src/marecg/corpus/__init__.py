"""Prepared corpora: folders of shards, their making, opening, description and sampling.

`prepare` writes it, `prepared` opens it, `batches` and `supervision` hand it to the training.
"""
