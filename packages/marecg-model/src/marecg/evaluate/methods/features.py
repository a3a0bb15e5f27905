"""Features of recordings: computed once per method and cached in the run folder, or read from a file.

Elsewhere is an `.npz` with `ids` [R] and `features` [R, F], or what `marecg embed` wrote.
Shapes: R recordings (of a file or a task), M of a task, B batch, F features, C leads, L samples.
"""

import hashlib
import logging
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ecg_ontology import replacing
from marecg.base.documents import file_sha256
from marecg.base.errors import CorpusError, InputError, Reason, RecordError
from marecg.base.numbers import refuse_impossible
from marecg.base.progress import Progress, passing, shown
from marecg.corpus.workers import workers
from marecg.evaluate.methods.method import FeatureTable, Method, Signals
from marecg.evaluate.tasks.task import Recordings
from marecg.read.identity import published_as
from marecg.use.embedding.embedding_files import READOUTS, blocks, vectors

logger = logging.getLogger(__name__)

CHUNK_ROWS = 32
"""Recordings in memory at a time."""
SPAN = 64
"""Recordings of a task for another process."""
WORTH_A_PROCESS = 256
"""Recordings: `small` and the hand-crafted features take three times as long for them as a process does
to begin."""


class Computed(NamedTuple):
    """Features of a batch: usable rows, reasons of unusable recordings by id, and [B, F] per method."""

    usable: list[int]
    unreadable: dict[str, str]
    made: list[NDArray[np.floating]]


def extract(
    recordings: Recordings,
    methods: Sequence[Method],
    folder: Path,
    progress: Progress = shown,
    files: Mapping[str, Path] | None = None,
) -> dict[str, FeatureTable]:
    """Return the features of all methods and `files` by name, from the cache or computed.

    What `folder` holds under the same method and data is used, anything else is computed and put there. A
    recording is read once, or twice where only some of the methods may be computed by other processes.
    """
    places = {method: _place(folder, recordings, method) for method in methods}
    cached = {method: _load(place, recordings) for method, place in places.items()}
    features_of = {method: features for method, features in cached.items() if features is not None}
    made = _compute(recordings, [method for method in methods if method not in features_of], progress)
    for method, features in made.items():
        method.verify()
        _save(places[method], recordings, features)
    features_of |= made
    rows = {name: method.read(name, features_of[method]) for method in methods for name in method.judged}
    return rows | {name: read_features(path, recordings) for name, path in (files or {}).items()}


