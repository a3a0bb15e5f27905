"""Define the PTB-XL tasks by the rules of PTB-XL's benchmark, with its official folds.

The rules are from Strodthoff et al. 2021, doi:10.1109/JBHI.2020.3022989. A record has a class if an SCP
statement of the record, with any likelihood, belongs to the class. Records without a class are left out.
Folds 1–8 are train, 9 is val, 10 is test. Class names have no underscores, unlike `scp_statements.csv`
(`NST_` is `NST`). Names and labels are the same as in MERL's tables.

Shapes: M labelled records, K classes, C leads, L samples.
"""

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_records.readers.datasets import ptbxl
from ecg_records.readers.datasets.ptbxl import Entry, Statement
from ecg_records.readers.identity import PTBXL, patient_of, published_as
from ecg_records.signal.samples import resample
from ecg_records.stretch import Stretch
from marecg.errors import CorpusError
from marecg.evaluate.tasks.label_tables import described, read_split_tables
from marecg.evaluate.tasks.task import (
    FS,
    Folds,
    LabelTable,
    Recordings,
    Task,
    TaskDefinition,
    assemble,
    files_sha256,
    multi_hot,
    zeroshot_concepts,
)

SECONDS = 10
OFFICIAL = Folds.of("1-8,9,10")
CLASS_OF: dict[str, Callable[[Statement], str | None]] = {
    "ptbxl-super": lambda statement: statement.superclass if statement.diagnostic else None,
    "ptbxl-sub": lambda statement: statement.subclass if statement.diagnostic else None,
    "ptbxl-form": lambda statement: statement.name if statement.form else None,
    "ptbxl-rhythm": lambda statement: statement.name if statement.rhythm else None,
}
"""Function from a statement to its class or None, for each task."""
TABLES = {
    "ptbxl-super": "super_class",
    "ptbxl-sub": "sub_class",
    "ptbxl-form": "form",
    "ptbxl-rhythm": "rhythm",
}
"""Name of each task's tables in MERL's folder."""


def ptbxl_task(name: str, root: Path, splits: Path | None = None, folds: Folds = OFFICIAL) -> Task:
    """Build one of the four tasks of PTB-XL.

    Args:
        name: name of the task; see `CLASS_OF`.
        root: folder of `ptbxl_database.csv`.
        splits: folder of MERL's tables (`marecg.evaluate.tasks.label_tables`), from which labels and split
            are read. If None, labels follow `scp_statements.csv`, and the split follows `folds`.
        folds: folds of each part.

    Raises:
        CorpusError: a table is missing or damaged, or no record of the task is on disk.
    """
    entries = ptbxl.entries(root)
    recordings = _recordings(root, entries)
    if splits is None:
        table, missing = _by_rule(name, root, entries, folds), _missing(root, entries)
        described_as = f"PTB-XL strat_fold: {folds}"
    else:
        stem, missing = f"ptbxl_{TABLES[name]}", ()
        folder = splits / "ptbxl" / TABLES[name]
        table = read_split_tables(folder, stem, "ecg_id")
        described_as = described(stem)
    task = assemble(name, recordings, table, described_as, missing, zeroshot_concepts(name))
    if not len(task.row_M):
        raise CorpusError(
            f"must contain records of the task {name}, got none",
            where=root,
            remedy="Download records500 of PTB-XL",
        )
    return task


def _by_rule(name: str, root: Path, entries: list[Entry], folds: Folds) -> LabelTable:
    class_of = {
        statement.name: label.strip("_")
        for statement in ptbxl.statements(root).values()
        if (label := CLASS_OF[name](statement))
    }
    classes = tuple(sorted(set(class_of.values())))
    labels = [{class_of[code] for code in entry.scp if code in class_of} for entry in entries]
    labelled = [(entry, present) for entry, present in zip(entries, labels, strict=True) if present]
    return LabelTable(
        classes=classes,
        ids=tuple(str(entry.ecg_id) for entry, _ in labelled),
        y_MK=multi_hot((present for _, present in labelled), classes),
        split_M=np.array([folds.part(entry.fold) for entry, _ in labelled], np.str_),
    )


def _recordings(root: Path, entries: list[Entry]) -> Recordings:
    def read(row: int) -> NDArray[np.float32]:
        record = ptbxl.read(root, entries[row], Stretch(seconds=SECONDS))
        return resample(record.x_CL, record.fs, FS)

    headers = [ptbxl.header_of(root, entry) for entry in entries]
    signals = [header.with_suffix(".dat") for header in headers]
    return Recordings(
        name="ptbxl",
        ids=tuple(str(entry.ecg_id) for entry in entries),
        sha256=files_sha256(root, (file for file in (*headers, *signals) if file.is_file())),
        window=f"the first {SECONDS} s at {FS} Hz",
        read=read,
        identities=tuple(published_as(f"{entry.ecg_id:05d}", PTBXL) for entry in entries),
        patients=tuple(patient_of(PTBXL, entry.patient) for entry in entries),
        patient_by_identity=ptbxl.patients_by_identity([root]),
        people={"age": [entry.age for entry in entries], "sex": [entry.sex for entry in entries]},
    )


def _missing(root: Path, entries: list[Entry]) -> tuple[str, ...]:
    with (root / ptbxl.DATABASE).open(newline="", encoding="utf-8") as file:
        listed = {int(row["ecg_id"]) for row in csv.DictReader(file)}
    return tuple(str(ecg_id) for ecg_id in sorted(listed - {entry.ecg_id for entry in entries}))


PTBXL_TASKS = tuple(
    TaskDefinition(name, "ptbxl", partial(ptbxl_task, name), ("splits", "folds")) for name in CLASS_OF
)
