"""Read CPSC2018 (China Physiological Signal Challenge) in the layout of its organisers.

The recordings are MATLAB structs, and a table holds the labels.

`REFERENCE.csv` has up to three labels per recording. Each `A0001.mat` holds a struct `ECG` with `sex`, `age`
and `data` [12, L] in mV at 500 Hz, with the leads in standard order. The three archives may be unpacked into
a single folder, or into `TrainingSet1` to `TrainingSet3`, of which the third contains the table. Liu et al.
2018, doi:10.1166/jmihi.2018.2442.

The module `cinc2021` reads the CinC Challenges' copy of these recordings, which has WFDB headers. The
function `recordings` finds both layouts.

Shapes: K and C twelve leads in the order of `LEADS`, L samples.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ecg_records.dx import CPSC_LABELS, diagnoses
from ecg_records.errors import Reason, RecordError
from ecg_records.readers.arrays.mat5 import variables
from ecg_records.readers.datasets.cinc2021 import Cinc2021
from ecg_records.readers.identity import CPSC2018
from ecg_records.readers.tables import columns, rows
from ecg_records.readers.wfdb_header import read_header
from ecg_records.record import Candidate, Record, Unusable, age_in_years, is_regular, sex_letter
from ecg_records.signal.leads import LEADS
from ecg_records.stretch import WHOLE, Stretch

REFERENCE = "REFERENCE.csv"
FS = 500
_LABELS = ("First_label", "Second_label", "Third_label")


@dataclass(frozen=True)
class Cpsc2018:
    """Reader of the recordings in `REFERENCE.csv`. `Candidate.key` holds the codes of a recording."""

    source = CPSC2018
    marks = (REFERENCE, "TrainingSet[1-3]")

    def is_root(self, folder: Path) -> bool:
        """Return whether the folder, or a `TrainingSet` folder in it, holds the table of labels."""
        return _table(folder) is not None

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """Find all recordings in the table. Raises the same errors as `tables.rows`.

        A recording with invalid labels becomes an unusable candidate.
        """
        files = {file.name: file for folder in _folders(root) for file in folder.glob("*.mat")}
        for row in rows(_table(root) or root / REFERENCE, "Recording", *_LABELS):
            name = f"{row['Recording']}.mat"
            codes = _codes(row)
            unusable = codes if isinstance(codes, Unusable) else None
            key = None if unusable else codes
            yield Candidate(root, files.get(name, root / name), CPSC2018, self, key, unusable=unusable)

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read a recording. Raises `RecordError` if its file is missing or has an unexpected structure."""
        file = candidate.file
        if not is_regular(file):
            raise RecordError(Reason.no_signal_file, "the signal file is missing")
        try:
            ecg = {variable.name: variable for variable in variables(file)}["ECG"].value
            with np.errstate(over="ignore"):  # the quality rules report infinity
                x_CL = np.asarray(ecg["data"], np.float32)
            age, sex = str(np.squeeze(ecg["age"])), str(ecg["sex"])
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise RecordError(Reason.unreadable, f"has no struct ECG ({error})") from error
        if x_CL.ndim != 2 or x_CL.shape[0] != len(LEADS):
            raise RecordError(Reason.missing_lead, f"must have 12 leads, got an array of shape {x_CL.shape}")
        return Record(
            id=file.stem,
            source=CPSC2018,
            path=file,
            x_KL=x_CL[:, stretch.samples(FS, x_CL.shape[1])],
            fs=FS,
            length=x_CL.shape[1],
            codes=candidate.key,
            age=age_in_years(age),
            sex=sex_letter(sex),
        )


def recordings(root: Path) -> list[Candidate]:
    """Return the recordings of a folder, sorted by name, in the organisers' or the Challenges' layout.

    Raises `CorpusError` if the table of labels can't be read.
    """
    reader = Cpsc2018()
    if reader.is_root(root):
        return sorted(reader.candidates(root), key=lambda candidate: candidate.file.stem)
    headers = sorted(root.rglob("A[0-9][0-9][0-9][0-9].hea"))
    return list(Cinc2021().records(root, headers))


def codes_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the codes of a recording without reading its signal, or () if its labels are invalid."""
    if isinstance(candidate.reader, Cpsc2018):
        return candidate.key or ()
    try:
        return diagnoses(read_header(candidate.file, candidate.root).comments.get("dx", "")).codes
    except RecordError:
        return ()


def _folders(root: Path) -> list[Path]:
    return [root, *sorted(root.glob("TrainingSet[1-3]"))]


def _table(root: Path) -> Path | None:
    """Return the first table of labels in the folders, or None."""
    tables = (folder / REFERENCE for folder in _folders(root))
    return next((table for table in tables if _LABELS[0] in columns(table)), None)


def _codes(row: dict[str, str]) -> tuple[str, ...] | Unusable:
    """Return the codes of a row of the table.

    The row has the numbers of labels: 1 is the first of `CPSC_LABELS`.
    """
    labels = [row[name] for name in _LABELS]
    codes = dict(enumerate(CPSC_LABELS.values(), start=1))
    try:
        return tuple(codes[int(label)] for label in labels if label)
    except (ValueError, KeyError):
        listed = ", ".join(map(repr, labels))[:80]
        return Unusable(Reason.labels, f"labels in {REFERENCE} must be numbers from 1 to 9, got {listed}")
