"""Fit a linear head on the readouts of a frozen encoder, then train head and encoder together.

Fine-tuning starts from the best head on the frozen encoder (Kumar et al. 2022, "Fine-Tuning can Distort
Pretrained Features"). A trained network replaces this head only if its loss on validation is lower. The pool
is the layer of the encoder that averages its patch vectors. A readout is a vector per record, made from the
patch vectors (`marecg.model.readout`).

Shapes: B windows, M records, K classes, C leads, L samples, W readout.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils import clip_grad_norm_

from marecg.classify.logistic import Logistic, class_weights, fit_views, record_losses, weighted_loss
from marecg.embedding.embed import encode
from marecg.errors import CheckpointError, UsageError
from marecg.evaluate.probe.best_round import fit_best
from marecg.model.classifier import Classifier
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import Readout, columns_within, part_weights, views
from marecg.model.windows import Recording, stacked, tta_windows
from marecg.nn.ema import Ema
from marecg.nn.schedule import cosine
from marecg.objectives.augment import rhythm_safe

Floats = NDArray[np.float64]
HEADS: tuple[Readout, ...] = ("wide", "beats", "full")
"""Readouts for a head. Each readout begins with the values of the previous readout."""
WARM_UP = 0.1
"""Share of the steps over which the learning rate rises. Afterwards it falls along a cosine."""
HEAD = 0.1
"""Ratio of the head's learning rate to the pool's. It is low because the head is already fitted."""
AVERAGE = 0.98
"""Momentum of the moving average of the weights."""
HALF_WAY = 0.5
"""Weight of the moving average in the evaluated weights. The rest are the weights before training.

Wortsman et al. 2022, "Robust fine-tuning of zero-shot models".
"""
WARMING = 10
"""Delay of the moving average: at step s, the momentum is s / (s + WARMING), but at most `AVERAGE`."""
CLIP = 1.0
"""Maximum norm of the gradients."""
SLOPES = np.linspace(0.4, 1, 7)
"""Factors for logits, of which the best is used in the validation loss.

So a network isn't rejected because it is overconfident. Calibration corrects overconfidence later.
"""


@dataclass(frozen=True)
class Tuning:
    """Settings of fine-tuning. `EcgClassifier` describes them. Raises `UsageError` for an invalid value.

    Attributes:
        decay: ratio of learning rates of neighbouring blocks, as for BEiT and MAE (Bao et al. 2022).
        look: number of steps between two evaluations on validation.
    """

    layers: str = "head"
    steps: int = 1500
    batch_size: int = 32
    lr: float = 1e-3
    decay: float = 0.75
    patience: int = 300
    balanced: bool = False
    readout: Readout = "wide"
    seed: int = 0
    look: int = 100

    def __post_init__(self) -> None:
        head, _, count = str(self.layers).partition(":")
        if self.layers not in ("head", "all") and not (head == "last" and count.isdecimal() and int(count)):
            raise UsageError(f"unknown layers {self.layers!r}", remedy="Choose head, last:2 or all")
        for name in ("steps", "batch_size", "patience", "look", "lr", "decay"):
            value, number_type = getattr(self, name), Real if name in ("lr", "decay") else Integral
            if not (isinstance(value, number_type) and 0 < float(value) < math.inf):
                noun = "number" if number_type is Real else "whole number"
                raise UsageError(f"{name} must be a {noun} above 0, got {value!r}")
        if self.readout not in HEADS:
            raise UsageError(f"readout must be {' or '.join(HEADS)}, got {self.readout!r}")
        if self.readout != "wide" and self.layers != "head":
            remedy = "Train only the head, or set readout=wide"
            problem = f"readout {self.readout!r} requires layers='head', got layers={self.layers!r}"
            raise UsageError(problem, remedy=remedy)
        if not (isinstance(self.seed, Integral) and 0 <= self.seed < 1 << 63):
            raise UsageError(f"seed must be a whole number from 0, got {self.seed!r}")

    def blocks(self, depth: int) -> int:
        """Return the number of trained encoder blocks."""
        if self.layers in ("head", "all"):
            return depth if self.layers == "all" else 0
        return min(depth, int(self.layers.partition(":")[2]))


class Vectors:
    """Features of records by a frozen encoder. A record is read and embedded at its first use.

    Args:
        model: the encoder.
        fetch: function that reads a record by its number.
        readout: readout of the vectors.
    """

    def __init__(self, model: MarEcg, fetch: Callable[[int], Recording], readout: Readout = "wide") -> None:
        self.model, self.fetch, self.readout = model, fetch, readout
        self._computed = readout
        self._read: dict[int, NDArray[np.float32]] = {}

    def narrowed(self, readout: Readout) -> "Vectors":
        """Return these vectors cut to a shorter readout, such as `wide`. Both share the computed vectors."""
        other = copy.copy(self)
        other.readout = readout
        return other

    def add(self, rows_M: Sequence[int], x_MW: NDArray[np.float32]) -> None:
        """Add vectors that were computed earlier, so that the records `rows_M` aren't embedded again."""
        self._read |= dict(zip(rows_M, x_MW, strict=True))

    def __call__(self, rows_M: Sequence[int]) -> Floats:
        """Return the vectors of records, float64 [M, W]."""
        missing = [row for row in dict.fromkeys(rows_M) if row not in self._read]
        encoded = encode(self.model, map(self.fetch, missing), readout=self._computed, patches=False)
        self._read |= {row: vectors.wide for row, vectors in zip(missing, encoded, strict=True)}
        columns = columns_within(self.model.config, self.readout, self._computed)
        return np.stack([self._read[row][columns] for row in rows_M]).astype(np.float64)


