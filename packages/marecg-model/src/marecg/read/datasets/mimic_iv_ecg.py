"""MIMIC-IV-ECG as PhysioNet publishes it: 800,000 records without codes, for pretraining only.

`record_list.csv` names them (`files/p1000/p10000032/s40689238/40689238`); aVF stands before aVL in the files,
which is why leads are read by name. Gow et al. 2023, doi:10.13026/4nqg-sb35.
"""

import csv
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from marecg.errors import CorpusError
from marecg.read.record import Candidate, Record, on_disk
from marecg.read.wfdb import read_record

LIST = "record_list.csv"
SOURCE = "mimic-iv-ecg"


def is_root(folder: Path) -> bool:
    """Whether `folder` holds the list of records."""
    return (folder / LIST).is_file()


def candidates(root: Path) -> Iterator[Candidate]:
    """Every listed record that is on disk. Raises `CorpusError` when the list can't be read."""
    path = root / LIST
    try:
        with path.open(newline="", encoding="utf-8") as table:
            for row in csv.DictReader(table):
                file = root / f"{row['path']}.hea"
                if file.is_relative_to(root) and on_disk(file):
                    yield Candidate(root, file, SOURCE, partial(read, root, file, row["subject_id"]))
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, ValueError) as error:
        remedy = "Its columns include subject_id and path"
        raise CorpusError(f"can't be understood ({error})", where=path, remedy=remedy) from error


def read(root: Path, file: Path, patient: str, seconds: float | None = None) -> Record:
    """Read one record. Raises `RecordError` as `wfdb.read_record` does."""
    return replace(read_record(file, root, seconds), source=SOURCE, patient=patient)
