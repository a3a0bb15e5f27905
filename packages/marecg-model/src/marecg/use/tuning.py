"""Fine-tuning: an encoder with a linear head, trained on labels down to as many layers as asked.

Shapes: B windows, M records, K classes, C leads, L samples, D width.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from marecg.ecg.windows import Recording, stacked, windows
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.nn.attention import init_linear

Fetch = Callable[[int], Recording]
"""A record by its number."""
Loss = Callable[[Tensor, Tensor], Tensor]
"""Logits [B, K] and targets of the same records → a scalar."""
WARM_UP = 0.1
"""Share of the steps over which the learning rate rises; it falls along a cosine afterwards."""


@dataclass(frozen=True)
class Tuning:
    """How an encoder is fine-tuned; it is checked when it is made.

    Attributes:
        layers: `head` alone, `last:N` for the pool and the last N blocks too, or `all`.
        epochs: at most.
        batch_size: records per step.
        lr: peak learning rate of head and pool; a block's is `decay` times that of the block above it.
        decay: 0.75 as BEiT and MAE fine-tune with (Bao et al. 2022).
        weight_decay: of AdamW, on matrices.
        patience: epochs without a gain on val, after which it stops.
        seed: of the head, the order of records and the windows that are read.

    Raises:
        UsageError: a value is impossible.
    """

    layers: str = "head"
    epochs: int = 30
    batch_size: int = 32
    lr: float = 1e-3
    decay: float = 0.75
    weight_decay: float = 0.05
    patience: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        head, _, count = str(self.layers).partition(":")
        if self.layers not in ("head", "all") and not (head == "last" and count.isdecimal() and int(count)):
            raise UsageError(f"there are no layers {self.layers!r}", remedy="Choose head, last:2 or all")
        for name in ("epochs", "batch_size", "patience", "lr", "decay"):
            value, kind = getattr(self, name), Real if name in ("lr", "decay") else Integral
            if not (isinstance(value, kind) and 0 < float(value) < math.inf):
                a_number = "number" if kind is Real else "whole number"
                raise UsageError(f"{name} is {value!r}", remedy=f"Give a {a_number} above 0")
        if not (isinstance(self.seed, Integral) and 0 <= self.seed < 1 << 63):
            raise UsageError(f"seed is {self.seed!r}", remedy="Give a whole number from 0")

    def blocks(self, depth: int) -> int:
        """How many of the encoder's blocks are trained."""
        if self.layers in ("head", "all"):
            return depth if self.layers == "all" else 0
        return min(depth, int(self.layers.partition(":")[2]))


class Classifier(nn.Module):
    """h_rhythm, normalised, and a linear map to K logits."""

    def __init__(self, model: MarEcg, classes: int) -> None:
        super().__init__()
        self.model = model
        self.norm = nn.LayerNorm(model.config.width)
        self.head = nn.Linear(model.config.width, classes)
        init_linear(self.head)

    def forward(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor) -> Tensor:
        """Logits [B, K] of windows in mV."""
        return self.head(self.norm(self.model(x_BCL, n_valid_B, absent_BC).rhythm_BD))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Tuned:
    """What came of it: the network as it stood after `epoch`, whose score on val was the best."""

    net: Classifier
    epoch: int
    score: float


def tune(
    model: MarEcg,
    classes: int,
    how: Tuning,
    fetch: Fetch,
    rows_M: Sequence[int],
    target_M: Tensor,
    loss: Loss,
    score: Callable[[Classifier], float],
) -> Tuned:
    """Train a copy of a model on labels; the epoch that scores best is kept.

    In each epoch one window is drawn from every record.

    Args:
        model: left as it is.
        classes: K.
        how: layers, rates and lengths.
        fetch: reads a record.
        rows_M: the numbers of the training records.
        target_M: what each of them is.
        loss: of logits against targets.
        score: of the network on records that it is not trained on; more is better.
    """
    device = model.prototypes.device
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(how.seed)
        net = Classifier(copy.deepcopy(model), classes).to(device)
    groups = _groups(net, how)
    optimizer = torch.optim.AdamW(groups, lr=how.lr)
    batches = -(-len(rows_M) // how.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _shape(how.epochs * batches))
    draw = np.random.default_rng(how.seed)
    best = Tuned(net, 0, -math.inf)
    for epoch in range(1, how.epochs + 1):
        net.train()
        order = draw.permutation(len(rows_M))
        for picked in np.array_split(order, batches):
            cut = [windows(fetch(int(rows_M[place])), model.config) for place in picked]
            chosen = [each[int(draw.integers(len(each)))] for each in cut]
            optimizer.zero_grad()
            logits_BK = net(*stacked(chosen, model.config, device))
            loss(logits_BK, target_M[torch.from_numpy(picked)].to(device)).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
        found = score(net.eval())
        if found > best.score:
            best = Tuned(copy.deepcopy(net), epoch, found)
        elif epoch - best.epoch >= how.patience:
            break
    return best


@torch.no_grad()
def logits(net: Classifier, fetch: Fetch, rows_M: Sequence[int], batch_size: int) -> NDArray[np.float64]:
    """Logits float64 [M, K] of records, each the mean over its windows."""
    net.eval()
    device = net.head.weight.device
    cut = (
        (place, window)
        for place, row in enumerate(rows_M)
        for window in windows(fetch(row), net.model.config)
    )
    total_MK = np.zeros((len(rows_M), net.head.out_features))
    count_M = np.zeros(len(rows_M))
    for batch in _batched(cut, batch_size):
        found_BK = net(*stacked([window for _, window in batch], net.model.config, device))
        places = [place for place, _ in batch]
        np.add.at(total_MK, places, found_BK.double().cpu().numpy())
        np.add.at(count_M, places, 1)
    means_MK: NDArray[np.float64] = total_MK / count_M[:, None]
    return means_MK


def _batched(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while batch := list(islice(items, size)):
        yield batch


def _groups(net: Classifier, how: Tuning) -> list[dict[str, Any]]:
    """Parameter groups from the head down; what is below the asked layers takes no gradient."""
    model, depth = net.model, len(net.model.encoder.blocks)
    net.requires_grad_(False)
    levels: list[tuple[int, list[nn.Module]]] = [(0, [net.norm, net.head])]
    trained = how.blocks(depth)
    if trained:
        levels[0][1].extend([model.pool, model.encoder.norm])
        levels += [(level, [model.encoder.blocks[depth - level]]) for level in range(1, trained + 1)]
    if how.layers == "all":
        levels.append((depth + 1, [model.tokens]))
    groups: list[dict[str, Any]] = []
    for level, modules in levels:
        parameters = [one for module in modules for one in module.requires_grad_(True).parameters()]
        lr = how.lr * how.decay**level
        groups.append(
            {
                "params": [one for one in parameters if one.ndim > 1],
                "lr": lr,
                "weight_decay": how.weight_decay,
            }
        )
        groups.append({"params": [one for one in parameters if one.ndim <= 1], "lr": lr, "weight_decay": 0.0})
    return groups


def _shape(steps: int) -> Callable[[int], float]:
    """The learning rate as a share of its peak: up in a line, down along half a cosine."""
    rise = max(1, round(WARM_UP * steps))

    def share(step: int) -> float:
        if step < rise:
            return (step + 1) / (rise + 1)
        return (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise))) / 2

    return share
