"""Several processes give the run that one process gives."""

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.utilities import rank_zero_only
from tests import forked
from tests.marecg.train.runs import rows

from marecg.errors import UsageError
from marecg.objectives.augment import AUGMENTATIONS
from marecg.recipes import Config
from marecg.recipes.overrides import override
from marecg.train.run import train

SCRIPT = """
import sys
from marecg.recipes import Config
from marecg.train.run import train
train(Config.model_validate_json(sys.argv[1]), *sys.argv[2:4])
"""
SETTINGS = ["msps={}", "train.global_batch_size=8"]
AT_MOST = 900
"""Seconds: a busy machine takes minutes to import torch in two processes and their launcher."""


def losses(run: Path, name: str = "loss") -> list[float]:
    return [float(row[name]) for row in rows(run)]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def torchrun_environment(rank: int, nodes: int) -> dict[str, int]:
    local, node = (0, rank) if nodes == 2 else (rank, 0)
    sizes = {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2 // nodes}
    return {"RANK": rank, "LOCAL_RANK": local, "NODE_RANK": node, "GROUP_RANK": node} | sizes


def srun_environment(rank: int, nodes: int) -> dict[str, int]:
    local, node = (0, rank) if nodes == 2 else (rank, 0)
    step = {"SLURM_STEP_ID": 0, "SLURM_STEP_NUM_TASKS": 2, "SLURM_STEP_NUM_NODES": nodes}
    sizes = {"SLURM_JOB_ID": 7, "SLURM_NTASKS": 2, "SLURM_NNODES": nodes}
    return {"SLURM_PROCID": rank, "SLURM_LOCALID": local, "SLURM_NODEID": node} | step | sizes


def start_two(
    work: Callable[[], object],
    printed: Path,
    nodes: int = 1,
    environment: Callable[[int, int], dict[str, int]] = torchrun_environment,
) -> list[int]:
    """Two copies of this process in the environment of a launcher, on as many nodes; their ids."""
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}

    def work_as(rank: int) -> None:
        own = shared | environment(rank, nodes)
        os.environ.update({name: str(value) for name, value in own.items()})
        rank_zero_only.rank = rank  # read from the environment when Lightning was imported
        logging.basicConfig(force=True)  # to stderr, not to pytest
        work()

    return [forked.start(partial(work_as, rank), str(printed / f"rank-{rank}.txt")) for rank in range(2)]


def train_in_two(
    config: Config, corpus: Path, out: Path, start: Path | None = None, **environment: Any
) -> list[str]:
    """Train in two processes that a launcher started, and return what each printed."""
    pids = start_two(lambda: train(config, corpus, out, start=start), out.parent, **environment)
    ends = forked.end_all(pids)
    printed = [(out.parent / f"rank-{rank}.txt").read_text() for rank in range(2)]
    assert ends == [0, 0], "\n".join(printed)
    return printed


@pytest.fixture
def same_view_everywhere(monkeypatch):
    """Else each rank draws its own."""
    for name in AUGMENTATIONS:
        monkeypatch.setitem(AUGMENTATIONS, name, lambda x, n_valid, fs, generator: 0.9 * x.roll(25, -1))


@pytest.fixture(scope="module")
def in_one(corpus_folder: Path, micro: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in one process, of the recipe that others train in two."""
    run = tmp_path_factory.mktemp("one") / "run"
    train(override(micro, SETTINGS), corpus_folder, run)
    return run


@pytest.fixture(scope="module")
def in_two(corpus_folder: Path, micro: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run in two processes, as torchrun starts them."""
    run = tmp_path_factory.mktemp("two") / "run"
    train_in_two(override(micro, SETTINGS), corpus_folder, run)
    return run


def same_run(run: Path, other: Path) -> None:
    assert [row["step"] for row in rows(run)] == [row["step"] for row in rows(other)]
    for column in ("epoch", "loss", "lr"):
        assert losses(run, column) == pytest.approx(losses(other, column), abs=1e-5), column
    assert (run / "model" / "model.safetensors").exists()


@pytest.mark.slow
def test_torchrun_s_two_processes_train_the_run_of_one(corpus_folder, micro, in_one, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    place = ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--nproc-per-node=2"]
    given = [override(micro, SETTINGS).model_dump_json(), corpus_folder, tmp_path / "two"]
    command = [sys.executable, "-m", "torch.distributed.run", *place, tmp_path / "script.py", *given]
    subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}, check=True)
    same_run(tmp_path / "two", in_one)


def test_the_processes_of_torchrun_train_the_run_of_one_process(in_one, in_two):
    same_run(in_two, in_one)


@pytest.mark.slow
def test_the_processes_of_srun_train_the_run_of_one_process(corpus_folder, micro, in_one, tmp_path):
    config = override(micro, SETTINGS)
    train_in_two(config, corpus_folder, tmp_path / "two", environment=srun_environment, nodes=2)
    same_run(tmp_path / "two", in_one)


@pytest.mark.slow
def test_two_nodes_that_each_load_the_given_weights_train_the_run_of_one(
    corpus_folder, micro, given, tmp_path
):
    config = override(micro, [*SETTINGS, "train.max_steps=3"])
    train(config, corpus_folder, tmp_path / "one", start=given)
    train_in_two(config, corpus_folder, tmp_path / "two", given, nodes=2)
    same_run(tmp_path / "two", tmp_path / "one")


