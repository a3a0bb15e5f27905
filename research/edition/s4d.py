"""Tune a supervised S4D on PTB-XL, and compare it with ResNet1d.

    python -m research.edition.s4d TASKS FOLDS PTBXL FEATURES OUT NAME [SETTING=VALUE]…

TASKS are names such as ptbxl-super,ptbxl-form. FOLDS are those that train, select the epoch and test. NAME
begins with `resnet1d`, or is the name of a variant of the baseline `s4` with the given settings (`Variant`).
The command writes the test logits to OUT/NAME.npz.

Shapes: M records, C leads, N samples at 100 Hz, L steps, W channels, K classes.
"""

import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from research.concepts.rows import standardised
from research.length.read import labels_of
from torch import Tensor, nn

from ecg_records.signal.leads import LEADS
from marecg.base.progress import shown
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.resnet1d import (
    HZ,
    LEARNING_RATE,
    SAMPLES,
    STEP_RECORDS,
    WEIGHT_DECAY,
    ResNet1d,
    supervised,
)
from marecg.evaluate.probe.best_round import fit_best
from marecg.evaluate.scores.metrics import macro_auc
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import TEST, TRAIN, VAL, Folds, Task
from marecg_research import s4

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Variant:
    """Settings of a training. The defaults are the settings that the baseline `s4` had before.

    Attributes:
        kernel: samples that the first convolution sees for a step.
        width: channels W.
        crop_s: seconds of a training crop. The logits of a record are the mean over crops, half a crop apart.
        space_lr: learning rate of time steps and poles, which then have no weight decay. The usual rate if 0.
        pool: `mean` over time, or `max` for the mean and the maximum.
        norm: `layer` or `batch`.
        epochs: epochs.
        seed: seed of weights, batches, crops and dropout.
    """

    kernel: int = s4.STRIDE
    width: int = 64
    crop_s: float = 10.0
    space_lr: float = 0.0
    pool: str = "mean"
    norm: str = "layer"
    epochs: int = 30
    seed: int = 0

    @classmethod
    def of(cls, settings: list[str]) -> "Variant":
        """Return the variant with settings such as `width=128`."""
        default = cls()
        pairs = [text.split("=") for text in settings]
        return cls(**{name: type(getattr(default, name))(value) for name, value in pairs})


class BatchNorm(nn.BatchNorm1d):
    """Batch norm of channels, for [B, L, W]."""

    def forward(self, x_BLW: Tensor) -> Tensor:
        """Return the standardised values."""
        return super().forward(x_BLW.transpose(1, 2)).transpose(1, 2)


class S4d(nn.Module):
    """A network of the baseline's blocks with the settings of a variant, from [M, C, N] to [M, K]."""

    def __init__(self, classes: int, variant: Variant) -> None:
        super().__init__()
        beyond = (variant.kernel - s4.STRIDE) // 2
        steps = nn.Conv1d(len(LEADS), variant.width, variant.kernel, s4.STRIDE, padding=beyond)
        self.steps = nn.Sequential(nn.BatchNorm1d(len(LEADS)), steps)
        blocks = [s4.Block(variant.width) for _ in range(s4.LAYERS)]
        for block in blocks:
            if variant.norm == "batch":
                block.norm = BatchNorm(variant.width)  # type: ignore[assignment]
            # A second draw from the same range. Without it, the seeds wouldn't give the stored scores.
            nn.init.uniform_(block.space.log_step_GW, *np.log(s4.STEPS))
        self.blocks = nn.Sequential(*blocks)
        self.norm = BatchNorm(variant.width) if variant.norm == "batch" else nn.LayerNorm(variant.width)
        self.pool = variant.pool
        self.classify = nn.Linear(variant.width * (1 + (variant.pool == "max")), classes)

    def forward(self, x_MCN: Tensor) -> Tensor:
        """Return the logits."""
        h_MLW = self.norm(self.blocks(self.steps(x_MCN).transpose(1, 2)))
        pooled = [h_MLW.mean(1), h_MLW.amax(1)] if self.pool == "max" else [h_MLW.mean(1)]
        return self.classify(torch.cat(pooled, 1))  # type: ignore[no-any-return]


