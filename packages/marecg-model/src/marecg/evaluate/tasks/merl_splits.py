"""Label tables in the form in which MERL published its splits: one CSV per part, one column per class.

Layout: `ptbxl/super_class/ptbxl_super_class_train.csv` (sub_class, form, rhythm likewise) and
`icbeb/icbeb_train.csv`, each with val and test beside it. Liu et al. 2024, arXiv:2403.06659.
Shapes: M records, K classes.
"""

import csv
from pathlib import Path

import numpy as np

from marecg.base.errors import CorpusError
from marecg.evaluate.tasks.task import SPLITS, LabelTable

META = {
    *("ecg_id", "patient_id", "strat_fold", "filename_lr", "filename_hr", "filename", "validation"),
    *("age", "sex", "scp_codes", "super_class", "sub_class", "form", "rhythm"),
}
"""The columns that aren't classes; those behind them are."""


def read_split_tables(folder: Path, stem: str, key: str, *, by_position: bool = False) -> LabelTable:
    """Read `STEM_train.csv`, `STEM_val.csv` and `STEM_test.csv` in this order.

    Args:
        folder: where the three lie.
        stem: such as `ptbxl_sub_class`.
        key: the column that identifies a record.
        by_position: take the n-th label column of every file for the n-th class of the training file. That
            is how MERL's loader reads them, and wrong wherever the files order their columns differently.

    Raises:
        CorpusError: a file is missing or damaged, or the files don't have the same classes.
    """
    ids: list[str] = []
    labels: list[list[bool]] = []
    parts: list[str] = []
    classes: tuple[str, ...] = ()
    for part in SPLITS:
        path = folder / f"{stem}_{part}.csv"
        header, rows = _read(path, key)
        columns = tuple(name for name in header if name not in META)
        classes = classes or columns
        if set(columns) != set(classes):
            differ = ", ".join(sorted(set(columns) ^ set(classes)))
            raise CorpusError(f"has other classes than {stem}_train.csv: {differ}", where=path)
        order = columns if by_position else classes
        ids += [row[key] for row in rows]
        labels += [[row[name] in ("1", "1.0") for name in order] for row in rows]
        parts += [part] * len(rows)
    y_MK = np.array(labels, np.uint8).reshape(-1, len(classes))
    return LabelTable(classes, tuple(ids), y_MK, np.array(parts))


def described(stem: str, by_position: bool) -> str:
    """Where labels and split are from, in words."""
    how = "position, by which a perfect classifier scores 93.37 on the sub task" if by_position else "name"
    return f"the tables {stem}_*.csv, labels by {how}"


def _read(path: Path, key: str) -> tuple[list[str], list[dict[str, str]]]:
    remedy = "Give the folder of MERL's split tables: --set splits=FOLDER"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            header, rows = list(table.fieldnames or []), list(table)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"can't be read ({error})", where=path, remedy=remedy) from error
    if key not in header or any(None in (row, *row.values()) for row in rows):
        raise CorpusError(f"isn't a label table with a column {key!r}", where=path, remedy=remedy)
    return header, rows
