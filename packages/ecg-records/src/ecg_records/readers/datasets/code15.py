"""Read CODE-15 % in Zenodo's layout: HDF5 files of tracings, and a table of exams.

`exams_part0.hdf5` … `exams_part17.hdf5` hold `tracings` [N, 4096, 12] at 400 Hz and `exam_id` [N].
`exams.csv` lists patient, age, sex and six diagnoses of each exam. Recordings of 10 or 7 s are zero-padded on
both sides to 4096 samples. Ribeiro et al. 2021, doi:10.5281/zenodo.4916206.

Shapes: K and C twelve leads in the order of `LEADS`, L samples.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from ecg_records.dx import NO_DIAGNOSIS
from ecg_records.errors import Reason, RecordError
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.arrays.arrays import read_row
from ecg_records.readers.tables import columns, rows
from ecg_records.record import Candidate, Record, Unusable, age_in_years, is_regular
from ecg_records.stretch import WHOLE, Stretch

TABLE = "exams.csv"
SOURCE = "code-15"
LAYOUT = Layout(fs=400, units="adc", gain=2, key="tracings")
"""Layout of the tracings: twelve leads in the usual order, with 2 units per mV, because the authors' tool
scaled millivolts by 2 (github.com/antonior92/ecg-preprocessing, README)."""
CODES = {
    "1dAVb": "270492004",
    "RBBB": "59118001",
    "LBBB": "164909002",
    "SB": "426177001",
    "ST": "427084000",
    "AF": "164889003",
    "normal_ecg": "426783006",
}
"""Equivalent code in the official table `Dx_map.csv` for each column."""


class Exam(NamedTuple):
    """Row of `exams.csv`, the table of exams."""

    patient: str | None
    age: float | None
    sex: str | None
    codes: tuple[str, ...]


_UNKNOWN = Exam(None, None, None, ())


@dataclass(frozen=True)
class Code15:
    """Reader of the tracings of all downloaded parts. `Candidate.key` is (exam id, `Exam` or None)."""

    source = SOURCE
    marks = (TABLE,)

    def is_root(self, folder: Path) -> bool:
        """Return whether the folder has a table that lists the file of each exam."""
        return {"exam_id", "trace_file"} <= columns(folder / TABLE)

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """Find all tracings on disk. Raises the same errors as `tables.rows`.

        A part that can't be read becomes a single unusable candidate.
        """
        exams = _exams(root / TABLE)
        for file in sorted(root.rglob("exams_part*.hdf5")):
            try:
                ids = _exam_ids(file)
            except (OSError, KeyError, ValueError, TypeError, AttributeError, RuntimeError) as error:
                problem = f"can't be read ({error}): download it again"
                yield Candidate(root, file, SOURCE, self, unusable=Unusable(Reason.unreadable, problem))
            else:
                for row, exam_id in enumerate(ids):
                    yield Candidate(root, file, SOURCE, self, (exam_id, exams.get(exam_id)), row=row)

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read a tracing without its padding. Raises `RecordError`."""
        exam_id, exam = candidate.key
        x_CL = unpadded(read_row(candidate.file, LAYOUT, candidate.row)[0])
        if not x_CL.shape[1]:
            raise RecordError(Reason.truncated, f"row {candidate.row} has only padding and no samples")
        notes = () if exam else (f"exam {exam_id} is not in {TABLE}",)
        patient, age, sex, codes = exam or _UNKNOWN
        return Record(
            id=str(exam_id),
            source=SOURCE,
            path=candidate.file,
            x_KL=x_CL[:, stretch.samples(LAYOUT.fs, x_CL.shape[1])],
            fs=LAYOUT.fs,
            length=x_CL.shape[1],
            codes=codes,
            age=age,
            sex=sex,
            patient=patient,
            notes=notes if codes else (*notes, NO_DIAGNOSIS),
        )


def unpadded(x_CL: NDArray[np.float32]) -> NDArray[np.float32]:
    """Remove samples at both ends that are zero in all leads."""
    signal_L = np.flatnonzero(x_CL.any(axis=0))
    return x_CL[:, signal_L[0] : signal_L[-1] + 1] if len(signal_L) else x_CL[:, :0]


def _exams(path: Path) -> dict[int, Exam]:
    """Return the rows by exam id. Damaged rows are skipped, so their tracings have no row and get a note."""
    exams: dict[int, Exam] = {}
    for row in rows(path, "exam_id", "patient_id", "age", "is_male"):
        codes = tuple(code for column, code in CODES.items() if _is_true(row.get(column)))
        sex = ("M" if _is_true(row["is_male"]) else "F") if row["is_male"] else None
        with suppress(ValueError, TypeError):
            exams[int(row["exam_id"])] = Exam(row["patient_id"] or None, age_in_years(row["age"]), sex, codes)
    return exams


def _is_true(text: str | None) -> bool:
    return (text or "").lower() in ("true", "1", "1.0")


def _exam_ids(file: Path) -> list[int]:
    """Return the exam ids of a part, one per tracing. Raises `ValueError`, or the errors of h5py."""
    if not is_regular(file):
        raise ValueError("isn't a regular file")
    with h5py.File(file, "r") as content:
        ids: list[int] = content["exam_id"][:].tolist()
        if len(ids) != len(content["tracings"]):
            raise ValueError("exam_id and tracings must have the same length")
        return ids
