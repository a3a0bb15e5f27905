"""Compute features of recordings once per method and store them in the run folder, or read them from a file.

A file is an `.npz` with `ids` [R] and `features` [R, F], or the output of `marecg embed`.

Shapes: R recordings of a file or of a task; M recordings of a task, if features are read from a file; B
batch, F features, C leads, L samples.
"""

import hashlib
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ecg_base import file_sha256
from ecg_records.readers.identity import published_as
from marecg.base.numbers import npz_arrays, refuse_impossible
from marecg.base.progress import Progress, shown
from marecg.corpus.workers import workers
from marecg.embedding.embedding_files import READOUTS, blocks, vectors
from marecg.errors import CorpusError, InputError, Reason, RecordError
from marecg.evaluate.methods.feature_blocks import Block, read_block, write_block
from marecg.evaluate.methods.method import FeatureTable, Method, Signals
from marecg.evaluate.tasks.task import Recordings

BLOCK_ROWS = 32
"""Number of recordings per block. The recordings of a block are in memory at once."""
WORTH_A_PROCESS = 256
"""Minimum number of recordings for another process.

Computing the features of so many recordings takes about three times as long as starting a process.
"""


def extract(
    recordings: Recordings,
    methods: Sequence[Method],
    folder: Path,
    progress: Progress = shown,
    files: Mapping[str, Path] | None = None,
) -> dict[str, FeatureTable]:
    """Return the features of all rows of the report, by the row's name.

    A method has one or several rows, and a file has one row. Computed features are stored in `folder` in
    blocks, and reused by the next call for the same method and data. So an interrupted call can be continued.
    A recording is read once, or twice if only some methods can run in other processes.

    Args:
        recordings: recordings of the task.
        methods: methods that compute features.
        folder: folder for stored features.
        progress: function that opens a progress display: `shown` or `silent` of `marecg.base.progress`.
        files: files of features, by the name of the row. They are read first, so that a wrong file is
            reported before the long computation.
    """
    read = {name: read_features(path, recordings) for name, path in (files or {}).items()}
    tables = {method: _Table(recordings, method, folder) for method in methods}
    threads = torch.get_num_threads()
    movable = [method for method in methods if method.apart]
    count = min(threads, len(_lacking(tables, movable)) * BLOCK_ROWS // WORTH_A_PROCESS)
    if count > 1:
        with workers(0, count, None, threads // count, where=recordings.name):
            _compute(recordings, tables, movable, None, progress)
    _compute(recordings, tables, methods, 1, progress)
    rows = {
        name: method.read(name, tables[method].features()) for method in methods for name in method.judged
    }
    return rows | read


class _Table:
    """Features that a method has computed so far, stored as blocks in a folder of this method."""

    def __init__(self, recordings: Recordings, method: Method, folder: Path) -> None:
        name = re.sub(r"[^\w]+", "-", f"{recordings.name}-{method.name}")
        self.folder = folder / f"{name}-{recordings.sha256[:12]}-{method.sha256[:12]}"
        self.recordings, self.method = recordings, method
        all_rows = range(len(recordings.ids))
        self.x_RF, self.reasons = np.full((len(all_rows), 1), np.nan, np.float32), [""] * len(all_rows)
        blocks = [all_rows[first : first + BLOCK_ROWS] for first in all_rows[::BLOCK_ROWS]]
        self.missing: set[range] = set()
        for rows in blocks:
            if block := read_block(self.folder, self._key(rows), len(rows)):
                self._take(rows, block)
            else:
                self.missing.add(rows)

    def add(self, rows: range, block: Block) -> None:
        """Add and store a computed block. Raises the errors of `Method.verify`."""
        self.method.verify()
        write_block(self.folder, self._key(rows), block)
        self._take(rows, block)
        self.missing.remove(rows)

    def features(self) -> FeatureTable:
        """Return the features of all recordings."""
        reasons = zip(self.recordings.ids, self.reasons, strict=True)
        return FeatureTable(self.x_RF, {record: reason for record, reason in reasons if reason})

    def _key(self, rows: range) -> str:
        ids = self.recordings.ids[rows.start : rows.stop]
        return " ".join([self.recordings.sha256, self.method.sha256, *ids])

    def _take(self, rows: range, block: Block) -> None:
        rows_of, width = slice(rows.start, rows.stop), block.x_BF.shape[1]
        if width > self.x_RF.shape[1]:  # the width is unknown until the first usable recording
            self.x_RF = np.full((len(self.x_RF), width), np.nan, np.float32)
        self.x_RF[rows_of], self.reasons[rows_of] = block.x_BF, block.reasons


def _lacking(tables: Mapping[Method, _Table], methods: Sequence[Method]) -> dict[range, list[Method]]:
    """Return the rows of each block that is still to be computed, with the methods that need it."""
    blocks = sorted(set().union(*(tables[method].missing for method in methods)), key=lambda rows: rows.start)
    return {rows: [method for method in methods if rows in tables[method].missing] for rows in blocks}


def _compute(
    recordings: Recordings,
    tables: Mapping[Method, _Table],
    methods: Sequence[Method],
    jobs: int | None,
    progress: Progress,
) -> None:
    """Compute and store missing blocks, in the processes of `workers` or, with `jobs` 1, in this process."""
    lacking = _lacking(tables, methods)
    if not lacking:
        return
    done = before = len(recordings.ids) - sum(map(len, lacking))
    with progress(f"{recordings.name}, features: records") as tell:
        tell(before, len(recordings.ids))
        calls = (delayed(_blocks)(recordings, pending, rows) for rows, pending in lacking.items())
        computed = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)(calls)
        for (rows, pending), blocks in zip(lacking.items(), computed, strict=True):
            for method, block in zip(pending, blocks, strict=True):
                tables[method].add(rows, block)
            done += len(rows)
            tell(done, len(recordings.ids), f"{before:,} of them before" * (before > 0))


def _blocks(recordings: Recordings, methods: Sequence[Method], rows: range) -> list[Block]:
    """Return a block of features for each method."""
    signals: Signals = []
    reasons = []
    for row in rows:
        try:
            signals.append(finite(recordings.read(row)))
            reasons.append("")
        except RecordError as error:
            if error.reason == Reason.unavailable:
                raise CorpusError(error.problem, where=error.where, remedy=error.remedy) from error
            reasons.append(str(error.reason))
    usable = [position for position, reason in enumerate(reasons) if not reason]
    blocks = []
    for method in methods:
        computed_BF = method.compute(signals) if signals else np.empty((0, 1))
        shape = computed_BF.shape
        assert len(computed_BF) == len(signals), f"{method.name}: {shape} for {len(signals)} recordings"
        if not np.isfinite(computed_BF).all():
            raise InputError(f"features must be finite, got NaN or infinite values from {method.name}")
        x_BF = np.full((len(rows), shape[1]), np.nan, np.float32)
        x_BF[usable] = computed_BF
        blocks.append(Block(x_BF, tuple(reasons)))
    return blocks


def finite(x_CL: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the signal unchanged. Raises `RecordError` with the reason `nan` if a sample isn't finite."""
    if not np.isfinite(x_CL).all():
        raise RecordError("nan", "has samples without a value")
    return x_CL


def features_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, or of a folder's files, or "" if it can't be read."""
    try:
        if path.is_dir():
            parts = "".join(features_sha256(part) for part in sorted(path.iterdir()))
            return hashlib.sha256(parts.encode()).hexdigest()
        return file_sha256(path)
    except OSError:
        return ""


def read_features(path: Path, recordings: Recordings) -> FeatureTable:
    """Read features from a file, and match them with recordings by name.

    A recording that isn't in the file counts as unreadable. From an output of `marecg embed`, the vectors of
    its option `--readout` are read. If the option wasn't used, the record embeddings (`rhythm`) are read.

    Raises:
        InputError: the file is damaged, its arrays have different lengths, values aren't finite, or all ids
            are unknown.
    """
    if path.is_dir() or path.suffix == ".parquet" or _is_embedded(path):
        return _of_embeddings(path, recordings)
    remedy = "Write it with numpy.savez(path, ids=record names, features=[records, features])"
    try:
        with npz_arrays(path, remedy) as arrays:
            ids, x_RF = arrays["ids"].astype(str).tolist(), np.asarray(arrays["features"], np.float32)
    except FileNotFoundError as error:
        raise InputError("is missing", where=path, remedy=remedy) from error
    if x_RF.ndim != 2 or len(ids) != len(x_RF) or len(set(ids)) != len(ids):
        problem = f"has {len(set(ids))} different ids for features of shape {x_RF.shape}"
        raise InputError(problem, where=path, remedy=remedy)
    refuse_impossible(x_RF, "features", path, remedy)
    named = list(zip(ids, recordings.rows_named(ids), strict=True))
    if several := [name for name, row in named if row == -1]:
        remedy = "Write its source before it, as SOURCE/NAME"
        raise InputError(f"{several[0]!r} is the name of several recordings", where=path, remedy=remedy)
    rows = [row for _, row in named if row is not None]
    if not rows:
        remedy = f"Use the names of the dataset, for example {', '.join(recordings.ids[:3])}"
        raise InputError(
            f"has none of the task's {len(recordings.ids)} recordings", where=path, remedy=remedy
        )
    most_named, count = Counter(rows).most_common(1)[0]
    if count > 1:
        twice = recordings.ids[most_named]
        problem = f"must have one row per recording, got several rows for {twice}"
        raise InputError(problem, where=path, remedy=remedy)
    matched_MF = np.full((len(recordings.ids), x_RF.shape[1]), np.nan, np.float32)
    matched_MF[rows] = x_RF[[row is not None for _, row in named]]
    absent = sorted({*range(len(recordings.ids))} - {*rows})
    absent_reasons = {recordings.ids[row]: f"not in {path.name}" for row in absent}
    return FeatureTable(matched_MF, absent_reasons, sha256=features_sha256(path))


def _is_embedded(path: Path) -> bool:
    """Return whether an `.npz` was written by `marecg embed`."""
    try:
        with zipfile.ZipFile(path) as file:
            return {"rhythm.npy", "record.npy"} <= {*file.namelist()}
    except (OSError, zipfile.BadZipFile):  # reading the file raises the error
        return False


def _of_embeddings(folder: Path, recordings: Recordings) -> FeatureTable:
    """Match the output of `marecg embed` with recordings, by source and name or by published name."""
    by_name = {record: row for row, record in enumerate(recordings.ids)}
    by_identity = {
        identity: row for row, identity in enumerate(recordings.identities) if identity is not None
    }
    matched_MF: NDArray[np.float32] | None = None
    absent = set(range(len(recordings.ids)))
    for block in blocks(folder, ["record", "source", "rhythm"], READOUTS):
        names = zip(block.column("record").to_pylist(), block.column("source").to_pylist(), strict=True)
        found = [
            by_name.get(
                f"{source}/{record}",
                by_name.get(record, by_identity.get(published_as(record, source) or "")),
            )
            for record, source in names
        ]
        matched = [position for position, row in enumerate(found) if row is not None]
        rows = [row for row in found if row is not None]
        if len({*rows} & absent) < len(rows):
            named = recordings.ids[rows[0]]
            problem = f"must have each recording once, got {named} or another recording twice"
            raise InputError(problem, where=folder, remedy="Embed each recording only once")
        absent -= {*rows}
        x_BF = vectors(block, next((name for name in READOUTS if name in block.schema.names), "rhythm"))
        if matched_MF is None:
            matched_MF = np.full((len(recordings.ids), x_BF.shape[1]), np.nan, np.float32)
        matched_MF[rows] = x_BF[matched]
    if matched_MF is None or len(absent) == len(recordings.ids):
        problem = f"has none of the task's {len(recordings.ids)} recordings"
        examples = ", ".join(recordings.ids[:3])
        remedy = f"Embed the records of the task, for example {examples}"
        raise InputError(problem, where=folder, remedy=remedy)
    unreadable = {recordings.ids[row]: f"not in {folder.name}" for row in sorted(absent)}
    return FeatureTable(matched_MF, unreadable, sha256=features_sha256(folder))
