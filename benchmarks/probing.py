"""The linear probe beside what most do: 100 epochs of Adam, on features of the five tasks' sizes.

Shapes: M records, B of a batch, K classes, F features, G hidden causes.
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
"""C where both sides fit one strength."""
SAME = 1.01
"""How far above the least objective Adam may end on the whole of a task to have found the same optimum.

On a hundredth of it 100 epochs are too few steps: Adam ends up to twice above, and is given no more.
"""
SMALLER, REPEATS = 4, 2
"""A quarter of the records and two turns: Adam takes minutes for all of them."""


class Turn(NamedTuple):
    """Seconds over all tasks and fractions: Adam's, ours at one strength, ours with the choice."""

    adam: float
    one: float
    choice: float


class Size(NamedTuple):
    """Training records and classes of a task."""

    records: int
    classes: int


TASKS = {
    "ptbxl-super": Size(17_084, 5),
    "ptbxl-sub": Size(17_084, 23),
    "ptbxl-form": Size(7_197, 19),
    "ptbxl-rhythm": Size(16_832, 12),
    "cpsc2018": Size(4_950, 9),
}
"""The five tasks, as MERL's tables split them."""


def one_strength(effort: Effort) -> list[float]:
    """Seconds of Adam over ours, all tasks and fractions together, each fitted at one strength."""
    return [turn.adam / turn.one for turn in _turns(effort)]


def whole_choice(effort: Effort) -> list[float]:
    """The same, but ours tries its strengths and chooses by val, and Adam has its strength given."""
    return [turn.adam / turn.choice for turn in _turns(effort)]


@cache
def _turns(effort: Effort) -> list[Turn]:
    parts = list(_parts(effort))
    records, classes = TASKS["cpsc2018"]
    whole = correlated(records // SMALLER, classes, seed=0)
    assert 1 <= adam_loop(whole, STRENGTH) / least(whole, STRENGTH) < SAME
    return [
        Turn(
            seconds(lambda: [adam_loop(train, STRENGTH) for train, _ in parts]),
            seconds(lambda: [choose_logistic(train, val, (STRENGTH,)) for train, val in parts]),
            seconds(lambda: [choose_logistic(train, val) for train, val in parts]),
        )
        for _ in range(min(effort.repeats, REPEATS))
    ]


def _parts(effort: Effort) -> Iterator[tuple[Part, Part]]:
    """Train and val of every task and fraction."""
    for size in TASKS.values():
        records = effort.of(size.records) // SMALLER
        val = correlated(records // 8, size.classes, seed=1)
        for fraction in FRACTIONS:
            yield correlated(int(records * fraction), size.classes, seed=0), val


def correlated(records: int, classes: int, seed: int) -> Part:
    """Correlated features, as encoders give them, and labels that follow some of them."""
    generator = np.random.default_rng(seed)
    mixing_GF = np.random.default_rng(99).normal(size=(64, FEATURES))
    hidden_MG = generator.normal(size=(records, 64))
    x_MF = np.tanh(hidden_MG @ mixing_GF / 8) + generator.normal(0, 0.1, (records, FEATURES))
    y_MK = hidden_MG[:, :classes] + generator.normal(0, 1.5, (records, classes)) > 1.5
    return Part(x_MF, y_MK.astype(np.uint8))


def adam_loop(train: Part, strength: float) -> float:
    """100 epochs of Adam on standardised features, at one L2 strength: the objective that it ends at."""
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
    """The objective at the optimum."""
    x_MF = StandardScaler().fit_transform(train.x_MF)
    fits = [
        LogisticRegression(C=strength, tol=EXACT, max_iter=LONGEST).fit(x_MF, y_M) for y_M in train.y_MK.T
    ]
    logits_MK = np.stack([fit.decision_function(x_MF) for fit in fits], axis=1)
    return objective(train.y_MK, logits_MK, np.concatenate([fit.coef_ for fit in fits]), strength)


def objective(
    y_MK: NDArray[np.uint8], logits_MK: NDArray[np.float64], weights: NDArray[np.float64], strength: float
) -> float:
    """The cross-entropy summed over classes plus ‖w‖² / 2C, per record; C is `strength`."""
    entropy = (np.logaddexp(0, logits_MK) - y_MK * logits_MK).sum()
    return float((entropy + (weights**2).sum() / (2 * strength)) / len(y_MK))


ADAM = f"Adam, {EPOCHS} epochs, batch {BATCH}"
ROWS = (
    Row("probe", "probe, 5 tasks × 3 fractions, one strength", ADAM, Reach("≥", 5), "", one_strength),
    Row(
        "probe-choice",
        "probe with all its strengths",
        f"{ADAM}, one strength",
        Reach("≥", 1),
        "",
        whole_choice,
    ),
)
