"""Baselines beside an encoder: MiniRocket + ridge, and a small ResNet trained end to end on the labels.

MiniRocket (Dempster et al. 2021, doi:10.1145/3447548.3467231) is what a user would try before any
pretraining: ten thousand random convolutions whose biases come from training recordings, then a linear
classifier. It is quick and strong, so it is the baseline to beat. Needs the extra `minirocket`.
The ResNet, after Wang et al. 2017 (doi:10.1109/IJCNN.2017.7966039), smaller and with strides, is what
supervision alone reaches. It stands where a linear probe stands: the same shares, the epoch chosen on val,
test scored once.
Shapes: M records, B of a batch, C leads, L samples at 500 Hz, N at 100 Hz, K classes, F = C·N features,
W width.
"""

import hashlib
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from marecg.classify.tuning import fit_best
from marecg.ecg.leads import LEADS
from marecg.ecg.signal import resample, window
from marecg.errors import RecordError, UsageError
from marecg.evaluate.methods.features import finite
from marecg.evaluate.methods.method import Method, Signals
from marecg.evaluate.probe.linear import Choose, Fitted, Part, check_labels, choose_ridge
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable
from marecg.evaluate.tasks.task import FS, TRAIN, Task

WIDTHS = (16, 32, 64, 64)
EPOCHS = 30
STEP_RECORDS = 32
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 1e-2
SEED = 0
HZ = 100
SAMPLES = 10 * HZ


def supervised(name: str, choose: Choose) -> Method:
    """Return a network as a method: its features are the signals, its classifier the network."""
    sha256 = hashlib.sha256(f"{SAMPLES} samples at {HZ} Hz".encode()).hexdigest()
    return Method(f"{name}, supervised", sha256, _flat, choose)


def resnet1d(_task: Task) -> Method:
    """Return the ResNet baseline for a task, as `marecg probe --baseline` requests it."""
    return supervised("ResNet1d", choose_resnet)


def _flat(signals: Signals) -> NDArray[np.floating]:
    return slow_signals(signals).reshape(len(signals), -1)


class ResidualBlock(nn.Module):
    """Residual block: two convolutions beside a shortcut, of which the first halves the time axis."""

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
        """Return the block's features, [M, W, N] → [M, W', N/2]."""
        return torch.relu(self.body(x_MWN) + self.shortcut(x_MWN))


class ResNet1d(nn.Sequential):
    """Residual network from signals [M, C, N] in mV to logits [M, K]."""

    def __init__(self, classes: int) -> None:
        stages = [ResidualBlock(width_in, width) for width_in, width in pairwise((len(LEADS), *WIDTHS))]
        pool = [nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(WIDTHS[-1], classes)]
        super().__init__(nn.BatchNorm1d(len(LEADS)), *stages, *pool)


def choose_resnet(train: Part, val: Part, epochs: int = EPOCHS) -> Fitted:
    """Train the ResNet, as `choose_network` does."""
    return choose_network(ResNet1d, train, val, epochs)


@torch.random.fork_rng()
def choose_network(build: Callable[[int], nn.Module], train: Part, val: Part, epochs: int = EPOCHS) -> Fitted:
    """Train by AdamW with one learning-rate cycle; keep the epoch with the best macro AUC on val.

    Args:
        build: makes the network for a number of classes: [M, C, N] in mV → logits [M, K].
        train: signals [C, N] at 100 Hz, flat, and labels.
        val: the same of the records that choose.
        epochs: how often it reads train.

    Raises `InputError` where no class has both positives and negatives in val.
    """
    check_labels(val.y_MK, "validation")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x_MCN, y_MK = _signals(train.x_MF).to(device), torch.from_numpy(train.y_MK).float().to(device)
    val_MCN = _signals(val.x_MF)
    generator = torch.Generator().manual_seed(SEED)
    torch.manual_seed(SEED)  # of the weights and of dropout; the caller's generator isn't this one
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
    """Return the signals' first ten seconds at 100 Hz, zero-padded: B arrays [C, L] → [B, C, N]."""
    return np.stack([window(resample(x_CL, FS, HZ), SAMPLES)[0] for x_CL in signals])


KERNELS = 10_000
FITTED_ON = 256
"""How many training recordings the biases are taken from."""


def minirocket(task: Task) -> Method:
    """Return MiniRocket as a method, fitted when features are first computed (needs aeon)."""
    try:
        convolutions = import_module("aeon.transformations.collection.convolution_based")
    except ImportError as error:
        problem = "the baseline minirocket needs aeon"
        raise UsageError(problem, remedy="Run pip install aeon") from error
    use_own_threads()
    rows = np.sort(np.random.default_rng(SEED).permutation(task.row_M[task.split_M == TRAIN])[:FITTED_ON])
    ids = [task.recordings.ids[row] for row in rows]
    description = f"aeon {version('aeon')} {KERNELS} kernels seed {SEED} fitted on {' '.join(ids)}"
    transform = convolutions.MiniRocket(n_kernels=KERNELS, random_state=SEED)
    return Method(
        name="MiniRocket + ridge",
        sha256=hashlib.sha256(description.encode()).hexdigest(),
        compute=_lazily(transform, task, rows),
        choose=choose_ridge,
    )


def use_own_threads() -> None:
    """Let numba use its own thread pool, unless it has already started another.

    By default it takes OpenMP's, which are torch's too. Each then sets their number for itself, and the
    encoder, which works in turns with it, waits while they are made anew.
    """
    numba = import_module("numba")
    try:
        numba.threading_layer()
    except ValueError:  # its way of saying that no parallel loop has run yet
        numba.config.THREADING_LAYER = "workqueue"


def _lazily(transform: Any, task: Task, rows: NDArray[np.int64]) -> Callable[[Signals], NDArray[np.floating]]:
    fitted: list[Any] = []

    def compute(signals: Signals) -> NDArray[np.floating]:
        threads = torch.get_num_threads()
        try:
            if not fitted:
                fitted.append(transform.fit(slow_signals(_readable(task, rows))))
            return np.asarray(fitted[0].transform(slow_signals(signals)), np.float32)
        finally:
            torch.set_num_threads(threads)  # where numba had begun with OpenMP, it sets torch's number too

    return compute


def _readable(task: Task, rows: NDArray[np.int64]) -> Signals:
    signals: Signals = []
    for row in rows:
        try:
            signals.append(finite(task.recordings.read(row)))
        except RecordError:
            continue  # the probe names it when it comes to it
    return signals
