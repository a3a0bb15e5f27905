"""Embedding ten records into a folder, three to a part."""

import filecmp
from pathlib import Path
from typing import Any

from marecg.use.embed_records import embed_records

RECORDS, PART = 10, 3


def run(place: Path, out: object, *inputs: str, **options: Any) -> Any:
    given = [place / each for each in inputs or ("wfdb",)]
    return embed_records(place / "model", given, str(out), **{"part_records": PART, **options})


def same_files(one: Path, two: Path) -> None:
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in two.iterdir())
    assert filecmp.cmpfiles(one, two, names, shallow=False)[0] == names
