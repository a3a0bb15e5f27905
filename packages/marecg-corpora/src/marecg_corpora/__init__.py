"""Work of corpus makers: downloads, cohorts, audits against evaluation sets, statistics of prepared corpora.

`marecg.corpus` prepares a corpus and reads it in batches; nothing of that needs this package.
"""
