"""Store the beat readouts of a prepared corpus by frozen encoders.

    python -m research.graph.prior.features CORPUS OUT ENCODER…

ENCODER is the name of a model, `random-SEED` for an untrained encoder, or `minirocket`. The command writes
OUT/ENCODER.npy. The beat readout is explained in `marecg.model.readout`.

Shapes: M records, V beat readout, B batch.
"""

import logging
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import marecg
from marecg.corpus.prepared import Corpus
from marecg.evaluate.methods.frozen_encoder import random_encoder
from marecg.evaluate.methods.resnet1d import slow_signals
from marecg.model.mar_ecg import MarEcg

logger = logging.getLogger(__name__)
BATCH = 32
KERNELS, FITTED_ON = 10_000, 256


def read_encoder(model: MarEcg, corpus: Corpus) -> NDArray[np.float32]:
    """Return the beat readout of every record, float32 [M, V]."""
    parts: dict[int, NDArray[np.float32]] = {}
    for length in np.unique(corpus.n_valid):
        rows = np.flatnonzero(corpus.n_valid == length)
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            signals = corpus.signals(batch)[:, :, :length]
            wide_BV = marecg.embed(model, signals, fs=corpus.config.fs, readout="beats").wide
            parts |= dict(zip(batch.tolist(), wide_BV, strict=True))
    return np.stack([parts[row] for row in range(len(corpus))])


def read_minirocket(corpus: Corpus) -> NDArray[np.float32]:
    """Return MiniRocket's features of each record. Its biases come from 256 records, without labels."""
    convolutions = import_module("aeon.transformations.collection.convolution_based")  # it is slow to import

    def slow(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        lengths = corpus.n_valid[rows]
        return slow_signals([x_CL[:, :n] for x_CL, n in zip(corpus.signals(rows), lengths, strict=True)])

    rows = np.random.default_rng(0).permutation(len(corpus))[:FITTED_ON]
    transform = convolutions.MiniRocket(n_kernels=KERNELS, random_state=0).fit(slow(np.sort(rows)))
    parts = [transform.transform(slow(rows)) for rows in np.array_split(np.arange(len(corpus)), 60)]
    return np.concatenate(parts).astype(np.float32)


def main(corpus_folder: str, out: str, *encoders: str) -> None:
    """Write one `.npy` per encoder."""
    torch.set_num_threads(1)
    corpus = Corpus.open(corpus_folder)
    config = MarEcg.from_pretrained("marecg-small").config
    for name in encoders:
        path = Path(out) / f"{name}.npy"
        if path.exists():
            continue
        if name == "minirocket":
            x_MV = read_minirocket(corpus)
        elif name.startswith("random-"):
            x_MV = read_encoder(random_encoder(config, int(name.removeprefix("random-"))), corpus)
        else:
            x_MV = read_encoder(MarEcg.from_pretrained(name), corpus)
        np.save(path, x_MV)
        logger.info("%s: %s", name, x_MV.shape)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
