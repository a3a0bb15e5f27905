"""Features of every recording, computed once per method and kept in the run folder.

Shapes: R recordings, B batch, F features, C leads, L samples.
"""

import logging
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import replacing
from marecg.errors import InputError, RecordError
from marecg.evaluate.methods.method import Features, Method, Progress, Signals, finite, unwatched
from marecg.evaluate.tasks.task import Recordings

logger = logging.getLogger(__name__)

BATCH = 32
"""Recordings in memory at a time."""


def extract(
    recordings: Recordings, methods: Iterable[Method], folder: Path, watch: Progress = unwatched
) -> dict[str, Features]:
    """What is read from the features of every method, by its name; each recording is read at most once.

    What `folder` holds under the same method and data is used, anything else is computed and put there.
    """
    found = {method: _load(_place(folder, recordings, method), recordings) for method in methods}
    wanted = [method for method, features in found.items() if features is None]
    if wanted:
        found |= _compute(recordings, wanted, watch)
        for method in wanted:
            features = found[method]
            assert features is not None
            method.verify()
            _save(_place(folder, recordings, method), recordings, features)
    judged: dict[str, Features] = {}
    for method, features in found.items():
        assert features is not None
        judged |= {name: features.only(columns) for name, columns in method.columns.items()}
    return judged


def _compute(recordings: Recordings, methods: list[Method], watch: Progress) -> dict[Method, Features | None]:
    blocks: dict[Method, list[NDArray[np.floating]]] = {method: [] for method in methods}
    unreadable: dict[str, str] = {}
    usable: list[int] = []
    for first in watch(range(0, len(recordings.ids), BATCH), f"{recordings.name}: features"):
        signals: Signals = []
        for row in range(first, min(first + BATCH, len(recordings.ids))):
            try:
                signals.append(finite(recordings.read(row)))
                usable.append(row)
            except RecordError as error:
                unreadable[recordings.ids[row]] = error.reason
        for method in methods:
            if signals:
                blocks[method].append(_checked(method, method.compute(signals), len(signals)))
    return {method: _scattered(blocks[method], usable, recordings, unreadable) for method in methods}


def _checked(method: Method, x_BF: NDArray[np.floating], batch: int) -> NDArray[np.floating]:
    assert x_BF.shape[:-1] == (batch,), f"{method.name} gave {x_BF.shape} for {batch} recordings"
    if not np.isfinite(x_BF).all():
        raise InputError(f"the {method.name} gives NaN or infinite features", remedy="Train it again")
    return x_BF


def _scattered(
    blocks: list[NDArray[np.floating]], usable: list[int], recordings: Recordings, unreadable: dict[str, str]
) -> Features:
    width = blocks[0].shape[1] if blocks else 0
    x_RF = np.full((len(recordings.ids), width), np.nan, np.float32)
    if blocks:
        x_RF[usable] = np.concatenate(blocks)
    return Features(x_RF, unreadable)


def _place(folder: Path, recordings: Recordings, method: Method) -> Path:
    name = re.sub(r"[^\w]+", "-", f"{recordings.name}-{method.name}")
    return folder / f"{name}-{recordings.sha256[:12]}-{method.sha256[:12]}.npz"


def _save(path: Path, recordings: Recordings, features: Features) -> None:
    with replacing(path) as temporary:
        np.savez(
            temporary,
            ids=np.array(recordings.ids),
            features=features.x_RF,
            unreadable=np.array(list(features.unreadable.items()), str).reshape(-1, 2),
        )


def _load(path: Path, recordings: Recordings) -> Features | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            ids, x_RF, unreadable = kept["ids"], kept["features"], kept["unreadable"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        logger.warning("%s is damaged (%s); computing its features again", path, error)
        return None
    if ids.tolist() != list(recordings.ids) or len(x_RF) != len(ids):
        logger.warning("%s belongs to other recordings; computing its features again", path)
        return None
    return Features(np.asarray(x_RF, np.float32), {str(record): str(reason) for record, reason in unreadable})