def _compute(recordings: Recordings, methods: list[Method], progress: Progress) -> dict[Method, FeatureTable]:
    """Compute features in other processes as far as that is allowed and worth it, the others in this one."""
    threads = torch.get_num_threads()
    count = min(threads, len(recordings.ids) // WORTH_A_PROCESS)
    apart = [method for method in methods if method.apart and count > 1]
    local = [method for method in methods if method not in apart]
    features_of: dict[Method, FeatureTable] = {}
    for some, processes, span in ((apart, count, SPAN), (local, 1, CHUNK_ROWS)):
        if not some:
            continue
        spans = [range(len(recordings.ids))[at : at + span] for at in range(0, len(recordings.ids), span)]
        shown_spans = passing(spans, f"{recordings.name}: features", progress)
        if processes == 1:
            batches = [batch for span in shown_spans for batch in _computed(recordings, some, span)]
        else:
            with workers(0, processes, None, threads // processes, where=recordings.name):
                parallel = Parallel(return_as="generator", batch_size=1)
                made = parallel(delayed(_computed)(recordings, some, span) for span in spans)
                batches = [batch for _, span in zip(shown_spans, made, strict=True) for batch in span]
        features_of |= _gathered(recordings, some, batches)
    return features_of


def _computed(recordings: Recordings, methods: list[Method], rows: range) -> list[Computed]:
    """Return the features of recordings, batch by batch."""
    return [_batch(recordings, methods, rows[at : at + CHUNK_ROWS]) for at in range(0, len(rows), CHUNK_ROWS)]


def _batch(recordings: Recordings, methods: list[Method], rows: range) -> Computed:
    signals: Signals = []
    usable, unreadable = [], {}
    for row in rows:
        try:
            signals.append(finite(recordings.read(row)))
            usable.append(row)
        except RecordError as error:
            if error.reason == Reason.unavailable:
                raise CorpusError(error.problem, where=error.where, remedy=error.remedy) from error
            unreadable[recordings.ids[row]] = error.reason
    made = []
    for method in methods if signals else ():
        x_BF = method.compute(signals)
        assert x_BF.shape[:-1] == (len(signals),), (
            f"{method.name}: {x_BF.shape} for {len(signals)} recordings"
        )
        if not np.isfinite(x_BF).all():
            raise InputError(f"the {method.name} gives NaN or infinite features", remedy="Train it again")
        made.append(x_BF)
    return Computed(usable, unreadable, made)


def finite(x_CL: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the signal if all samples are finite. Raises `RecordError` (`nan`) otherwise."""
    if not np.isfinite(x_CL).all():
        raise RecordError("nan", "has samples without a value")
    return x_CL


def _gathered(
    recordings: Recordings, methods: list[Method], batches: list[Computed]
) -> dict[Method, FeatureTable]:
    usable = [row for batch in batches for row in batch.usable]
    unreadable = {record: why for batch in batches for record, why in batch.unreadable.items()}
    read = [batch.made for batch in batches if batch.usable]
    features_of = {}
    for number, method in enumerate(methods):
        width = read[0][number].shape[1] if read else 0
        x_RF = np.full((len(recordings.ids), width), np.nan, np.float32)
        if read:
            x_RF[usable] = np.concatenate([x_BFs[number] for x_BFs in read])
        features_of[method] = FeatureTable(x_RF, unreadable)
    return features_of


def _place(folder: Path, recordings: Recordings, method: Method) -> Path:
    name = re.sub(r"[^\w]+", "-", f"{recordings.name}-{method.name}")
    return folder / f"{name}-{recordings.sha256[:12]}-{method.sha256[:12]}.npz"


def _save(path: Path, recordings: Recordings, features: FeatureTable) -> None:
    with replacing(path) as temporary:
        np.savez(
            temporary,
            ids=np.array(recordings.ids),
            features=features.x_RF,
            unreadable=np.array(list(features.unreadable.items()), str).reshape(-1, 2),
        )


def _load(path: Path, recordings: Recordings) -> FeatureTable | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            ids, x_RF, unreadable = arrays["ids"], arrays["features"], arrays["unreadable"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        logger.warning("%s is damaged (%s); computing its features again", path, error)
        return None
    if ids.tolist() != list(recordings.ids) or len(x_RF) != len(ids):
        logger.warning("%s belongs to other recordings; computing its features again", path)
        return None
    reasons = {str(record): str(reason) for record, reason in unreadable}
    return FeatureTable(np.asarray(x_RF, np.float32), reasons)


def features_sha256(path: Path) -> str:
    """Return the hash of a file or folder of features; "" if it can't be read."""
    try:
        if path.is_dir():
            parts = "".join(features_sha256(part) for part in sorted(path.iterdir()))
            return hashlib.sha256(parts.encode()).hexdigest()
        return file_sha256(path)
    except OSError:
        return ""


def read_features(path: Path, recordings: Recordings) -> FeatureTable:
    """Read a file's features and match them to recordings by id; missing ones count as unreadable.

    Of what `marecg embed` wrote the readout is taken, and h_rhythm where there is none. A damaged file,
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
    refuse_impossible(x_RF, "features", path, remedy)
    row = {record: number for number, record in enumerate(ids)}
    matched = [number for number, record in enumerate(recordings.ids) if record in row]
    if not matched:
        remedy = f"Name the records as the data set does, such as {', '.join(recordings.ids[:3])}"
        raise InputError(f"knows none of the {len(recordings.ids)} recordings", where=path, remedy=remedy)
    matched_MF = np.full((len(recordings.ids), x_RF.shape[1]), np.nan, np.float32)
    matched_MF[matched] = x_RF[[row[recordings.ids[number]] for number in matched]]
    absent = {record: f"not in {path.name}" for record in recordings.ids if record not in row}
    return FeatureTable(matched_MF, absent, sha256=features_sha256(path))


def _is_embedded(path: Path) -> bool:
    """Whether an `.npz` was written by `marecg embed`."""
    try:
        with zipfile.ZipFile(path) as file:
            return {"rhythm.npy", "record.npy"} <= {*file.namelist()}
    except (OSError, zipfile.BadZipFile):  # which is said where it is read
        return False


def _of_embeddings(folder: Path, recordings: Recordings) -> FeatureTable:
    """Match embeddings to recordings, by source and name or by published name."""
    number = {record: row for row, record in enumerate(recordings.ids)}
    world = {identity: row for row, identity in enumerate(recordings.identities) if identity is not None}
    matched_MF: NDArray[np.float32] | None = None
    absent = set(range(len(recordings.ids)))
    for block in blocks(folder, ["record", "source", "rhythm"], READOUTS):
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
        x_BF = vectors(block, next((name for name in READOUTS if name in block.schema.names), "rhythm"))
        if matched_MF is None:
            matched_MF = np.full((len(recordings.ids), x_BF.shape[1]), np.nan, np.float32)
        matched_MF[rows] = x_BF[matched]
    if matched_MF is None or len(absent) == len(recordings.ids):
        problem = f"knows none of the {len(recordings.ids)} recordings"
        few = ", ".join(recordings.ids[:3])
        raise InputError(problem, where=folder, remedy=f"Embed the records of the task, such as {few}")
    unreadable = {recordings.ids[row]: f"not in {folder.name}" for row in sorted(absent)}
    return FeatureTable(matched_MF, unreadable, sha256=features_sha256(folder))