@dataclass(frozen=True)
class Tuned:
    """Result of tuning.

    Attributes:
        net: network with the least `loss`.
        step: training step after which this network was kept; 0 for the head on the frozen encoder.
        loss: `calibrated_loss` on validation.
        frozen: whether the encoder wasn't trained.
        val_MK: validation logits for calibration (`logistic.cross_fitted`), if the encoder is frozen.
        loss_M: contribution of each validation record to the loss, if the encoder is frozen.
    """

    net: Classifier
    step: int
    loss: float
    frozen: bool
    val_MK: Floats | None = None
    loss_M: Floats | None = None

    def logits(self, vectors: Vectors, rows_M: Sequence[int]) -> Floats:
        """Return logits [M, K] of records. The vectors are reused if the encoder is frozen."""
        readout = self.net.readout
        inputs = vectors.narrowed(readout) if self.frozen else Vectors(self.net.model, vectors.fetch, readout)
        return self.net.logits(inputs(rows_M))


def tune(
    how: Tuning,
    vectors: Vectors,
    y_MK: NDArray[np.floating],
    train_M: Sequence[int],
    val_M: Sequence[int],
    fitted: dict[tuple[int, int, bytes], Logistic] | None = None,
) -> Tuned:
    """Fit a head, train the layers `how.layers`, and keep the best step.

    In each step, one of the windows that `predict_proba` would average (`tta_windows`) is drawn for each
    record of the batch. The window is augmented with `rhythm_safe`, which keeps every beat in its place.

    Args:
        how: settings of the training.
        vectors: object that reads records by their numbers, and returns their readouts.
        y_MK: labels of the training records, then of the validation records; NaN if unknown.
        train_M: numbers of the training records, as `vectors` counts them.
        val_M: numbers of the validation records. They decide how much the head is regularised, and when
            training stops.
        fitted: cache of fits, shared by the readouts of the same records; see `fit_views`.

    Raises:
        UsageError: values aren't finite because the learning rate is too high.
    """
    model, classes = vectors.model, y_MK.shape[1]
    y_train, y_val = y_MK[: len(train_M)], y_MK[len(train_M) :]
    weight_train, weight_val = (class_weights(y, y_train, how.balanced) for y in (y_train, y_val))
    device = model.prototypes.device
    net = Classifier(copy.deepcopy(model), classes, vectors.readout).to(device)
    x_train, x_val = vectors(train_M), vectors(val_M)
    part_W = None if vectors.readout == "wide" else part_weights(model.config, vectors.readout)
    columns = views(model.config, vectors.readout)
    head = fit_views(x_train, y_train, weight_train, x_val, y_val, weight_val, columns, part_W, fitted)
    tensors = {
        "mean_W": head.mean_W,
        "scale_W": head.scale_W,
        "head.weight": head.weights_KW,
        "head.bias": head.intercepts_K,
    }
    net.load_state_dict(net.state_dict() | {name: torch.from_numpy(x) for name, x in tensors.items()})
    logits_val = net.eval().logits(x_val)
    loss = calibrated_loss(logits_val, y_val, weight_val)
    if how.layers == "head":
        return Tuned(net, 0, loss, True, head.val_MK, _of_records(logits_val, y_val, weight_val))
    optimizer = torch.optim.AdamW(_groups(net, how), lr=how.lr)
    rise = max(1, round(WARM_UP * how.steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: cosine(step, rise, how.steps))
    average = Ema(net)
    start, between = (copy.deepcopy(net).requires_grad_(False) for _ in range(2))
    noise = torch.Generator().manual_seed(how.seed)
    target_MK = torch.from_numpy(np.nan_to_num(y_train)).float()
    weight_MK = torch.from_numpy(weight_train).float()

    def rounds() -> Iterator[int]:
        for step, picked in enumerate(_batches(how, len(train_M)), 1):
            net.train()
            windows = [list(tta_windows(vectors.fetch(train_M[row]), model.config)) for row in picked]
            draw = np.random.default_rng((how.seed, step))
            drawn = [choices[int(draw.integers(len(choices)))] for choices in windows]
            optimizer.zero_grad()
            x_BCL, n_valid_B, absent_BC = stacked(drawn, model.config, device)
            x_BCL = rhythm_safe(x_BCL, n_valid_B, model.config.fs, noise)
            logits_BK = net.of_windows(x_BCL, n_valid_B, absent_BC)
            target_BK, weight_BK = (array[picked].to(device) for array in (target_MK, weight_MK))
            loss_BK = nn.functional.binary_cross_entropy_with_logits(logits_BK, target_BK, reduction="none")
            (loss_BK * weight_BK).mean().backward()  # type: ignore[no-untyped-call]
            clip_grad_norm_(net.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            average.update(net, min(AVERAGE, step / (step + WARMING)))
            if step % how.look == 0 or step == how.steps:
                yield step

    def score() -> float:
        ends = zip(start.parameters(), average.module.parameters(), strict=True)
        for parameter, (begin, end) in zip(between.parameters(), ends, strict=True):
            parameter.copy_(begin.lerp(end, HALF_WAY))
        try:
            logits_MK = Tuned(between, 0, math.nan, False).logits(vectors, val_M)
        except CheckpointError as error:
            problem = f"fine-tuning ({how.layers}) gives values that are not finite"
            raise UsageError(problem, where="lr", remedy=f"Set lr to less than {how.lr:g}") from error
        return -calibrated_loss(logits_MK, y_val, weight_val)

    step, best = fit_best(between, rounds(), score, -loss, how.patience)
    return Tuned(between.eval(), step, -best, False)


def calibrated_loss(logits_MK: Floats, y_MK: NDArray[np.floating], weight_MK: Floats) -> float:
    """Multiply the logits by each factor in `SLOPES`, and return the least `weighted_loss`."""
    return min(weighted_loss(slope * logits_MK, y_MK, weight_MK) for slope in SLOPES)


def _of_records(logits_MK: Floats, y_MK: NDArray[np.floating], weight_MK: Floats) -> Floats:
    """Return each record's contribution to `calibrated_loss`, [M]."""
    slope = min(SLOPES, key=lambda slope: weighted_loss(slope * logits_MK, y_MK, weight_MK))
    return record_losses(slope * logits_MK, y_MK, weight_MK)


def _batches(how: Tuning, records: int) -> Iterator[NDArray[np.int64]]:
    """Yield a batch of record positions per step. No record is repeated before all records were used."""
    draw = np.random.default_rng(how.seed)
    queue = np.zeros(0, np.int64)
    for _ in range(how.steps):
        if len(queue) < min(how.batch_size, records):
            queue = np.concatenate([queue, draw.permutation(records)])
        yield queue[: how.batch_size]
        queue = queue[how.batch_size :]


def _groups(net: Classifier, how: Tuning) -> list[dict[str, Any]]:
    """Return the parameter groups of the head and of `how.layers`. All other layers are frozen."""
    model, depth = net.model, len(net.model.encoder.blocks)
    net.requires_grad_(True)
    model.to_concepts.requires_grad_(False)
    if how.layers != "all":
        model.freeze(depth - how.blocks(depth))
    return net.param_groups(how.lr, how.decay, head=HEAD)
