"""Read tables of labels: a user's table for a prepared corpus, and MERL's splits.

A user's table has a row per record and a column per class. MERL (Liu et al. 2024, arXiv:2403.06659) published
a table for each of train, val and test: `ptbxl/super_class/ptbxl_super_class_train.csv`, the same for
sub_class, form and rhythm, and `icbeb/icbeb_train.csv`.

Shapes: R recordings, M labelled records, K classes.
"""

import csv
from collections import Counter
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_base import read_bounded, unguarded
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError, InputError
from marecg.evaluate.tasks.corpus import SPLIT_RULE, corpus_recordings, split_by_patient
from marecg.evaluate.tasks.task import SPLITS, LabelTable, Task

NAMED_BY = ("record", "name", "id", "ecg_id", "study_id")
"""Possible names of the column with the records' names. Without such a column, it is the first column."""
MOST_COLUMNS = 2000
"""Maximum number of columns, because each is learnt as a class. SNOMED CT has fewer findings of the ECG."""
SPLIT = "split"
"""Optional column with the values `train`, `val` or `test`."""
CELLS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "": np.nan}
META = {
    *("ecg_id", "patient_id", "strat_fold", "filename_lr", "filename_hr", "filename", "validation"),
    *("age", "sex", "scp_codes", "super_class", "sub_class", "form", "rhythm"),
}
"""Columns of MERL's tables that aren't classes."""


def labels_task(path: Path, root: Path) -> Task:
    """Read a CSV of labels as a task on the corpus in the folder `root`.

    Records with an empty cell are left out. Raises the errors of `read_labels`.
    """
    task, known_MK = read_labels(path, root)
    return task.only(np.asarray(known_MK.all(axis=1)))


def read_labels(path: Path, root: Path) -> tuple[Task, NDArray[np.bool_]]:
    """Read a CSV of labels for the corpus in the folder `root`.

    Return the task and the mask of known labels, bool [M, K].

    The records' names are in the column `record`, `name`, `id`, `ecg_id` or `study_id`, or in the first
    column if there is no such column. A record may be named in four ways: by its `id` in `index.parquet`, by
    source and id (`ptbxl/00001`), by its name in `marecg embed`, or by its id as a number (`1`).

    The optional column `split` assigns each record to `train`, `val` or `test`. Without this column, a hash
    of the patient assigns it. Every other column is a class. An empty cell is an unknown label, which is 0 in
    the task's `y_MK`.

    Raises:
        InputError: the file isn't such a table, has no record of the corpus, or has a patient in two parts.
        CorpusError: `root` isn't a corpus at 500 Hz.
    """
    corpus = Corpus.open(root)
    recordings = corpus_recordings(corpus)
    table, named_by = _named_table(path)
    names = table[named_by].str.strip().map(unguarded)
    table["row"] = pd.array(recordings.rows_named(names), "Int64")
    missing = tuple(table[named_by][table["row"].isna()])
    table = table.dropna(subset="row").astype({"row": int})
    if not len(table):
        got = f"{missing[0]!r}" if missing else "none"
        remedy = f"Use the names of the corpus, for example {corpus.ids[0]} or {recordings.ids[0]}"
        raise InputError(f"must name records of {root}, got {got}", where=path, remedy=remedy)
    _refuse_twice(table, path, named_by)
    classes = tuple(name for name in table.columns if name not in (named_by, SPLIT, "row"))
    y_MK = _cells(table, classes, path)
    leaves = {node.abbr for node in corpus.ontology().nodes if not node.root}
    row_M = table["row"].to_numpy(np.int64)
    split_M, folds = split_by_patient(recordings)[row_M], SPLIT_RULE
    if SPLIT in table:
        split_M, folds = table[SPLIT].to_numpy(np.str_), f"by the column {SPLIT} of {path.name}"
        patients = [recordings.patients[row] or recordings.ids[row] for row in row_M]
        _check_split(split_M, patients, path)
    task = Task(
        name=path.stem,
        classes=classes,
        recordings=recordings,
        row_M=row_M,
        y_MK=np.nan_to_num(y_MK).astype(np.uint8),
        split_M=split_M,
        folds=folds,
        missing=missing,
        unlabelled=len(corpus) - len(table),
        concepts={name: (name,) for name in classes if name in leaves},
    )
    return task, np.isfinite(y_MK)


def labels_by_name(path: Path) -> pd.DataFrame:
    """Read a CSV of labels for records that need not be in a corpus, as a frame with a column per class.

    Labels are 0, 1, or NaN for an empty cell. The index has the names of the records. Raises
    `InputError` if the file isn't such a table.
    """
    table, named_by = _named_table(path)
    names = table[named_by].str.strip().map(unguarded)
    classes = tuple(name for name in table.columns if name not in (named_by, SPLIT))
    return pd.DataFrame(_cells(table, classes, path), index=pd.Index(names), columns=list(classes))


