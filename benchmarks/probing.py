"""Measure the linear probe relative to 100 epochs of Adam, on simulated features of the five tasks' sizes.

Shapes: M records, B records of a batch, K classes, F features, G hidden causes.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from benchmarks.ratio import Effort, Reach, Row, seconds
from marecg.evaluate.probe.linear import EXACT, LONGEST, Part, choose_logistic

EPOCHS, BATCH = 100, 16
FRACTIONS = (0.01, 0.1, 1.0)
FEATURES = 768
STRENGTH = 1e-2
"""C for fits at a single strength."""
SAME = 1.01
"""Maximum ratio of Adam's objective to the least objective, on all records of a task.

On a hundredth of the records, 100 epochs are too few: Adam's objective is up to twice the least objective.
"""
SMALLER, REPEATS = 4, 2
"""Divisor of the number of records, and number of turns. Adam would take minutes for all records."""


class Turn(NamedTuple):
    """Seconds over all tasks and fractions: Adam, our probe at one strength, and our probe's choice."""

    adam: float
    single: float
    choice: float


class Size(NamedTuple):
    """Number of training records and classes of a task."""

    records: int
    classes: int


TASKS = {
    "ptbxl-super": Size(17_084, 5),
    "ptbxl-sub": Size(17_084, 23),
    "ptbxl-form": Size(7_197, 19),
    "ptbxl-rhythm": Size(16_832, 12),
    "cpsc2018": Size(4_950, 9),
}
"""Sizes of the five tasks in MERL's split."""


def one_strength(effort: Effort) -> list[float]:
    """Return the time of Adam divided by our time, for fits at one strength."""
    return [turn.adam / turn.single for turn in _turns(effort)]


def whole_choice(effort: Effort) -> list[float]:
    """Return the time of Adam at one strength, divided by our time for choosing the strength on val."""
    return [turn.adam / turn.choice for turn in _turns(effort)]


@cache
def _turns(effort: Effort) -> list[Turn]:
    parts = list(_parts(effort))
    records, classes = TASKS["cpsc2018"]
    part = correlated(records // SMALLER, classes, seed=0)
    assert 1 <= adam_loop(part, STRENGTH) / least(part, STRENGTH) < SAME
    return [
        Turn(
            seconds(lambda: [adam_loop(train, STRENGTH) for train, _ in parts]),
            seconds(lambda: [choose_logistic(train, val, (STRENGTH,)) for train, val in parts]),
            seconds(lambda: [choose_logistic(train, val) for train, val in parts]),
        )
        for _ in range(min(effort.repeats, REPEATS))
    ]


def _parts(effort: Effort) -> Iterator[tuple[Part, Part]]:
    """Yield train and val for each task and fraction."""
    for size in TASKS.values():
        records = effort.of(size.records) // SMALLER
        val = correlated(records // 8, size.classes, seed=1)
        for fraction in FRACTIONS:
            yield correlated(int(records * fraction), size.classes, seed=0), val


def correlated(records: int, classes: int, seed: int) -> Part:
    """Simulate correlated features, similar to an encoder's features, and labels that depend on them."""
    generator = np.random.default_rng(seed)
    mixing_GF = np.random.default_rng(99).normal(size=(64, FEATURES))
    hidden_MG = generator.normal(size=(records, 64))
    x_MF = np.tanh(hidden_MG @ mixing_GF / 8) + generator.normal(0, 0.1, (records, FEATURES))
    y_MK = hidden_MG[:, :classes] + generator.normal(0, 1.5, (records, classes)) > 1.5
    return Part(x_MF, y_MK.astype(np.uint8))


def adam_loop(train: Part, strength: float) -> float:
    """Train with Adam on standardised features at an L2 strength, and return the final objective."""
    torch.manual_seed(0)
    x_MF = torch.from_numpy((train.x_MF - train.x_MF.mean(0)) / train.x_MF.std(0)).float()
    y_MK = torch.from_numpy(train.y_MK).float()
    head = nn.Linear(x_MF.shape[1], y_MK.shape[1])
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x_MF)).split(BATCH):  # type: ignore[no-untyped-call]
            optimizer.zero_grad()
            penalty = head.weight.square().sum() / (2 * strength * len(x_MF))
            fit_BK = binary_cross_entropy_with_logits(head(x_MF[rows]), y_MK[rows], reduction="none")
            (fit_BK.sum(1).mean() + penalty).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    with torch.no_grad():
        logits_MK, weight_KF = head(x_MF).double().numpy(), head.weight.double().numpy()
    return objective(train.y_MK, logits_MK, weight_KF, strength)


def least(train: Part, strength: float) -> float:
    """Return the objective at the optimum."""
    x_MF = StandardScaler().fit_transform(train.x_MF)
    fits = [
        LogisticRegression(C=strength, tol=EXACT, max_iter=LONGEST).fit(x_MF, y_M) for y_M in train.y_MK.T
    ]
    logits_MK = np.stack([fit.decision_function(x_MF) for fit in fits], axis=1)
    return objective(train.y_MK, logits_MK, np.concatenate([fit.coef_ for fit in fits]), strength)


def objective(
    y_MK: NDArray[np.uint8], logits_MK: NDArray[np.float64], weights: NDArray[np.float64], strength: float
) -> float:
    """Return the objective per record: cross-entropy, summed over classes, plus ‖w‖² / (2 · `strength`)."""
    entropy = (np.logaddexp(0, logits_MK) - y_MK * logits_MK).sum()
    return float((entropy + (weights**2).sum() / (2 * strength)) / len(y_MK))


ADAM = f"Adam, {EPOCHS} epochs, batch {BATCH}"
ROWS = (
    Row(
        "probe",
        "probe of 5 tasks at 3 shares, one regularisation strength, speed",
        ADAM,
        Reach("≥", 5),
        "",
        one_strength,
    ),
    Row(
        "probe-choice",
        "probe with choice of the strength, speed",
        f"{ADAM}, one strength",
        Reach("≥", 1),
        "",
        whole_choice,
    ),
)
