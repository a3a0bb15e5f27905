"""Baseline minirocket: MiniRocket and a ridge classifier.

MiniRocket (Dempster et al. 2021, doi:10.1145/3447548.3467231) has ten thousand random convolutions whose
biases come from training recordings; a linear classifier follows. It is quick and strong. Needs aeon.
"""

import hashlib
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from marecg.errors import RecordError, UsageError
from marecg.evaluate.methods.features import finite
from marecg.evaluate.methods.method import Method, Signals
from marecg.evaluate.methods.resnet1d import SEED, slow_signals
from marecg.evaluate.probe.linear import choose_ridge
from marecg.evaluate.tasks.task import TRAIN, Task

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
