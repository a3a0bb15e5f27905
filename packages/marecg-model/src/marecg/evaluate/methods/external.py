"""Features of any other model, computed elsewhere: an `.npz` with `ids` [R] and `features` [R, F].

Shapes: R records of the file, M of the task's recordings, F features.
"""

import zipfile
from pathlib import Path

import numpy as np

from marecg.errors import InputError
from marecg.evaluate.methods.method import Features
from marecg.evaluate.tasks.task import Recordings


def read_features(path: Path, recordings: Recordings) -> Features:
    """Match a file's features to the recordings by id; a recording that the file lacks counts as unreadable.

    Raises:
        InputError: the file is damaged, its arrays don't fit, a value isn't finite, or no id is known.
    """
    remedy = "Write it with numpy.savez(path, ids=record names, features=[records, features])"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            ids, x_RF = kept["ids"].astype(str).tolist(), np.asarray(kept["features"], np.float32)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"can't be read ({error})", where=path, remedy=remedy) from error
    if x_RF.ndim != 2 or len(ids) != len(x_RF) or len(set(ids)) != len(ids):
        problem = f"has {len(set(ids))} different ids for features of shape {x_RF.shape}"
        raise InputError(problem, where=path, remedy=remedy)
    if not np.isfinite(x_RF).all():
        raise InputError("has NaN or infinite features", where=path, remedy=remedy)
    row = {record: number for number, record in enumerate(ids)}
    known = [number for number, record in enumerate(recordings.ids) if record in row]
    if not known:
        remedy = f"Name the records as the data set does, such as {', '.join(recordings.ids[:3])}"
        raise InputError(f"knows none of the {len(recordings.ids)} recordings", where=path, remedy=remedy)
    matched_MF = np.full((len(recordings.ids), x_RF.shape[1]), np.nan, np.float32)
    matched_MF[known] = x_RF[[row[recordings.ids[number]] for number in known]]
    absent = {record: f"not in {path.name}" for record in recordings.ids if record not in row}
    return Features(matched_MF, absent)
