"""Prepared corpora: folders of shards, and how to make, open, describe and sample them.

`prepare` writes a corpus, `prepared` opens it, and `batches` and `supervision` pass it to training.
"""
