"""Prepared corpora: folders of shards with an index.

`prepare` writes a corpus, and `prepared` opens it. `batches` and `supervision` serve its records to training.
"""
