"""`python -m marecg_small` prints where the example lies, for `marecg predict` and its like."""

from marecg_small import EXAMPLE

print(EXAMPLE)  # noqa: T201
