"""Write MERL's split tables with the labels that MERL's code reads from them.

MERL's code takes the n-th label column of each file for the n-th class of the training file. But the order of
the columns differs between files. On the task ptbxl-sub, three classes of the test part get wrong labels, and
a perfect classifier has a macro AUC of 93.37 %. To reproduce MERL's scores, probe with the protocol `merl` on
the tables of `write_positional`.
"""

from pathlib import Path

import pandas as pd

from ecg_base import InputError, refuse_others, replacing
from marecg.evaluate.tasks.label_tables import META
from marecg.evaluate.tasks.task import SPLITS


def write_positional(splits: Path, out: Path) -> list[Path]:
    """Write the tables in a folder again, with the column names of the training file in each file.

    Raises `InputError` if the folder has no training file, or if a file can't be read.
    """
    trained = sorted(splits.rglob(f"*_{SPLITS[0]}.csv"))
    if not trained:
        problem = "must contain split tables, got none"
        raise InputError(problem, where=splits, remedy="Give the folder of MERL's tables")
    refuse_others(out, lambda _: False)
    with replacing(out) as temporary:
        for path in trained:
            classes: list[str] = []
            for part in SPLITS:
                name = path.name.replace(f"_{SPLITS[0]}.csv", f"_{part}.csv")
                table = _read(path.with_name(name))
                columns = [column for column in table if column not in META]
                classes = classes or columns
                target = temporary / path.relative_to(splits).with_name(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                table.rename(columns=dict(zip(columns, classes, strict=True))).to_csv(target, index=False)
    return sorted(out.rglob("*.csv"))


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(f"can't be read as a table ({error})", where=path) from error