def _named_table(path: Path) -> tuple[pd.DataFrame, str]:
    """Read a table of text. Return the table, and the name of the column with the records' names."""
    table = _table(path)
    named_by = next((name for name in NAMED_BY if name in table), str(table.columns[0]))
    if named_by not in NAMED_BY and table[named_by].str.strip().isin(list(CELLS)).all():
        problem = f"must have a column with the records' names, but the first column, {named_by}, has labels"
        raise InputError(problem, where=path, remedy=f"Add a column {NAMED_BY[0]}")
    return table, named_by


def _table(path: Path) -> pd.DataFrame:
    """Read a table of text, separated by commas or semicolons. Raises `InputError`."""
    remedy = "Write CSV with a header line"
    content = read_bounded(path, remedy)
    line = content.partition(b"\n")[0].decode("utf-8-sig", errors="replace").strip()
    separator = ";" if line.count(";") > line.count(",") else ","
    if line.count(separator) > MOST_COLUMNS:
        raise InputError(f"has more than {MOST_COLUMNS:,} columns", where=path, remedy=remedy)
    try:
        table = pd.read_csv(
            BytesIO(content),
            sep=separator,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
        )
    except (OSError, ValueError) as error:
        problem = f"can't be read as a table ({str(error).strip()})"
        raise InputError(problem, where=path, remedy=remedy) from error
    if not len(table.columns):
        raise InputError("has no columns", where=path, remedy=remedy)
    header = [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        problem = f"has {header.count(twice[0])} columns called {twice[0]!r}"
        raise InputError(problem, where=path, remedy="Keep one of them")
    return table


def _refuse_twice(table: pd.DataFrame, path: Path, named_by: str) -> None:
    several = table[named_by][table["row"] < 0]
    if len(several):
        remedy = "Write its source before it, as SOURCE/NAME"
        problem = f"{several.iloc[0]!r} is the name of several records"
        raise InputError(problem, where=path, remedy=remedy)
    twice = table[named_by][table["row"].duplicated()]
    if len(twice):
        problem = f"must have one row per record, got several rows for {twice.iloc[0]!r}"
        raise InputError(problem, where=path, remedy="Keep one row per record")


def _cells(table: pd.DataFrame, classes: tuple[str, ...], path: Path) -> NDArray[np.float64]:
    """Return the labels [M, K]: 0, 1, or NaN for an empty cell. Raises `InputError`."""
    if not classes:
        raise InputError("must have at least one column of 0 and 1 for a class, got none", where=path)
    y_MK = np.full((len(table), len(classes)), np.nan)
    for column, name in enumerate(classes):
        cells = table[name].str.strip()
        odd = cells[~cells.isin(list(CELLS))]
        if len(odd):
            problem = f"labels must be 0 or 1, got {odd.iloc[0]!r} in line {odd.index[0] + 2}, column {name}"
            raise InputError(problem, where=path, remedy="Leave the cell empty if the label is unknown")
        y_MK[:, column] = cells.map(CELLS)
    return y_MK


def _check_split(split_M: NDArray[np.str_], patients: list[str], path: Path) -> None:
    """Raise `InputError` if a part is unknown, or if a patient is in two parts."""
    odd = sorted(set(split_M.tolist()) - set(SPLITS))
    if odd:
        problem = f"the column {SPLIT} must have {', '.join(SPLITS[:-1])} or {SPLITS[-1]}, got {odd[0]!r}"
        raise InputError(problem, where=path)
    parts = Counter(patient for patient, _ in set(zip(patients, split_M.tolist(), strict=True)))
    patient, count = parts.most_common(1)[0]
    if count > 1:
        remedy = f"Put each patient into one part, or remove the column {SPLIT}"
        problem = f"a patient must be in one part, but {patient} is in {count} parts"
        raise InputError(problem, where=path, remedy=remedy)


def read_split_tables(folder: Path, stem: str, key: str) -> LabelTable:
    """Read MERL's tables `STEM_train.csv`, `STEM_val.csv` and `STEM_test.csv`.

    Columns are identified by their names, because their order differs between files.

    Args:
        folder: folder of the tables.
        stem: beginning of their names.
        key: column with the records' names.

    Raises:
        CorpusError: a file is missing or damaged, or its classes differ from the classes of another file.
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
            problem = f"must have the same classes as {stem}_train.csv, but differs in {differ}"
            raise CorpusError(problem, where=path)
        ids += [row[key] for row in rows]
        labels += [[row[name] in ("1", "1.0") for name in classes] for row in rows]
        parts += [part] * len(rows)
    y_MK = np.array(labels, np.uint8).reshape(-1, len(classes))
    return LabelTable(classes, tuple(ids), y_MK, np.array(parts))


def described(stem: str) -> str:
    """Return a description of MERL's split tables `STEM_….csv`, for reports."""
    return f"the tables {stem}_*.csv, labels by name"


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
