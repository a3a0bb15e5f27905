"""The prepared corpus: how a folder of shards is made, opened, described, audited and given away.

`prepare` writes it, `prepared` opens it, `batches` and `supervision` hand it to the training.
"""
