"""Training: exact resume, skipped steps, run folders."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import ecg_ontology
from marecg.config import Config
from marecg.data.loader import Batch
from marecg.errors import CheckpointError, OutputError, UsageError
from marecg.model import MarEcg
from marecg.pretrain import Pretraining
from marecg.train import train

SCRIPT = """
import sys
from marecg.config import Config
from marecg.train import train
train(Config.model_validate_json(sys.argv[1]), sys.argv[2], sys.argv[3], resume=bool(sys.argv[4:]))
"""


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def unbroken(corpus_folder: Path, micro: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken")
    train(micro, corpus_folder, folder)
    return folder


def test_a_run_folder_holds_what_the_contract_names(unbroken: Path, micro: Config) -> None:
    assert Config.model_validate(json.loads((unbroken / "config.json").read_text())["config"]) == micro
    assert [path.name for path in sorted((unbroken / "checkpoints").iterdir())] == [
        "step-00000004.ckpt",
        "step-00000006.ckpt",
    ]
    assert list(rows(unbroken)[0]) == ["step", "epoch", "loss", "lr", "recon", "mask", "gscl"]
    assert [int(row["step"]) for row in rows(unbroken)] == [1, 2, 3, 4, 5, 6]
    model = MarEcg.from_pretrained(unbroken / "model")
    torch.testing.assert_close(model.prototypes.norm(dim=1), torch.ones(40))


def test_the_logged_loss_is_the_weighted_sum_of_the_named_ones(unbroken: Path, micro: Config) -> None:
    assert micro.gscl is not None
    for row in rows(unbroken):
        total = float(row["recon"]) + float(row["mask"]) + micro.gscl.weight * float(row["gscl"])
        assert float(row["loss"]) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("after_step", [1, 3, 4])
def test_killed_at_any_step_and_resumed_the_run_is_the_unbroken_one(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path, after_step: int
) -> None:
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        micro.model_dump_json(),
        str(corpus_folder),
        str(tmp_path / "run"),
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    metrics = tmp_path / "run" / "metrics.csv"
    deadline = time.monotonic() + 120
    while not metrics.exists() or metrics.read_text().count("\n") < after_step + 1:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    train(micro, corpus_folder, tmp_path / "run", resume=True)
    assert rows(tmp_path / "run") == rows(unbroken)
    assert (tmp_path / "run/model/model.safetensors").read_bytes() == (
        unbroken / "model/model.safetensors"
    ).read_bytes()


def test_resuming_a_finished_run_changes_nothing(corpus_folder: Path, micro: Config, tmp_path: Path) -> None:
    train(micro, corpus_folder, tmp_path)
    before = (tmp_path / "metrics.csv").read_bytes(), (tmp_path / "model/model.safetensors").read_bytes()
    train(micro, corpus_folder, tmp_path, resume=True)
    assert before == (
        (tmp_path / "metrics.csv").read_bytes(),
        (tmp_path / "model/model.safetensors").read_bytes(),
    )


def test_the_same_seed_gives_the_same_run_and_another_seed_another(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path
) -> None:
    train(micro, corpus_folder, tmp_path / "same")
    other = micro.model_copy(update={"train": micro.train.model_copy(update={"seed": 1})})
    train(other, corpus_folder, tmp_path / "other")
    assert rows(tmp_path / "same") == rows(unbroken)
    assert rows(tmp_path / "other") != rows(unbroken)


def test_a_step_with_gradients_that_are_not_finite_is_skipped_and_counted(
    corpus_folder: Path, micro: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = Pretraining.losses
    weights = []

    def poisoned(self: Pretraining, batch: Batch) -> dict[str, torch.Tensor]:
        weights.append(self.decoder.to_signal.weight.detach().clone())
        named = losses(self, batch)
        if batch.number == 3:
            named["mask"] = named["mask"] * torch.nan
        return named

    monkeypatch.setattr(Pretraining, "losses", poisoned)
    run = train(micro, corpus_folder, tmp_path)
    assert (run.steps, run.skipped_steps) == (6, 1)
    # micro-batches 2 and 3 are step 2: it moves nothing, step 3 goes on
    assert torch.equal(weights[4], weights[2])
    assert not torch.equal(weights[6], weights[4])
    assert all(weight.isfinite().all() for weight in weights)


def test_a_run_is_not_overwritten(corpus_folder: Path, micro: Config, unbroken: Path) -> None:
    with pytest.raises(UsageError, match="holds a run already"):
        train(micro, corpus_folder, unbroken)


def test_nothing_is_resumed_where_there_is_nothing(
    corpus_folder: Path, micro: Config, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no run to resume"):
        train(micro, corpus_folder, tmp_path, resume=True)


def test_a_run_is_not_resumed_with_other_settings(corpus_folder: Path, micro: Config, unbroken: Path) -> None:
    other = micro.model_copy(update={"train": micro.train.model_copy(update={"lr": 1.0})})
    with pytest.raises(UsageError, match=r"train\.lr"):
        train(other, corpus_folder, unbroken, resume=True)


def test_a_run_of_another_enumeration_is_refused_and_the_difference_shown(
    corpus_folder: Path, micro: Config, tmp_path: Path
) -> None:
    train(micro, corpus_folder, tmp_path)
    bundle = json.loads((tmp_path / "ontology.json").read_text())
    text = json.dumps(bundle).replace('"AFL"', '"AFlut"')
    (tmp_path / "ontology.json").write_text(text)
    described = json.loads((tmp_path / "config.json").read_text())
    described["ontology"] = ecg_ontology.load(tmp_path / "ontology.json").sha256
    (tmp_path / "config.json").write_text(json.dumps(described))
    with pytest.raises(CheckpointError, match="AFlut"):
        train(micro, corpus_folder, tmp_path, resume=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where it likes")
def test_an_unwritable_place_is_one_clear_error(corpus_folder: Path, micro: Config, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot be written"):
        train(micro, corpus_folder, tmp_path / "run")