def main(tasks: str, folds: str, root: str, features: str, out: str, name: str, *settings: str) -> None:
    """Write the standardised logits of a network on the test records, as float16."""
    torch.set_num_threads(1)
    variant = Variant.of(list(settings))
    kept: dict[str, Any] = {}
    for task in (task_named(each).open(Path(root), folds=Folds.of(folds)) for each in tasks.split(",")):
        logits_MK = fitted(task, Path(features), name, variant)
        auc = macro_auc(task.part(TEST).y_MK, logits_MK)
        logger.info("%s: %s, test %.4f", task.name, " ".join([name, *settings]), auc)
        kept |= {f"{task.name}/{name}/1/0": standardised(logits_MK).astype(np.float16), **labels_of(task)}
    np.savez_compressed(Path(out) / f"{name}.npz", **kept)


def fitted(task: Task, features: Path, name: str, variant: Variant) -> NDArray[np.float64]:
    """Return the logits of a task's test records from a network that is trained on its training records."""
    method = supervised("signals", lambda *_: None)  # type: ignore[arg-type]
    table = extract(task.viewed, (method,), features, shown)[method.name]
    parts = {}
    for part in (TRAIN, VAL, TEST):
        records = task.part(part)
        x_MCN = torch.from_numpy(table.x_RF[records.row_M]).float().reshape(-1, len(LEADS), SAMPLES)
        parts[part] = x_MCN, records.y_MK
    torch.manual_seed(variant.seed)
    classes = len(task.classes)
    net = ResNet1d(classes) if name.startswith("resnet1d") else S4d(classes, variant)
    epoch, best = train(net, variant, *parts[TRAIN], *parts[VAL])
    logger.info("epoch %d, val %.4f", epoch, best)
    return scores(net, parts[TEST][0], variant)


def train(
    net: nn.Module,
    variant: Variant,
    x_MCN: Tensor,
    y_MK: NDArray[np.uint8],
    val_MCN: Tensor,
    val_MK: NDArray[np.uint8],
) -> tuple[int, float]:
    """Train as the baseline resnet1d does, with crops. Return the best epoch and its macro AUC on val."""
    generator = torch.Generator().manual_seed(variant.seed)
    target_MK = torch.from_numpy(y_MK).float()
    optimizer = torch.optim.AdamW(groups(net, variant), weight_decay=WEIGHT_DECAY)
    batches = -(-len(x_MCN) // STEP_RECORDS)
    peaks = [group["lr"] for group in optimizer.param_groups]
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peaks, total_steps=variant.epochs * batches)
    length = round(variant.crop_s * HZ)

    def rounds() -> Iterator[int]:
        for epoch in range(1, variant.epochs + 1):
            net.train()
            for rows in torch.randperm(len(x_MCN), generator=generator).chunk(batches):
                start = int(torch.randint(SAMPLES - length + 1, (), generator=generator))
                optimizer.zero_grad()
                logits_MK = net(x_MCN[rows][..., start : start + length])
                nn.functional.binary_cross_entropy_with_logits(logits_MK, target_MK[rows]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
            yield epoch

    return fit_best(net, rounds(), lambda: macro_auc(val_MK, scores(net, val_MCN, variant)), least=-1.0)


def groups(net: nn.Module, variant: Variant) -> list[dict[str, object]]:
    """Return the parameters with their learning rates."""
    if not variant.space_lr:
        return [{"params": list(net.parameters()), "lr": LEARNING_RATE}]
    slow: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in net.named_parameters():
        dynamics = name.split(".")[-1] in ("log_step_GW", "log_decay_GWP", "frequency_GWP")
        (slow if dynamics else others).append(parameter)
    return [
        {"params": others, "lr": LEARNING_RATE},
        {"params": slow, "lr": variant.space_lr, "weight_decay": 0.0},
    ]


@torch.no_grad()
def scores(net: nn.Module, x_MCN: Tensor, variant: Variant) -> NDArray[np.float64]:
    """Return the logits of records, which are means over crops."""
    net.eval()
    length = round(variant.crop_s * HZ)
    starts = range(0, SAMPLES - length + 1, max(1, length // 2))
    crops = [torch.cat([net(part[..., n : n + length]) for part in torch.split(x_MCN, 256)]) for n in starts]
    return np.asarray(torch.stack(crops).mean(0).double().numpy())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main(*sys.argv[1:])
