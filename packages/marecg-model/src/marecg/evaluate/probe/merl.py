"""Protocol `merl`: the linear probe of MERL (Liu et al. 2024, arXiv:2403.06659), on frozen features.

It exists so that numbers can be put beside those that its users publish; `strict` is the better measurement.
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

from marecg.evaluate.probe.linear import Fitted, Part, check_labels
from marecg.evaluate.probe.protocol import walk
from marecg.evaluate.scores.metrics import Floats, macro_auc
from marecg.evaluate.scores.trial import Trial
from marecg.evaluate.tasks.task import Recordings

SEED = 42
EPOCHS = 100
BATCH = 16
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 1e-4
DECAY_EPOCH = 40
"""The learning rate is divided by ten after this many epochs."""
SAMPLES = 5000
CPSC_SAMPLES = 2500
"""Of a CPSC2018 record only these are kept; zeros fill it up to `SAMPLES`."""

DIFFERENCES = (
    "the encoder is frozen and in eval mode; there batch norm goes on learning, by default the whole encoder",
    "the epoch is chosen on val and test is scored once; there the best test epoch is printed",
    "the learning rate falls after 40 epochs; there the scheduler steps per batch: after 40 batches",
    "aVL and aVF stay where they are; there they are swapped",
    "features are computed once, in float32; there in mixed precision in every epoch",
    "the shares are drawn from the records on disk; with all records there it is the same draw",
)
"""What is done otherwise than in MERL's published code, and why its numbers can differ."""
BY_NAME = "labels are read by name; there by position, which mislabels three classes of the sub task"
"""A difference too, but not of `merl-positional`."""


class LinearHead(nn.Linear):
    """A linear layer that scores."""

    def logits(self, x_MF: NDArray[np.floating]) -> Floats:
        """Logits [M, K] of any records."""
        with torch.no_grad():
            return self(torch.from_numpy(x_MF).float()).double().numpy()  # type: ignore[no-any-return]


def merl(
    x_MF: NDArray[np.floating],
    y_MK: NDArray[np.uint8],
    split_M: NDArray[np.str_],
    fractions: tuple[float, ...],
    seeds: int,
) -> Iterator[Trial]:
    """Probe one method's features; `seeds` is not used, as every share is drawn once, with the seed 42.

    Raises:
        InputError: a part has no records.
    """
    return walk(x_MF, y_MK, split_M, fractions, (SEED,), draw, choose)


def draw(y_MK: NDArray[np.uint8], fraction: float, seed: int) -> NDArray[np.int64]:
    """Draw an unstratified share: the numbers of ⌊fraction · M⌋ records, at least one."""
    records = np.arange(len(y_MK))
    if fraction == 1:
        return records
    drawn, _ = train_test_split(records, train_size=max(1, int(fraction * len(records))), random_state=seed)
    return np.asarray(drawn)


def choose(train: Part, val: Part) -> Fitted:
    """Fit on train; keep the epoch with the best macro AUC on val.

    Raises:
        InputError: no class has both positives and negatives in val.
    """
    check_labels(val.y_MK, "validation")
    head, epoch, val_auc = fit(train, val)
    without_positives = np.flatnonzero(~train.y_MK.any(axis=0))
    return Fitted(epoch, val_auc, tuple(int(k) for k in without_positives), head)


def fit(train: Part, val: Part, epochs: int = EPOCHS) -> tuple[LinearHead, int, float]:
    """Adam on the binary cross-entropy: (head of the epoch with the best AUC on val, epoch, AUC)."""
    generator = torch.Generator().manual_seed(SEED)
    x_MF, y_MK = torch.from_numpy(train.x_MF).float(), torch.from_numpy(train.y_MK).float()
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        head = LinearHead(x_MF.shape[1], y_MK.shape[1])
    optimizer = torch.optim.Adam(head.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[DECAY_EPOCH], gamma=0.1)
    best = (0, -1.0)
    state = {name: tensor.clone() for name, tensor in head.state_dict().items()}
    for epoch in range(1, epochs + 1):
        for rows in torch.randperm(len(x_MF), generator=generator).split(BATCH):  # type: ignore[no-untyped-call]
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(head(x_MF[rows]), y_MK[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        schedule.step()
        auc = macro_auc(val.y_MK, head.logits(val.x_MF))
        if auc > best[1]:
            best = (epoch, auc)
            state = {name: tensor.clone() for name, tensor in head.state_dict().items()}
    head.load_state_dict(state)
    return head, *best


def merl_view(recordings: Recordings) -> Recordings:
    """The recordings as MERL's loader hands them out: cut, zero-padded, and scaled to 0–1 over all leads."""
    keep = CPSC_SAMPLES if recordings.name == "cpsc2018" else SAMPLES

    def read(row: int) -> NDArray[np.float32]:
        x_CL = recordings.read(row)[:, :keep]
        x_CL = np.pad(x_CL, ((0, 0), (0, SAMPLES - x_CL.shape[1])))
        scaled_CL = (x_CL - x_CL.min()) / (np.ptp(x_CL) + 1e-8)
        return np.asarray(scaled_CL, np.float32)

    return replace(
        recordings,
        name=f"{recordings.name}-merl",
        sha256=hashlib.sha256(f"{recordings.sha256} merl {keep} {SAMPLES}".encode()).hexdigest(),
        window=f"the first {keep} samples, zeros up to {SAMPLES}",
        read=read,
    )
