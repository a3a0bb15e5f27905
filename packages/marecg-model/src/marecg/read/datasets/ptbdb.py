"""The PTB Diagnostic ECG Database as PhysioNet publishes it: 1000 Hz, 15 leads, diagnoses in words.

One folder per patient (`patient001/s0010_re.hea`). Bousseljot et al. 1995, doi:10.13026/C28C71.
The Challenges' copy of it, with codes, is read by `cinc2021`.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from marecg.read.record import Candidate, Record
from marecg.read.wfdb import read_record
from marecg.read.wfdb_header import read_header

SOURCE = "ptbdb"
CODES = {
    "myocardial infarction": "164865005",
    "healthy control": "426783006",
    "bundle branch block": "6374002",
    "dysrhythmia": "698247007",
    "heart failure": "84114007",
    "valvular heart disease": "368009",
    "hypertrophy": "266249003",
    "myocardial hypertrophy": "266249003",
}
"""Reason for admission → the code of the official Dx map that says the same; other reasons have none."""

_PATIENT = re.compile(r"patient\d{3}")


def is_root(folder: Path) -> bool:
    """Whether `folder` holds one folder per patient."""
    return (folder / "patient001").is_dir()


def candidates(root: Path) -> Iterator[Candidate]:
    """Every header below a patient's folder."""
    for file in root.glob("patient*/*.hea"):
        if _PATIENT.fullmatch(file.parent.name):
            yield Candidate(root, file, SOURCE, partial(read, root, file))


def read(root: Path, file: Path, seconds: float | None = None) -> Record:
    """Read one record. Raises `RecordError` as `wfdb.read_record` does."""
    reason = read_header(file, root).comments.get("reason for admission", "")
    code = CODES.get(reason.partition("(")[0].strip().lower())
    note = f"reason for admission {reason!r} " + (f"read as {code}" if code else "has no code")
    return replace(
        read_record(file, root, seconds),
        source=SOURCE,
        codes=(code,) if code else (),
        patient=file.parent.name,
        notes=(note,),
    )
