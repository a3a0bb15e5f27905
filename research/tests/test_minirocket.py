"""The MiniRocket baseline: what it is fitted on, what it gives, and the threads that it leaves alone."""

import os
import subprocess
import sys

import pytest
import torch

from marecg.errors import UsageError
from marecg_research.minirocket import minirocket


def test_without_aeon_minirocket_says_what_to_install(task, monkeypatch):
    monkeypatch.setitem(sys.modules, "aeon.transformations.collection.convolution_based", None)
    with pytest.raises(UsageError, match="pip install"):
        minirocket(task)


def test_minirocket_is_fitted_on_training_records_only_and_gives_ten_thousand_features(task):
    method, threads = minirocket(task), torch.get_num_threads()
    assert method.compute([task.recordings.read(row) for row in task.row_M[:4]]).shape == (4, 9996)
    assert torch.get_num_threads() == threads
    assert minirocket(task.only(task.split_M == "train")).sha256 == method.sha256


@pytest.mark.slow
def test_minirocket_leaves_torchs_threads_alone(ptbxl_root):
    """In a process where numba hasn't worked yet: afterwards it works with threads of its own."""
    code = f"""
import numba, numpy as np, pathlib, torch
from marecg_research.minirocket import minirocket
from marecg.evaluate.tasks.registry import task_named
task = task_named("ptbxl-super").open(pathlib.Path({str(ptbxl_root)!r}))
method = minirocket(task)
method.compute([np.zeros((12, 5000), np.float32)])
print(numba.threading_layer(), torch.get_num_threads())
"""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "2")
    printed = subprocess.check_output([sys.executable, "-c", code], env={**os.environ, **threads}, text=True)
    assert printed.split() == ["workqueue", "2"]
