"""The PTB-XL tasks by the rules of its benchmark, with its official folds.

Strodthoff et al. 2021, doi:10.1109/JBHI.2020.3022989: a record has a class if any of its SCP statements, with
any likelihood, has the task's kind and belongs to the class. Records without a class are left out. Folds 1–8
are train, 9 is val, 10 is test. Class names lose the underscores of `scp_statements.csv` (`NST_` is `NST`) as
in MERL's tables, whose labels agree.

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
"""Function from a statement to its class or None, by task."""
TABLES = {
    "ptbxl-super": "super_class",
    "ptbxl-sub": "sub_class",
    "ptbxl-form": "form",
    "ptbxl-rhythm": "rhythm",
}
"""Name of each task in MERL's tables."""


def ptbxl_task(name: str, root: Path, splits: Path | None = None, folds: Folds = OFFICIAL) -> Task:
    """Build one of the four tasks (`CLASS_OF`) on the records under the folder of `ptbxl_database.csv`.

    By default, labels follow `scp_statements.csv`, and the split follows `folds`. With `splits`, both come
    from MERL's tables. Raises `CorpusError` if a table is missing or damaged, or no record is on disk.
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
            f"holds no record of the task {name}", where=root, remedy="Download records500 of PTB-XL"
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
