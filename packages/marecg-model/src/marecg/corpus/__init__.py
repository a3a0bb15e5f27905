"""Prepared corpora: folders with the signals of many records in a few files (shards), and an index.

`prepare` writes a corpus, and `prepared` opens it. `batches` and `supervision` serve its records to training.
"""
