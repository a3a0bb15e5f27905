"""Several processes give the run that one process gives."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from lightning.pytorch.utilities import rank_zero_only
from tests import forked
from tests.marecg.train.runs import rows

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
AT_MOST = 900
"""Seconds: a busy machine takes minutes to import torch in two processes and their launcher."""


def losses(run: Path, name: str = "loss") -> list[float]:
    return [float(row[name]) for row in rows(run)]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def start_two(work: Callable[[], object], printed: Path, nodes: int = 1) -> list[int]:
    """Two copies of this process with what torchrun tells its own, on as many nodes; their ids."""
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    shared["TORCHELASTIC_RUN_ID"] = "test"

    def work_as(rank: int) -> None:
        node, local = (rank, 0) if nodes == 2 else (0, rank)
        own = {"RANK": rank, "LOCAL_RANK": local, "NODE_RANK": node, "GROUP_RANK": node}
        os.environ.update(shared | {name: str(value) for name, value in own.items()})
        rank_zero_only.rank = rank  # read from the environment when Lightning was imported
        work()

    return [forked.start(partial(work_as, rank), str(printed / f"rank-{rank}.txt")) for rank in range(2)]


def train_in_two(config: Config, corpus: Path, out: Path, start: Path | None = None, nodes: int = 1) -> None:
    shape = ["train.nodes=2", "train.devices=1"] if nodes == 2 else ["train.devices=2"]
    given = override(config, shape)
    pids = start_two(lambda: train(given, corpus, out, start=start), out.parent, nodes)
    ends = forked.end_all(pids)
    printed = [(out.parent / f"rank-{rank}.txt").read_text() for rank in range(2)]
    assert ends == [0, 0], "\n".join(printed)


@pytest.fixture
def same_view_everywhere(monkeypatch):
    """Else each rank draws its own."""
    for name in AUGMENTATIONS:
        monkeypatch.setitem(AUGMENTATIONS, name, lambda x, n_valid, fs, generator: 0.9 * x.roll(25, -1))


@pytest.mark.slow
def test_two_processes_that_torchrun_begins_give_the_losses_of_one_with_the_same_effective_batch(
    corpus_folder, micro, tmp_path
):
    config = override(micro, ["train.max_steps=3", "msps={}"])
    train(override(config, ["train.accumulate=4"]), corpus_folder, tmp_path / "one")
    (tmp_path / "script.py").write_text(SCRIPT)
    place = ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--nproc-per-node=2"]
    given = [override(config, ["train.devices=2"]).model_dump_json(), corpus_folder, tmp_path / "two"]
    command = [sys.executable, "-m", "torch.distributed.run", *place, tmp_path / "script.py", *given]
    subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}, check=True)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
    assert (tmp_path / "two" / "model" / "model.safetensors").exists()


def test_two_nodes_that_each_load_the_given_weights_give_the_losses_of_one(corpus_folder, micro, tmp_path):
    config = override(micro, ["train.max_steps=3", "msps={}"])
    given = tmp_path / "given"
    train(override(config, ["train.seed=1"]), corpus_folder, given)
    train(override(config, ["train.accumulate=4"]), corpus_folder, tmp_path / "one", start=given)
    train_in_two(config, corpus_folder, tmp_path / "two", given, nodes=2)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
    assert (tmp_path / "two" / "model" / "model.safetensors").exists()


@pytest.mark.usefixtures("same_view_everywhere")
def test_the_negatives_of_the_view_contrast_are_those_of_all_ranks(corpus_folder, micro, tmp_path):
    settings = ["view.augmentation=rhythm-safe", "masking.ratio=0", "gscl=null", "train.accumulate=1"]
    config = override(micro, [*settings, "train.max_steps=4"])
    train(override(config, ["train.batch_size=4"]), corpus_folder, tmp_path / "one")
    train_in_two(override(config, ["train.batch_size=2"]), corpus_folder, tmp_path / "two")
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)


PATIENCE = 20


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)])
def test_a_process_that_is_stopped_ends_the_other_and_one_that_is_asked_to_stop_takes_it_along(
    corpus_folder, micro, tmp_path, monkeypatch, number
):
    endless = ["train.max_steps=100000", "train.max_epochs=1000000", "train.nodes=2", "train.devices=1"]
    config = override(micro, endless)
    monkeypatch.setattr("marecg.train.run.EXCHANGE_TIMEOUT", timedelta(seconds=PATIENCE))
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
            assert f"another process gave no sign for {PATIENCE} s, or is gone" in printed[0].read_text()
        else:
            assert forked.end(ranks.pop()) == 1
            step = int(max((tmp_path / "run/checkpoints").iterdir()).stem.removeprefix("step-"))
            for path in printed:
                assert f"stopped at step {step}; the same command goes on" in path.read_text()
            assert not (tmp_path / "run/model").exists()
    finally:
        for pid in ranks[1:]:
            os.kill(pid, signal.SIGKILL)
            forked.end(pid)
