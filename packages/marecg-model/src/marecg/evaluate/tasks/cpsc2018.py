"""Define the task CPSC2018: nine classes, of which a record may have several.

The dataset is described in Liu et al. 2018, doi:10.1166/jmihi.2018.2442. The records A0001–A6877 are read as
published by the organisers, or in the WFDB format of the CinC Challenges (folder `cpsc_2018`). The hidden
test set was never published, so there is no official split. The split comes from MERL's tables
(`marecg.evaluate.tasks.label_tables`) or, without tables, from a hash of each record's name.

Shapes: M labelled records, K classes, C leads, L samples.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_records.dx import CPSC_LABELS
from ecg_records.readers.datasets import cpsc2018
from ecg_records.readers.identity import CPSC2018 as SOURCE
from ecg_records.readers.identity import published_as
from ecg_records.record import Candidate
from ecg_records.signal.samples import resample
from marecg.errors import CorpusError
from marecg.evaluate.tasks.label_tables import described, read_split_tables
from marecg.evaluate.tasks.task import (
    FS,
    LabelTable,
    Recordings,
    Task,
    TaskDefinition,
    assemble,
    files_sha256,
    multi_hot,
    split_of,
    zeroshot_concepts,
)

SECONDS = 10
SPLIT_RULE = "by a hash of the record's name: train 60 %, val 20 %, test 20 %"
NAMES = {
    "Normal": "NORM",
    "AF": "AFIB",
    "I-AVB": "1AVB",
    "LBBB": "CLBBB",
    "RBBB": "CRBBB",
    "PAC": "PAC",
    "PVC": "VPC",
    "STD": "STD",
    "STE": "STE",
}
"""Class name of each label of CPSC2018, as in MERL's tables."""
CLASS_OF = {CPSC_LABELS[label]: name for label, name in NAMES.items()}
"""Class name of each SNOMED CT code."""


def cpsc2018_task(root: Path, splits: Path | None = None) -> Task:
    """Build the task on the records in `root` and its subfolders.

    With `splits`, labels and split come from MERL's tables in this folder. Raises `CorpusError` if a table is
    damaged, or if no record has any of the classes.
    """
    candidates = cpsc2018.recordings(root)
    recordings = _recordings(root, candidates)
    if splits is None:
        table, folds = _by_codes(candidates), SPLIT_RULE
    else:
        table = read_split_tables(splits / "icbeb", "icbeb", "filename")
        folds = described("icbeb")
    task = assemble("cpsc2018", recordings, table, folds, concepts=zeroshot_concepts("cpsc2018"))
    if not len(task.row_M):
        raise CorpusError(
            "must contain records of CPSC2018, got none",
            where=root,
            remedy="Give the folder cpsc_2018 of the CinC 2021 data, or the folder with REFERENCE.csv",
        )
    return task


def _by_codes(candidates: list[Candidate]) -> LabelTable:
    classes = tuple(sorted(CLASS_OF.values()))
    labels = {
        candidate.file.stem: {CLASS_OF[code] for code in cpsc2018.codes_of(candidate) if code in CLASS_OF}
        for candidate in candidates
    }
    ids = tuple(record for record, present in labels.items() if present)
    return LabelTable(
        classes=classes,
        ids=ids,
        y_MK=multi_hot((labels[record] for record in ids), classes),
        split_M=np.array([split_of(record) for record in ids]),
    )


def _recordings(root: Path, candidates: list[Candidate]) -> Recordings:
    def read(row: int) -> NDArray[np.float32]:
        record = candidates[row].read(SECONDS)
        return resample(record.x_CL, record.fs, FS)

    headers = [candidate.file for candidate in candidates]
    files = dict.fromkeys(file for header in headers for file in (header, header.with_suffix(".mat")))
    return Recordings(
        name="cpsc2018",
        ids=tuple(candidate.file.stem for candidate in candidates),
        sha256=files_sha256(root, (file for file in files if file.is_file())),
        window=f"up to the first {SECONDS} s at {FS} Hz",
        read=read,
        identities=tuple(published_as(candidate.file.stem, SOURCE) for candidate in candidates),
    )


CPSC2018 = TaskDefinition("cpsc2018", data="cpsc2018", build=cpsc2018_task, takes=("splits",))
