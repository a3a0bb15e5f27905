"""Several processes give the run that one process gives."""

import csv
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from marecg.ecg.augment import AUGMENTATIONS
from marecg.recipes import Config, by_name
from marecg.recipes.overrides import override
from marecg.train.run import train

SCRIPT = """
import sys
from marecg.recipes import Config
from marecg.train.run import train
train(Config.model_validate_json(sys.argv[1]), *sys.argv[2:4], start=(sys.argv[4:] or [None])[0])
"""
AT_MOST = 900
"""Seconds: a busy machine takes minutes to import torch in two processes and their launcher."""
IMPATIENT = """
import sys
from datetime import timedelta
from marecg.train import distributed as peers
peers.PATIENCE = timedelta(seconds=30)
"""
SAME_VIEW_EVERYWHERE = """
from marecg.ecg.augment import AUGMENTATIONS
for name in AUGMENTATIONS:
    AUGMENTATIONS[name] = lambda x_BCL, n_valid_B, fs, generator: 0.9 * x_BCL.roll(25, -1)
"""


def losses(run: Path, name: str = "loss") -> list[float]:
    with (run / "metrics.csv").open(newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def launch(
    config: Config, corpus: Path, out: Path, script: Path, *torchrun: str, start: Path | None = None
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", *torchrun, str(script)]
    return subprocess.Popen(
        [*command, config.model_dump_json(), str(corpus), str(out), *([str(start)] if start else [])],
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["one node of two processes", "two nodes of one process"])
def test_two_processes_give_the_losses_of_one_with_the_same_effective_batch(
    corpus_folder, micro, tmp_path, layout
):
    """Two nodes from given weights, which each loads."""
    config = override(micro, ["train.max_steps=3", "msps={}"])
    start = None if layout == "one node of two processes" else tmp_path / "given"
    if start is not None:
        train(override(config, ["train.seed=1"]), corpus_folder, start)
    train(override(config, ["train.accumulate=4"]), corpus_folder, tmp_path / "one", start=start)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    place = f"127.0.0.1:{free_port()}"
    if layout == "one node of two processes":
        shared = override(config, ["train.devices=2"])
        flags = ["--nproc-per-node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={place}"]
        ranks = [launch(shared, corpus_folder, tmp_path / "two", script, *flags)]
    else:
        shared = override(config, ["train.nodes=2", "train.devices=1"])
        flags = ["--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint={place}"]
        ranks = [
            launch(
                shared,
                corpus_folder,
                tmp_path / "two",
                script,
                *flags,
                "--rdzv-id=test",
                f"--node-rank={node}",
                start=start,
            )
            for node in range(2)
        ]
    for rank in ranks:
        output, _ = rank.communicate(timeout=AT_MOST)
        assert rank.returncode == 0, output
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
    assert (tmp_path / "two" / "model" / "model.safetensors").exists()


@pytest.mark.slow
def test_the_negatives_of_the_view_contrast_are_those_of_all_ranks_with_their_gradients(
    corpus_folder, micro, tmp_path
):
    settings = ["view.augmentation=rhythm-safe", "masking.ratio=0", "gscl=null", "train.accumulate=1"]
    config = override(micro, [*settings, "train.max_steps=4"])
    script = tmp_path / "script.py"
    script.write_text(SAME_VIEW_EVERYWHERE + SCRIPT)
    runs = {"one": ["train.batch_size=4"], "two": ["train.batch_size=2", "train.devices=2"]}
    for name, layout in runs.items():
        processes = "2" if name == "two" else "1"
        flags = [
            f"--nproc-per-node={processes}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint=127.0.0.1:{free_port()}",
        ]
        rank = launch(override(config, layout), corpus_folder, tmp_path / name, script, *flags)
        output, _ = rank.communicate(timeout=AT_MOST)
        assert rank.returncode == 0, output
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)


@pytest.mark.slow
def test_what_reads_the_batch_s_statistics_reads_those_of_all_ranks(corpus_folder, tmp_path, monkeypatch):
    others = {name: getattr(by_name(f"tiny-{name}"), name) for name in ("barlow", "simsiam", "moco", "astcl")}
    every = by_name("tiny-byol").derived(**others)
    sizes = ["model.width=16", "model.depth=1", "model.heads=2", "train.max_steps=3", "train.accumulate=1"]
    config = override(every, [*sizes, "train.precision=32-true"])
    for name in AUGMENTATIONS:
        monkeypatch.setitem(AUGMENTATIONS, name, lambda x, n_valid, fs, generator: 0.9 * x.roll(25, -1))
    train(override(config, ["train.batch_size=4"]), corpus_folder, tmp_path / "one")
    script = tmp_path / "script.py"
    script.write_text(SAME_VIEW_EVERYWHERE + SCRIPT)
    flags = ["--nproc-per-node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}"]
    two = override(config, ["train.batch_size=2", "train.devices=2"])
    rank = launch(two, corpus_folder, tmp_path / "two", script, *flags)
    output, _ = rank.communicate(timeout=AT_MOST)
    assert rank.returncode == 0, output
    for loss in config.captions:
        assert losses(tmp_path / "two", loss) == pytest.approx(losses(tmp_path / "one", loss), rel=2e-3), loss


@pytest.mark.skipif(
    "MARECG_PEERS" not in os.environ,
    reason="needs a quiet machine: set MARECG_PEERS=1 to stop real processes",
)
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTERM])
def test_a_process_that_is_stopped_ends_the_other_and_one_that_is_asked_to_stop_takes_it_along(
    corpus_folder, micro, tmp_path, number
):
    settings = ["train.max_steps=100000", "train.max_epochs=1000000", "train.nodes=2", "train.devices=1"]
    script = tmp_path / "script.py"
    script.write_text(IMPATIENT + SCRIPT)
    place = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
    }
    arguments = [override(micro, settings).model_dump_json(), str(corpus_folder), str(tmp_path / "run")]
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), *arguments],
            env=os.environ
            | place
            | {"RANK": str(rank), "NODE_RANK": str(rank), "GROUP_RANK": str(rank)}
            | {"TORCHELASTIC_RUN_ID": "test", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        deadline = time.monotonic() + 400  # a busy machine takes minutes to import torch twice
        while not (tmp_path / "run/checkpoints").is_dir():
            assert time.monotonic() < deadline
            assert all(rank.poll() is None for rank in ranks), ranks[0].communicate()[1]
            time.sleep(0.2)
        ranks[1].send_signal(number)
        _, said = ranks[0].communicate(timeout=AT_MOST)
        assert ranks[0].returncode == 1
        if number == signal.SIGSTOP:
            assert "another process gave no sign for 30 s, or is gone" in said
        else:
            step = int(sorted((tmp_path / "run/checkpoints").iterdir())[-1].stem.removeprefix("step-"))
            _, said_too = ranks[1].communicate(timeout=AT_MOST)
            for each in (said, said_too):
                assert f"stopped at step {step}; the same command goes on" in each
            assert not (tmp_path / "run/model").exists()
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
