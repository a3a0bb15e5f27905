"""CODE-15 % as Zenodo publishes it: HDF5 files of tracings beside a table of exams.

`exams_part0.hdf5` … `exams_part17.hdf5` hold `tracings` [N, 4096, 12] at 400 Hz and `exam_id` [N];
`exams.csv` tells patient, age, sex, and which of six diagnoses the exam has. Recordings of 10 or 7 s are
zero-padded on both sides to 4096 samples. Ribeiro et al. 2021, doi:10.5281/zenodo.4916206.
"""

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from marecg.errors import CorpusError, Reason, RecordError
from marecg.read.array_layout import Layout
from marecg.read.arrays import read_signal
from marecg.read.record import Candidate, Record, age_in_years

TABLE = "exams.csv"
SOURCE = "code-15"
LAYOUT = Layout(fs=400, units="adc", gain=2, key="tracings")
"""Twelve leads in the usual order, and 2 units per mV: the tool that made the files scaled millivolts by 2
(its publishers' github.com/antonior92/ecg-preprocessing, README)."""
CODES = {
    "1dAVb": "270492004",
    "RBBB": "59118001",
    "LBBB": "164909002",
    "SB": "426177001",
    "ST": "427084000",
    "AF": "164889003",
    "normal_ecg": "426783006",
}
"""Columns → the codes of the official Dx map that say the same."""


class Exam(NamedTuple):
    """One row of the table."""

    patient: str | None
    age: float | None
    sex: str | None
    codes: tuple[str, ...]


_UNKNOWN = Exam(None, None, None, ())


def is_root(folder: Path) -> bool:
    """Whether `folder` holds the table of exams."""
    try:
        with (folder / TABLE).open(encoding="utf-8", errors="replace") as file:
            return {"exam_id", "trace_file"} <= set(file.readline(1000).strip().split(","))
    except OSError:
        return False


def candidates(root: Path) -> Iterator[Candidate]:
    """Every tracing on disk. Raises `CorpusError` when the table or a file can't be read."""
    exams = _exams(root / TABLE)
    for file in sorted(root.rglob("exams_part*.hdf5")):
        for row, exam_id in enumerate(_exam_ids(file)):
            exam = exams.get(exam_id)
            yield Candidate(root, file, SOURCE, partial(read, root, file, row, exam_id, exam), row=row)


def read(
    root: Path, file: Path, row: int, exam_id: int, exam: Exam | None, seconds: float | None = None
) -> Record:
    """Read one tracing, without its padding.

    Raises:
        RecordError: the file is outside the folder or unreadable, or the tracing is padding and nothing else.
    """
    x_CL = unpadded(read_signal(root, file, LAYOUT, row)[0])
    if not x_CL.shape[1]:
        raise RecordError(Reason.truncated, f"row {row} holds padding and no samples", where=file)
    notes = () if exam else (f"exam {exam_id} is not in {TABLE}",)
    patient, age, sex, codes = exam or _UNKNOWN
    return Record(
        id=str(exam_id),
        source=SOURCE,
        path=file,
        x_CL=x_CL if seconds is None else x_CL[:, : round(seconds * LAYOUT.fs)],
        fs=LAYOUT.fs,
        codes=codes,
        age=age,
        sex=sex,
        patient=patient,
        notes=notes if codes else (*notes, "no diagnosis"),
        length=x_CL.shape[1],
    )


def unpadded(x_CL: NDArray[np.float32]) -> NDArray[np.float32]:
    """What is left when the instants at both ends at which all leads are zero are taken away."""
    signal_L = np.flatnonzero(x_CL.any(axis=0))
    return x_CL[:, signal_L[0] : signal_L[-1] + 1] if len(signal_L) else x_CL[:, :0]


def _exams(path: Path) -> dict[int, Exam]:
    try:
        with path.open(newline="", encoding="utf-8") as table:
            return {int(row["exam_id"]): _exam(row) for row in csv.DictReader(table)}
    except (OSError, UnicodeDecodeError, csv.Error, KeyError, ValueError) as error:
        remedy = "Its columns include exam_id, patient_id, age and is_male"
        raise CorpusError(f"can't be understood ({error})", where=path, remedy=remedy) from error


def _exam(row: dict[str, str]) -> Exam:
    codes = tuple(code for column, code in CODES.items() if _is_true(row.get(column)))
    sex = ("M" if _is_true(row["is_male"]) else "F") if row["is_male"] else None
    return Exam(row["patient_id"] or None, age_in_years(row["age"]), sex, codes)


def _is_true(text: str | None) -> bool:
    return (text or "").lower() in ("true", "1", "1.0")


def _exam_ids(file: Path) -> list[int]:
    try:
        with h5py.File(file, "r") as content:
            ids: list[int] = content["exam_id"][:].tolist()
            if len(ids) != len(content["tracings"]):
                raise ValueError("exam_id and tracings differ in length")
            return ids
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        remedy = "Download it again, or take it away"
        raise CorpusError(f"can't be read ({error})", where=file, remedy=remedy) from error
