"""CPSC2018 as its organisers published it: MAT structs and a table of labels.

`REFERENCE.csv` has up to three labels per recording; each `A0001.mat` holds a struct `ECG` with `sex`, `age`
and `data` [12, L] in mV at 500 Hz, leads in the standard order. The three archives may be unpacked into one
folder or into `TrainingSet1` to `3`, where the third brings the table. Liu et al. 2018,
doi:10.1166/jmihi.2018.2442.
The Challenges' copy of it, with WFDB headers, is read by `cinc2021`.
"""

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from marecg.config import LEADS
from marecg.errors import CorpusError, Reason, RecordError
from marecg.read.dx import CPSC_LABELS
from marecg.read.mat5 import variables
from marecg.read.record import Candidate, Record, age_in_years, inside, on_disk, sex_letter

REFERENCE = "REFERENCE.csv"
SOURCE = "cpsc2018"
FS = 500
_LABELS = ("First_label", "Second_label", "Third_label")


def is_root(folder: Path) -> bool:
    """Whether `folder` holds the table of labels, itself or in one of its `TrainingSet` folders."""
    return _table(folder) is not None


def candidates(root: Path) -> Iterator[Candidate]:
    """Every recording of the table. Raises `CorpusError` when the table can't be read."""
    path = _table(root) or root / REFERENCE
    files = {file.name: file for folder in _folders(root) for file in folder.glob("*.mat")}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            codes = tuple(_code(row[name]) for name in _LABELS if row[name])
            name = f"{row['Recording']}.mat"
            file_ = files.get(name, root / name)
            yield Candidate(root, file_, SOURCE, partial(read, root, file_, codes))
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, ValueError, IndexError) as error:
        remedy = "Its columns are Recording, First_label, Second_label, Third_label"
        raise CorpusError(f"can't be understood ({error})", where=path, remedy=remedy) from error


def _folders(root: Path) -> list[Path]:
    return [root, *sorted(root.glob("TrainingSet[1-3]"))]


def _table(root: Path) -> Path | None:
    """The first table of labels in the folders."""
    for folder in _folders(root):
        try:
            with (folder / REFERENCE).open(encoding="utf-8-sig", errors="replace") as file:
                if _LABELS[0] in file.readline(200):
                    return folder / REFERENCE
        except OSError:
            continue
    return None


def read(root: Path, file: Path, codes: tuple[str, ...], seconds: float | None = None) -> Record:
    """Read one recording.

    Raises:
        RecordError: the file is missing, leaves the folder, or holds no struct of this form.
    """
    if ".." in file.parts or not inside(file, root):
        raise RecordError(Reason.path, f"{file.name[:80]!r} is not in the folder of its table", where=file)
    if not on_disk(file):
        raise RecordError(Reason.no_signal_file, "its signal file is missing", where=file)
    try:
        ecg = {each.name: each for each in variables(file)}["ECG"].value
        with np.errstate(over="ignore"):  # what is no number is found by the quality rules
            x_CL = np.asarray(ecg["data"], np.float32)
        age, sex = str(np.squeeze(ecg["age"])), str(ecg["sex"])
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise RecordError(Reason.unreadable, f"holds no struct ECG ({error})", where=file) from error
    if x_CL.ndim != 2 or x_CL.shape[0] != len(LEADS):
        raise RecordError(Reason.missing_lead, f"holds {x_CL.shape} samples, not twelve leads", where=file)
    length = x_CL.shape[1]
    x_CL = x_CL if seconds is None else x_CL[:, : round(seconds * FS)]
    return Record(
        file.stem, SOURCE, file, x_CL, FS, codes, age_in_years(age), sex_letter(sex), None, (), length
    )


def _code(label: str) -> str:
    """Labels count from 1, in the order of `CPSC_LABELS`."""
    place = int(label) - 1
    if place < 0:
        raise ValueError(f"label {label}")
    return tuple(CPSC_LABELS.values())[place]
