"""Baseline resnet1d: train a small ResNet end to end on the labels.

The network follows Wang et al. 2017 (doi:10.1109/IJCNN.2017.7966039), but is smaller and uses strides. It is
evaluated like a linear probe: it trains on the same shares of the training records, its epoch is chosen on
the validation records (val), and the test records are scored once.

Shapes: M records, B recordings of a batch, C leads, L samples at 500 Hz, N samples at 100 Hz, K classes,
F = C·N features, W width.
"""

import hashlib
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import resample
from marecg.evaluate.methods.method import Method, Signals
from marecg.evaluate.probe.best_round import fit_best
from marecg.evaluate.probe.linear import Choose, Fitted, Part, check_labels
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable
from marecg.evaluate.tasks.task import FS, Task
from marecg.model.stored_signal import window

WIDTHS = (16, 32, 64, 64)
EPOCHS = 30
STEP_RECORDS = 32
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 1e-2
SEED = 0
HZ = 100
SAMPLES = 10 * HZ


def supervised(name: str, choose: Choose) -> Method:
    """Return a `Method` whose features are the signals, and whose classifier is a network.

    Args:
        name: name of the network.
        choose: function that trains the network.
    """
    sha256 = hashlib.sha256(f"{SAMPLES} samples at {HZ} Hz".encode()).hexdigest()
    return Method(f"{name}, supervised", sha256, _flat, choose)


def resnet1d(_task: Task) -> Method:
    """Return the baseline resnet1d for `marecg probe --baseline`. It is the same for all tasks."""
    return supervised("ResNet1d", choose_resnet)


def _flat(signals: Signals) -> NDArray[np.floating]:
    return slow_signals(signals).reshape(len(signals), -1)


class ResidualBlock(nn.Module):
    """Residual block: two convolutions and a shortcut. The first convolution halves the time axis."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(width_in, width, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, width, 7, padding=3, bias=False),
            nn.BatchNorm1d(width),
        )
        self.shortcut = nn.Sequential(
            nn.Conv1d(width_in, width, 1, stride=2, bias=False), nn.BatchNorm1d(width)
        )

    def forward(self, x_MWN: Tensor) -> Tensor:
        """Return the block's features [M, W', N/2] for features [M, W, N]."""
        return torch.relu(self.body(x_MWN) + self.shortcut(x_MWN))


class ResNet1d(nn.Sequential):
    """Residual network from signals [M, C, N] in mV to logits [M, K]."""

    def __init__(self, classes: int) -> None:
        stages = [ResidualBlock(width_in, width) for width_in, width in pairwise((len(LEADS), *WIDTHS))]
        pool = [nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(WIDTHS[-1], classes)]
        super().__init__(nn.BatchNorm1d(len(LEADS)), *stages, *pool)


def choose_resnet(train: Part, val: Part, epochs: int = EPOCHS) -> Fitted:
    """Train the ResNet; see `choose_network`."""
    return choose_network(ResNet1d, train, val, epochs)


@torch.random.fork_rng()
def choose_network(build: Callable[[int], nn.Module], train: Part, val: Part, epochs: int = EPOCHS) -> Fitted:
    """Train with AdamW and a single learning-rate cycle, and keep the epoch with the best macro AUC on val.

    Args:
        build: function from the number of classes to a network. The network takes signals [M, C, N] in mV and
            returns logits [M, K].
        train: flattened signals [C, N] at 100 Hz, and labels.
        val: signals and labels for choosing the epoch.
        epochs: number of epochs.

    Raises:
        InputError: no class has both positives and negatives in val.
    """
    check_labels(val.y_MK, "validation")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x_MCN, y_MK = _signals(train.x_MF).to(device), torch.from_numpy(train.y_MK).float().to(device)
    val_MCN = _signals(val.x_MF)
    generator = torch.Generator().manual_seed(SEED)
    torch.manual_seed(SEED)  # for weights and dropout; `fork_rng` keeps the caller's state
    net = build(y_MK.shape[1]).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    batches = -(-len(x_MCN) // STEP_RECORDS)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=epochs * batches)

    def rounds() -> Iterator[int]:
        for epoch in range(1, epochs + 1):
            net.train()
            for rows in torch.randperm(len(x_MCN), generator=generator).chunk(batches):
                optimizer.zero_grad()
                loss = nn.functional.binary_cross_entropy_with_logits(net(x_MCN[rows]), y_MK[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
            yield epoch

    best, best_auc = fit_best(net, rounds(), lambda: macro_auc(val.y_MK, _logits(net, val_MCN)), least=-1.0)
    untrained = tuple(int(k) for k in np.flatnonzero(~scorable(train.y_MK)))
    return Fitted(best, best_auc, untrained, lambda x_MF: _logits(net, _signals(x_MF)))


def _signals(x_MF: NDArray[np.floating]) -> Tensor:
    return torch.from_numpy(x_MF).float().reshape(len(x_MF), len(LEADS), SAMPLES)


@torch.no_grad()
def _logits(net: nn.Module, x_MCN: Tensor) -> Floats:
    net.eval()
    device = next(net.parameters()).device
    logits_MK = torch.cat([net(part.to(device)).cpu() for part in torch.split(x_MCN, 256)])
    return np.asarray(logits_MK.double().numpy())


def slow_signals(signals: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Resample the first ten seconds of B signals [C, L] to 100 Hz. Return [B, C, N], padded with zeros."""
    return np.stack([window(resample(x_CL, FS, HZ), SAMPLES)[0] for x_CL in signals])
