"""Selection and description of prepared corpora: cohorts, audits against evaluation sets, statistics.

`marecg.corpus` prepares a corpus and reads it in batches; nothing of that needs this package.
"""
