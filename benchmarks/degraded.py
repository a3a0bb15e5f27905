"""Evaluate probes on degraded records: 100 Hz, seven leads, five seconds, or noise.

    python -m benchmarks.degraded PTB-XL [--features FOLDER]

Linear probes are fitted on PTB-XL's folds 1–5 and chosen on fold 6. They are evaluated on folds 7–8, on the
original records and on degraded copies. Prints macro AUC in percent. PTB-XL is the folder of the dataset.
FOLDER keeps computed features for the next call.

Shapes: C leads, K leads of a degraded record, L samples, V values of a readout.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import resample
from marecg.embedding.embed import embed
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import encoder
from marecg.evaluate.probe.linear import Part, choose_logistic, choose_ridge
from marecg.evaluate.scores.metrics import macro_auc
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import TEST, TRAIN, VAL, Folds
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import part_weights, readout_width
from marecg_research.minirocket import minirocket

FS, SLOW = 500, 100
FEW = (*LEADS[:6], "V1")
"""Limb leads and V1."""
FOLDS = Folds.of("1-5,6,7-8")
Signal = NDArray[np.float32]


def noisy(x_CL: Signal) -> Signal:
    """Add white noise of 0.1 mV, and a baseline that wanders by ±0.3 mV every four seconds."""
    time = np.arange(x_CL.shape[1]) / FS
    rng = np.random.default_rng(0)
    noise_CL = rng.normal(0, 0.1, x_CL.shape)
    phase_C1 = rng.uniform(0, 2 * np.pi, (len(x_CL), 1))
    return (x_CL + noise_CL + 0.3 * np.sin(2 * np.pi * time / 4 + phase_C1)).astype(np.float32)


DEGRADED: dict[str, tuple[Callable[[Signal], Signal], Sequence[str], float]] = {
    "as it is": (lambda x_CL: x_CL, LEADS, FS),
    "100 Hz": (lambda x_CL: resample(x_CL, FS, SLOW), LEADS, SLOW),
    "seven leads": (lambda x_CL: x_CL[[LEADS.index(lead) for lead in FEW]], FEW, FS),
    "five seconds": (lambda x_CL: x_CL[:, : 5 * FS], LEADS, FS),
    "noisy": (noisy, LEADS, FS),
}
"""Function that degrades a record, and the leads and sampling rate that the record then has."""


def twelve_leads(x_KL: Signal, leads: Sequence[str], fs: float) -> Signal:
    """Return a record for MiniRocket: twelve leads at 500 Hz. Missing leads are zero."""
    x_CL = np.zeros((len(LEADS), round(x_KL.shape[1] * FS / fs)), np.float32)
    x_CL[[LEADS.index(lead) for lead in leads]] = resample(x_KL, fs, FS)
    return x_CL


def main(argv: Sequence[str]) -> None:
    """Print a line for each task, degradation and probe."""
    parser = ArgumentParser("python -m benchmarks.degraded", description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--model", default="marecg-small")
    parser.add_argument("--features", type=Path, help="folder for features, as in `marecg probe`")
    parser.add_argument("--task", nargs="+", default=["ptbxl-super", "ptbxl-form"])
    arguments = parser.parse_args(argv)
    model = MarEcg.from_pretrained(arguments.model)
    width, part_V = readout_width(model.config), part_weights(model.config, "beats")
    with TemporaryDirectory() as temporary:
        for name in arguments.task:
            task = task_named(name).open(arguments.root, folds=FOLDS)
            methods = (encoder(model, "beats"), minirocket(task))
            features_of = extract(task.viewed, methods, arguments.features or Path(temporary))
            rows = {part: np.flatnonzero(task.split_M == part) for part in (TRAIN, VAL, TEST)}
            readers = {
                "encoder, beats": (choose_logistic, part_V),
                "encoder, wide": (choose_logistic, None),
                "MiniRocket + ridge": (choose_ridge, None),
            }
            fitted = {}
            for reader, (choose, weight) in readers.items():
                x_MV = features_of[reader].x_RF[task.row_M]
                train, val = (Part(x_MV[rows[part]], task.y_MK[rows[part]], weight) for part in (TRAIN, VAL))
                fitted[reader] = choose(train, val)
            signals = [task.recordings.read(int(row)) for row in task.row_M[rows[TEST]]]
            for degradation, (change, leads, fs) in DEGRADED.items():
                changed = [change(x_CL) for x_CL in signals]
                beats_MV = embed(model, np.stack(changed), fs=fs, leads=leads, readout="beats").wide
                rocket_MF = methods[1].compute([twelve_leads(x_KL, leads, fs) for x_KL in changed])
                x_of = dict(zip(readers, (beats_MV, beats_MV[:, :width], rocket_MF), strict=True))
                for reader, x_MV in x_of.items():
                    auc = macro_auc(task.y_MK[rows[TEST]], fitted[reader].logits(x_MV))
                    print(f"{task.name:<12} {degradation:<13} {reader:<19} {100 * auc:5.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
