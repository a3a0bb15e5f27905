"""Define tasks on the ST segment and the T wave for `marecg probe --task benchmarks/st_t.py:TERRITORY`.

The records are from PTB-XL.

Shapes: M labelled records, K classes.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from ecg_records.readers.datasets import ptbxl
from marecg.evaluate.tasks.ptbxl import OFFICIAL, ptbxl_task
from marecg.evaluate.tasks.task import Folds, LabelTable, Task, TaskDefinition, assemble, multi_hot

Sides = Mapping[str, tuple[str, ...]]
"""SCP statements of each class. Their likelihood is ignored."""
INJURY = ("INJAL", "INJAS", "INJIL", "INJIN", "INJLA")


def statements_task(name: str, classes: Sides, either: bool, root: Path, folds: Folds = OFFICIAL) -> Task:
    """Build a task with classes of SCP statements. Raises the errors of `ptbxl_task`.

    Args:
        name: name of the task.
        classes: statements of each class.
        either: whether to use only records with exactly one class. If False, all records are used.
        root: folder of PTB-XL.
        folds: folds of each part.
    """
    recordings = ptbxl_task("ptbxl-super", root, folds=folds).recordings
    rows = []
    for entry in ptbxl.entries(root):
        present = {label for label, statements in classes.items() if entry.scp.keys() & set(statements)}
        if not either or len(present) == 1:
            rows.append((entry, present))
    table = LabelTable(
        classes=tuple(classes),
        ids=tuple(str(entry.ecg_id) for entry, _ in rows),
        y_MK=multi_hot((present for _, present in rows), tuple(classes)),
        split_M=np.array([folds.part(entry.fold) for entry, _ in rows], np.str_),
    )
    return assemble(name, recordings, table, f"PTB-XL strat_fold: {folds}")


def _defined(name: str, classes: Sides, either: bool = False) -> TaskDefinition:
    return TaskDefinition(name, "ptbxl", partial(statements_task, name, classes, either), ("folds",))


STATEMENTS = _defined("st-t-statements", {"NDT": ("NDT",), "NST": ("NST_",), "DIG": ("DIG",), "INJ": INJURY})
"""Non-diagnostic T changes, non-specific ST changes, digitalis effect and any subendocardial injury."""
TERRITORY = _defined(
    "mi-territory", {"anterior": ("AMI", "ASMI", "ALMI"), "inferior": ("IMI", "ILMI")}, either=True
)
"""Location of an infarction."""
ISCHAEMIA = _defined(
    "ischaemia-territory",
    {"anterior": ("ISCAL", "ISCAS", "ISCAN", "ISCLA"), "inferior": ("ISCIN", "ISCIL")},
    either=True,
)
"""Location of an ischaemia."""
