"""Vectors of a classifier's records, kept in blocks beside it so that the next run reuses them.

Shapes: M records, W values of a readout.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import replacing
from marecg.base.progress import Progress, passing
from marecg.corpus import index
from marecg.evaluate.methods.frozen_encoder import FULL_POOLING
from marecg.evaluate.tasks.task import Task
from marecg.model.pretrained import weights_sha256
from marecg.model.readout import readout_width
from marecg.use.classifying.tuning import Vectors

FILE_RECORDS = 64
"""Records that are embedded between two looks at how far it is, and kept together."""


def embed_blocks(
    vectors: Vectors, every: Sequence[int], task: Task, data: Path, out: Path, progress: Progress
) -> int:
    """Embed records of a task, except those that an earlier run kept beside `out`; return their number.

    They are kept in blocks, so that an interrupted run goes on, under a hash of encoder, readout and
    signals, and in the corpus' order, so that other labels of the same records have the same blocks.
    """
    every = sorted(every, key=lambda row: task.row_M[row])
    columns = index.of(data, ["signal_hash"])["signal_hash"].take(task.row_M).to_pylist()
    about = f"{weights_sha256(vectors.model)} {vectors.readout} {FULL_POOLING}"
    reused, width = 0, readout_width(vectors.model.config, vectors.readout)
    for first in passing(range(0, len(every), FILE_RECORDS), "embedding", progress):
        rows = every[first : first + FILE_RECORDS]
        key = " ".join([about, *(columns[row] for row in rows)])
        file = out.with_name(f"{out.name}-embedding") / f"{hashlib.sha256(key.encode()).hexdigest()}.npy"
        x_MW = _read_block(file)
        if x_MW is not None and x_MW.shape == (len(rows), width):
            vectors.add(rows, x_MW)
            reused += len(rows)
            continue
        with replacing(file) as temporary, temporary.open("wb") as stream:
            np.save(stream, vectors(rows).astype(np.float32))
        index.keep_private(file)
    return reused


def _read_block(file: Path) -> NDArray[np.float32] | None:
    """The vectors of a file; None where it is missing or damaged."""
    try:
        x_MW: NDArray[np.float32] = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return x_MW if x_MW.dtype == np.float32 and np.isfinite(x_MW).all() else None
