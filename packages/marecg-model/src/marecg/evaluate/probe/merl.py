"""Protocol `merl`: the linear probe of MERL (Liu et al. 2024, arXiv:2403.06659), on frozen features.

Use it only to compare with numbers published by MERL's protocol. For all other purposes, use the default
protocol `strict`.

Shapes: M records, K classes, F features, C leads, L samples.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from torch import nn

from marecg.evaluate.probe.best_round import fit_best
from marecg.evaluate.probe.linear import Fitted, Part, check_labels
from marecg.evaluate.probe.protocol import OVER, Protocol
from marecg.evaluate.scores.metrics import Floats, macro_auc
from marecg.evaluate.tasks.task import Recordings

SEED = 42
EPOCHS = 100
STEP_RECORDS = 16
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 1e-4
DECAY_EPOCH = 40
"""Number of epochs after which the learning rate is divided by ten."""
SAMPLES = 5000
SAMPLES_KEPT = {"cpsc2018": 2500}
"""Number of samples that are kept of each recording, by dataset. Of other datasets, `SAMPLES` are kept."""

NOTES = (
    "labels are read by name; MERL's code reads them by position, which mislabels three classes of sub",
    "the encoder is frozen and in eval mode; in MERL's code batch norm, or all of the encoder, is trained",
    "the epoch is chosen on val and test is scored once; MERL's code prints the best test epoch",
    "the learning rate falls after 40 epochs; in MERL's code the scheduler steps per batch: after 40 batches",
    "aVL and aVF stay where they are; MERL's code swaps them",
    "features are computed once, in float32; MERL's code computes them in mixed precision in every epoch",
    "a recording of less than 5000 samples ends where it ends; MERL's code adds zeros that count as signal",
    "a lead without a signal stays zero, which hides it from an encoder; MERL's code scales it too",
    "the shares are drawn from the records on disk; the draw is the same if all records are on disk",
)
"""Differences from MERL's published code that can lead to different numbers."""


class LinearHead(nn.Linear):
    """Linear classifier, MERL's head."""

    def logits(self, x_MF: NDArray[np.floating]) -> Floats:
        """Return logits [M, K] of records."""
        with torch.no_grad():
            return self(torch.from_numpy(x_MF).float()).double().numpy()  # type: ignore[no-any-return]


def draw(y_MK: NDArray[np.uint8], fraction: float, seed: int) -> NDArray[np.int64]:
    """Draw ⌊fraction · M⌋ records, but at least one, regardless of labels. Return their numbers."""
    records = np.arange(len(y_MK))
    if fraction == 1:
        return records
    drawn, _ = train_test_split(records, train_size=max(1, int(fraction * len(records))), random_state=seed)
    return np.asarray(drawn)


def choose(train: Part, val: Part) -> Fitted:
    """Fit the linear classifier on train, and keep the epoch with the best macro AUC on val.

    Raises `InputError` if no class has both positives and negatives in val.
    """
    check_labels(val.y_MK, "validation")
    head, epoch, val_auc = fit(train, val)
    without_positives = np.flatnonzero(~train.y_MK.any(axis=0))
    return Fitted(epoch, val_auc, tuple(int(k) for k in without_positives), head.logits)


def fit(train: Part, val: Part, epochs: int = EPOCHS) -> tuple[LinearHead, int, float]:
    """Train with Adam on binary cross-entropy. Return the best head on val, its epoch and its AUC."""
    generator = torch.Generator().manual_seed(SEED)
    x_MF, y_MK = torch.from_numpy(train.x_MF).float(), torch.from_numpy(train.y_MK).float()
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        head = LinearHead(x_MF.shape[1], y_MK.shape[1])
    optimizer = torch.optim.Adam(head.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[DECAY_EPOCH], gamma=0.1)

    def rounds() -> Iterator[int]:
        for epoch in range(1, epochs + 1):
            for rows in torch.randperm(len(x_MF), generator=generator).split(STEP_RECORDS):  # type: ignore[no-untyped-call]
                optimizer.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(head(x_MF[rows]), y_MK[rows]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            schedule.step()
            yield epoch

    return head, *fit_best(head, rounds(), lambda: macro_auc(val.y_MK, head.logits(val.x_MF)), least=-1.0)


def merl_view(recordings: Recordings) -> Recordings:
    """Return recordings as MERL's loader reads them: cut, and scaled to 0–1 over all leads.

    MERL's loader pads recordings with zeros up to `SAMPLES`, and then scales them. This function scales in
    the same way, but doesn't pad, because each method does its own padding.
    """
    keep = SAMPLES_KEPT.get(recordings.name, SAMPLES)

    def read(row: int) -> NDArray[np.float32]:
        x_CL = recordings.read(row)[:, :keep]
        least, most = float(x_CL.min()), float(x_CL.max())
        if x_CL.shape[1] < SAMPLES:
            least, most = min(least, 0.0), max(most, 0.0)
        scaled_CL = np.asarray((x_CL - least) / (most - least + 1e-8), np.float32)
        scaled_CL[~x_CL.any(axis=1)] = 0  # a lead of zeros counts as absent
        return scaled_CL

    return replace(
        recordings,
        name=f"{recordings.name}-merl",
        sha256=hashlib.sha256(f"{recordings.sha256} merl silent {keep}".encode()).hexdigest(),
        window=f"up to the first {keep} samples",
        read=read,
    )


MERL = Protocol(
    name="merl",
    normalisation="signals scaled to 0–1 over all leads; features as they are",
    policy=f"{OVER}. A class without examples in the drawn training records counts with the probe's AUC",
    draw=draw,
    choose=choose,
    notes=NOTES,
    view=merl_view,
    seed=SEED,
)
"""Protocol of MERL. Every share is drawn once, with seed 42."""
