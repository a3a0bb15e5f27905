"""Baseline minirocket: MiniRocket and a ridge classifier.

MiniRocket (Dempster et al. 2021, doi:10.1145/3447548.3467231) computes ten thousand random convolutions,
whose biases come from training recordings. A linear classifier reads them. The baseline is fast and strong.
It needs the package aeon.
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
"""Number of training recordings that the biases are computed from."""


def minirocket(task: Task) -> Method:
    """Return MiniRocket as a method. It is fitted when its features are computed for the first time.

    Raises `UsageError` if aeon isn't installed.
    """
    try:
        convolutions = import_module("aeon.transformations.collection.convolution_based")
    except ImportError as error:
        problem = "the baseline minirocket needs aeon, which isn't installed"
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
    """Let numba use its own thread pool, unless it has already started another pool.

    By default, numba shares OpenMP's threads with torch. Each library then sets its own number of threads,
    and the threads are started again whenever MiniRocket and the encoder take turns.
    """
    numba = import_module("numba")
    try:
        numba.threading_layer()
    except ValueError:  # raised if no parallel loop has run yet
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
            torch.set_num_threads(threads)  # if numba uses OpenMP, it has changed torch's number of threads

    return compute


def _readable(task: Task, rows: NDArray[np.int64]) -> Signals:
    signals: Signals = []
    for row in rows:
        try:
            signals.append(finite(task.recordings.read(row)))
        except RecordError:
            continue  # the probe reports unreadable records
    return signals
