"""Vectors of a classifier's records, kept in blocks beside it so that the next run reuses them.

Shapes: M records, B of a block, F features.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from marecg.base.progress import Progress, passing
from marecg.corpus import index
from marecg.evaluate.methods.feature_blocks import Block, read_block, write_block
from marecg.evaluate.methods.frozen_encoder import FULL_POOLING
from marecg.evaluate.tasks.task import Task
from marecg.model.pretrained import weights_sha256
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
    reused, folder = 0, out.with_name(f"{out.name}-embedding")
    for first in passing(range(0, len(every), FILE_RECORDS), "embedding", progress):
        rows = every[first : first + FILE_RECORDS]
        key = " ".join([about, *(columns[row] for row in rows)])
        block = read_block(folder, key, len(rows))
        if block is None:
            write_block(folder, key, Block(vectors(rows).astype(np.float32), ("",) * len(rows)))
        else:
            vectors.add(rows, block.x_BF)
            reused += len(rows)
    return reused
