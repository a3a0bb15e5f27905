"""What the pages claim, sentence by sentence, and what proves it: one line of TOML each, a file per page.

    "the beginning of a sentence, a list item or a table" = "PROOF: its figures"

A proof is one of these; a list holds several:

- `tests/FILE.py::test_name`, a test that exists;
- `benchmark ROW`, a row of `python -m benchmarks`;
- `computed NAME`, a function of `computed.py`, which gives the figures;
- `in PATH` or `in PATH#Heading`, where the figures are looked up;
- `2026-11-23 COMMAND`, the day of a measurement and the command that repeats it, or `2026-11-23 by …` where
  none does;
- `above`, counted or subtracted by hand from a table of the same page;
- `source NAME`, a published source, or the definition that the sentence is.

The figures of the sentence must be those of its proofs, no more and no fewer; of a table a hash stands there.
A line `"*" = "in PATH"` holds for all sentences of the page that have no line. Whoever edits a sentence edits
its line; `python -m tests.docs.claims` prints the lines that are missing or stale.
"""
