"""Which concepts stand for a published task's classes: `zeroshot.tsv`, written concept by concept.

A class without an honest concept has none, and its reason stands beside it.
"""

import csv
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("zeroshot.tsv")


@cache
def zeroshot_concepts(task: str) -> dict[str, tuple[str, ...]]:
    """The concepts (abbreviations) that stand for each class of a published task, by class."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["task"] == task]
    return {row["class"]: tuple(row["concepts"].split()) for row in rows}
