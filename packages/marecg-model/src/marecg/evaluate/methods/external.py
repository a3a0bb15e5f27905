"""Features computed elsewhere: an `.npz` with `ids` [R] and `features` [R, F], or what `marecg embed` wrote.

Shapes: R records of the file, M of the task's recordings, B of a block, F features.
"""

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marecg.base.errors import InputError
from marecg.corpus.audit import published_as
from marecg.evaluate.methods.method import FeatureTable
from marecg.evaluate.tasks.task import Recordings
from marecg.use.embedding_files import blocks, vectors


def read_features(path: Path, recordings: Recordings) -> FeatureTable:
    """Match a file's features to the recordings by id; a recording that the file lacks counts as unreadable.

    Of what `marecg embed` wrote the wide readout is taken, and h_rhythm where there is none. A damaged file,
    arrays that don't fit, values that aren't finite and unknown ids raise `InputError`.
    """
    if path.is_dir() or path.suffix == ".parquet" or _is_embedded(path):
        return _of_embeddings(path, recordings)
    remedy = "Write it with numpy.savez(path, ids=record names, features=[records, features])"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            ids, x_RF = arrays["ids"].astype(str).tolist(), np.asarray(arrays["features"], np.float32)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"can't be read ({error})", where=path, remedy=remedy) from error
    if x_RF.ndim != 2 or len(ids) != len(x_RF) or len(set(ids)) != len(ids):
        problem = f"has {len(set(ids))} different ids for features of shape {x_RF.shape}"
        raise InputError(problem, where=path, remedy=remedy)
    if not np.isfinite(x_RF).all():
        raise InputError("has NaN or infinite features", where=path, remedy=remedy)
    row = {record: number for number, record in enumerate(ids)}
    matched = [number for number, record in enumerate(recordings.ids) if record in row]
    if not matched:
        remedy = f"Name the records as the data set does, such as {', '.join(recordings.ids[:3])}"
        raise InputError(f"knows none of the {len(recordings.ids)} recordings", where=path, remedy=remedy)
    matched_MF = np.full((len(recordings.ids), x_RF.shape[1]), np.nan, np.float32)
    matched_MF[matched] = x_RF[[row[recordings.ids[number]] for number in matched]]
    absent = {record: f"not in {path.name}" for record in recordings.ids if record not in row}
    return FeatureTable(matched_MF, absent)


def _is_embedded(path: Path) -> bool:
    """Whether an `.npz` was written by `marecg embed`."""
    try:
        with zipfile.ZipFile(path) as file:
            return {"rhythm.npy", "record.npy"} <= {*file.namelist()}
    except (OSError, zipfile.BadZipFile):  # which is said where it is read
        return False


def _of_embeddings(folder: Path, recordings: Recordings) -> FeatureTable:
    """The same of embeddings, whose records go by source and name, or as the world calls them."""
    number = {record: row for row, record in enumerate(recordings.ids)}
    world = {identity: row for row, identity in enumerate(recordings.identities) if identity is not None}
    matched_MF: NDArray[np.float32] | None = None
    absent = set(range(len(recordings.ids)))
    for block in blocks(folder, ["record", "source", "rhythm"], ["wide"]):
        names = zip(block.column("record").to_pylist(), block.column("source").to_pylist(), strict=True)
        places = [
            number.get(
                f"{source}/{record}", number.get(record, world.get(published_as(record, source) or ""))
            )
            for record, source in names
        ]
        matched = [place for place, row in enumerate(places) if row is not None]
        rows = [row for row in places if row is not None]
        if len({*rows} & absent) < len(rows):
            problem = f"holds the recording {recordings.ids[rows[0]]} or another twice"
            raise InputError(problem, where=folder, remedy="Embed each recording once")
        absent -= {*rows}
        x_BF = vectors(block, "wide" if "wide" in block.schema.names else "rhythm")
        if not np.isfinite(x_BF).all():
            raise InputError("has NaN or infinite vectors", where=folder, remedy="Embed it again")
        if matched_MF is None:
            matched_MF = np.full((len(recordings.ids), x_BF.shape[1]), np.nan, np.float32)
        matched_MF[rows] = x_BF[matched]
    if matched_MF is None or len(absent) == len(recordings.ids):
        problem = f"knows none of the {len(recordings.ids)} recordings"
        few = ", ".join(recordings.ids[:3])
        raise InputError(problem, where=folder, remedy=f"Embed the records of the task, such as {few}")
    return FeatureTable(matched_MF, {recordings.ids[row]: f"not in {folder.name}" for row in sorted(absent)})