@pytest.mark.parametrize("first_in_two", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_run_goes_on_in_another_number_of_processes_with_the_same_batches(
    corpus_folder, micro, in_one, in_two, tmp_path, caplog, first_in_two
):
    config, run = override(micro, SETTINGS), tmp_path / "run"
    shutil.copytree(in_two if first_in_two else in_one, run)
    (run / "checkpoints/step-00000006.ckpt").unlink()
    shutil.rmtree(run / "model")
    if first_in_two:
        train(config, corpus_folder, run)
        warned = caplog.text
    else:
        warned = "".join(train_in_two(config, corpus_folder, run))
    numbers = "1 instead of 2" if first_in_two else "2 instead of 1"
    assert f"resuming in {numbers} processes; a step still reads 8 records" in warned
    same_run(run, in_one)


TORCHRUN = {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
SRUN = {"SLURM_NTASKS": "4", "SLURM_NNODES": "2", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"}


@pytest.mark.parametrize(
    ("environment", "settings", "problem"),
    [
        (TORCHRUN, ["train.devices=1"], r"processes per node that torchrun started \(2\), got 1"),
        (TORCHRUN, ["train.nodes=2"], r"nodes that torchrun started \(1\), got 2"),
        (SRUN, ["train.devices=4"], r"processes per node that SLURM started \(2\), got 4"),
        (SRUN, ["train.nodes=1"], r"nodes that SLURM started \(2\), got 1"),
        (SRUN | {"SLURM_NNODES": "3"}, [], r"multiple of the nodes \(3\), got 4"),
        (TORCHRUN | {"WORLD_SIZE": "3"}, [], r"multiple of the processes per node \(2\), got 3"),
        ({"WORLD_SIZE": "2"}, [], r"LOCAL_RANK must be set if WORLD_SIZE is set \(2\)"),
        (TORCHRUN | {"WORLD_SIZE": "two"}, [], "WORLD_SIZE must be a positive whole number, got 'two'"),
        (TORCHRUN, ["train.global_batch_size=5"], r"multiple of the number of devices \(2\), got 5"),
        ({}, ["train.devices=3", "train.global_batch_size=4"], r"number of devices \(3\), got 4"),
    ],
)
def test_settings_that_the_processes_contradict_are_refused_before_anything_is_written(
    pretrain, tmp_path, monkeypatch, environment, settings, problem
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=problem):
        pretrain(tmp_path / "run", *settings)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "environment",
    [
        {"SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_JOB_NAME": "train"},
        {"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_JOB_NAME": "bash"},
        {"SLURM_NTASKS": "4", "SLURM_JOB_NAME": "mine"},
        {"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},
        {"WORLD_SIZE": "1"},
    ],
    ids=["one task", "srun --pty bash", "salloc", "interactive step", "left over"],
)
def test_a_shell_of_an_allocation_trains_in_one_process(
    pretrain, unbroken, tmp_path, monkeypatch, environment
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    pretrain(tmp_path / "run", "train.max_steps=1")
    [row] = rows(tmp_path / "run")
    assert row["loss"] == rows(unbroken)[0]["loss"]


@pytest.mark.usefixtures("same_view_everywhere")
def test_the_negatives_of_the_view_contrast_are_those_of_all_ranks(corpus_folder, micro, tmp_path):
    settings = ["view.augmentation=rhythm-safe", "masking.ratio=0", "gscl=null", "train.global_batch_size=4"]
    config = override(micro, [*settings, "train.max_steps=4"])
    train(override(config, ["train.batch_size=4"]), corpus_folder, tmp_path / "one")
    train_in_two(override(config, ["train.batch_size=2"]), corpus_folder, tmp_path / "two")
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)


PATIENCE = 20


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)])
def test_a_process_that_is_stopped_ends_the_other_and_one_that_is_asked_to_stop_takes_it_along(
    corpus_folder, micro, tmp_path, monkeypatch, number
):
    endless = ["train.max_steps=100000", "train.max_epochs=1000000"]
    config = override(micro, endless)
    monkeypatch.setattr("marecg.train.processes.EXCHANGE_TIMEOUT", timedelta(seconds=PATIENCE))
    ranks = start_two(lambda: train(config, corpus_folder, tmp_path / "run"), tmp_path, nodes=2)
    printed = [tmp_path / f"rank-{rank}.txt" for rank in range(2)]
    try:
        deadline = time.monotonic() + AT_MOST
        while not (tmp_path / "run/checkpoints").is_dir():
            assert time.monotonic() < deadline
            assert os.waitpid(ranks[0], os.WNOHANG) == (0, 0), printed[0].read_text()
            time.sleep(0.05)
        os.kill(ranks[1], number)
        assert forked.end(ranks[0]) == 1
        if number == signal.SIGSTOP:
            assert f"another process didn't respond for {PATIENCE} s, or has ended" in printed[0].read_text()
        else:
            assert forked.end(ranks.pop()) == 1
            step = int(max((tmp_path / "run/checkpoints").iterdir()).stem.removeprefix("step-"))
            for path in printed:
                assert f"stopped at step {step}; run the same command to continue" in path.read_text()
            assert not (tmp_path / "run/model").exists()
    finally:
        for pid in ranks[1:]:
            os.kill(pid, signal.SIGKILL)
            forked.end(pid)
