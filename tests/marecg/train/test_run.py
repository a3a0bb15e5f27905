"""Training: exact resume, skipped steps, run folders."""

import csv
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.fabric.plugins import TorchCheckpointIO

import ecg_ontology
from marecg.corpus import index, trained_on
from marecg.corpus.batches import Batch
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError, CorpusError, DivergedError, OutputError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.objectives.jepa import Jepa
from marecg.overrides import override
from marecg.recipes import Config, by_name
from marecg.train.callbacks import Metrics
from marecg.train.network import Network, Outcome
from marecg.train.run import _network, train

SMALL = [
    "model.width=16",
    "model.depth=1",
    "model.heads=2",
    "train.batch_size=3",
    "train.max_steps=4",
    "train.checkpoint_every=2",
]

KILLED = """
import os, signal, sys
from marecg.train.callbacks import Metrics
from marecg.recipes import Config
from marecg.train.run import train

written = Metrics.after_step

def dies_after_writing(self, trainer, module, batch):
    written(self, trainer, module, batch)
    if trainer.global_step == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)

Metrics.after_step = dies_after_writing
train(Config.model_validate_json(sys.argv[1]), sys.argv[2], sys.argv[3])
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
    assert Config.model_validate(
        json.loads((unbroken / "config.json").read_text())["config"]
    ) == micro.of_ontology(ecg_ontology.load())
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
    arguments = [micro.model_dump_json(), str(corpus_folder), str(tmp_path / "run"), str(after_step)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(rows(tmp_path / "run")) == after_step
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


def test_over_a_run_msps_rises_and_the_slow_encoder_follows_step_by_step(
    corpus_folder: Path, micro: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: list[tuple[int, int, torch.Tensor]] = []
    after_step = Jepa.after_step

    def spy(self: Jepa, model: MarEcg, step: int, total_steps: int) -> None:
        followed.append((step, total_steps, model.encoder.norm.weight.detach().clone()))
        after_step(self, model, step, total_steps)

    monkeypatch.setattr(Jepa, "after_step", spy)
    sizes = ["jepa.width=8", "jepa.depth=1", "jepa.heads=1", "msps.hidden=8", "gscl=null"]
    config = override(micro, [*sizes, "train.max_steps=8", "train.max_epochs=8", "train.warmup_epochs=1"])
    train(config, corpus_folder, tmp_path)
    assert [(step, total) for step, total, _ in followed] == [(step, 8) for step in range(8)]
    weights = [torch.ones_like(followed[0][2]), *(weight for _, _, weight in followed)]  # ones at first
    assert not any(torch.equal(one, other) for one, other in pairwise(weights))
    for step, row in enumerate(rows(tmp_path)):  # a step is an epoch here
        loss = {name: float(value) for name, value in row.items()}
        msps = 0.2 * (loss["alt"] + loss["rate"] + 0.5 * loss["mrr"] + 0.5 * loss["cv"])
        msps += 0.1 * (loss["seq"] + loss["phase"])
        rest = loss["recon"] + loss["mask"] + 0.15 * loss["jepa"]
        assert loss["loss"] == pytest.approx(rest + min(1, step / 5) * msps, rel=1e-6)


def poison(monkeypatch: pytest.MonkeyPatch, numbers: range) -> list[torch.Tensor]:
    """Make the masked loss NaN in these micro-batches; return what the decoder was at each of them all."""
    forward = Network.forward
    weights: list[torch.Tensor] = []

    def poisoned(self: Network, batch: Batch, *args: Any) -> Outcome:
        weights.append(self.objectives["ar"].decoder.to_signal.weight.detach().clone())
        outcome = forward(self, batch, *args)
        if batch.number in numbers:
            named = {**outcome.named, "mask": outcome.named["mask"] * torch.nan}
            return outcome._replace(loss=outcome.loss * torch.nan, named=named)
        return outcome

    monkeypatch.setattr(Network, "forward", poisoned)
    return weights


def test_a_step_with_gradients_that_are_not_finite_is_skipped_and_counted(
    corpus_folder: Path, micro: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = poison(monkeypatch, range(3, 4))
    run = train(micro, corpus_folder, tmp_path)
    assert (run.steps, run.skipped_steps) == (6, 1)
    # micro-batches 2 and 3 are step 2: it moves nothing, step 3 goes on
    assert torch.equal(weights[4], weights[2])
    assert not torch.equal(weights[6], weights[4])
    assert all(weight.isfinite().all() for weight in weights)


def test_ten_such_steps_in_a_row_end_the_run_and_name_the_loss_and_the_records(
    corpus_folder: Path, micro: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(monkeypatch, range(2, 1000))
    config = override(micro, ["train.max_steps=20"])
    with pytest.raises(
        DivergedError, match=r"step 11: 10 steps in a row .* \(loss mask; records \S+"
    ) as error:
        train(config, corpus_folder, tmp_path)
    ids = Corpus.open(corpus_folder).ids
    assert any(record in str(error.value) for record in ids)


def test_an_epoch_is_over_when_all_processes_together_have_seen_the_corpus(tmp_path: Path) -> None:
    """Two processes see 10 micro-batches in 5 turns; of a step's two the mean loss is written."""
    trainer: Any = SimpleNamespace(
        global_step=1,
        world_size=2,
        is_global_zero=True,
        accumulate_grad_batches=2,
        strategy=SimpleNamespace(reduce=lambda losses, reduce_op: losses),
    )
    metrics = Metrics(tmp_path / "metrics.csv", 10.0)
    for loss in (1.0, 2.0):
        metrics.after_batch(trainer, {"loss": torch.tensor(loss / 2), "recon": torch.tensor(loss)})
    metrics.after_step(trainer, trainer, SimpleNamespace(number=4))
    assert metrics.latest == {"step": 1, "epoch": 1.0, "loss": 1.5, "lr": 0.0, "recon": 1.5}


def test_the_monitors_are_written_at_the_steps_that_were_looked_at(
    corpus_folder: Path, micro: Config, tmp_path: Path
) -> None:
    train(override(micro, ["train.monitor_every=3"]), corpus_folder, tmp_path)
    with (tmp_path / "monitors.csv").open(newline="") as file:
        looks = list(csv.DictReader(file))
    assert [look["step"] for look in looks] == ["3", "6"]
    assert list(looks[0]) == ["step", "std", "rank", "entropy", "grad_recon", "grad_mask", "grad_gscl"]
    assert all(float(look[name]) > 0 for look in looks for name in look)


@pytest.mark.parametrize("recipe", ["tiny-c2p", "tiny-c3"])
def test_every_recipe_resumes_exactly(corpus_folder: Path, tmp_path: Path, recipe: str) -> None:
    config = override(by_name(recipe), SMALL)
    train(config, corpus_folder, tmp_path / "unbroken")
    train(config, corpus_folder, tmp_path / "resumed")
    newest = tmp_path / "resumed" / "checkpoints" / "step-00000004.ckpt"
    newest.unlink()
    train(config, corpus_folder, tmp_path / "resumed", resume=True)
    assert rows(tmp_path / "resumed") == rows(tmp_path / "unbroken")
    assert (tmp_path / "resumed/model/model.safetensors").read_bytes() == (
        tmp_path / "unbroken/model/model.safetensors"
    ).read_bytes()


def test_recomputing_activations_changes_no_loss(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path
) -> None:
    train(override(micro, ["train.checkpoint_activations=true"]), corpus_folder, tmp_path)
    assert rows(tmp_path) == rows(unbroken)


def test_a_full_disk_leaves_the_last_good_checkpoint(
    corpus_folder: Path, micro: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = TorchCheckpointIO.save_checkpoint

    def full(self: TorchCheckpointIO, checkpoint: dict[str, Any], path: Path) -> None:
        if checkpoint["global_step"] > 2:
            Path(path).write_bytes(b"half a checkpoint")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(self, checkpoint, path)

    monkeypatch.setattr(TorchCheckpointIO, "save_checkpoint", full)
    with pytest.raises(OutputError, match="No space left"):
        train(micro, corpus_folder, tmp_path)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000002.ckpt"]


def test_training_goes_on_while_a_slow_disk_takes_the_state_that_was(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = TorchCheckpointIO.save_checkpoint

    def slow(self: TorchCheckpointIO, checkpoint: dict[str, Any], path: Path) -> None:
        last, patience = checkpoint["global_step"] == 6, time.monotonic() + 60
        while not last and len(rows(tmp_path)) == checkpoint["global_step"]:
            assert time.monotonic() < patience, "no further step was taken"
            time.sleep(0.01)
        save(self, checkpoint, path)

    monkeypatch.setattr(TorchCheckpointIO, "save_checkpoint", slow)
    train(micro, corpus_folder, tmp_path)
    assert rows(tmp_path) == rows(unbroken)
    (tmp_path / "checkpoints/step-00000006.ckpt").unlink()
    shutil.rmtree(tmp_path / "model")
    train(micro, corpus_folder, tmp_path, resume=True)
    assert rows(tmp_path) == rows(unbroken), "from the state after step 4, whatever came while it was written"
    exported = [(run / "model/model.safetensors").read_bytes() for run in (tmp_path, unbroken)]
    assert exported[0] == exported[1]


def test_progress_tells_records_per_second_and_the_share_of_the_time_that_data_take(
    corpus_folder: Path, micro: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(micro, corpus_folder, tmp_path / "run")
    last = [line for line in capsys.readouterr().err.splitlines() if "records/s" in line][-1]
    rate, share = (re.search(pattern, last) for pattern in (r"records/s=([\d.]+)", r"data=([\d.]+)%"))
    assert rate is not None
    assert share is not None
    assert float(rate[1]) > 0
    assert 0 < float(share[1]) < 100


def test_a_run_is_not_overwritten_by_one_that_is_to_be_fresh(
    corpus_folder: Path, micro: Config, unbroken: Path
) -> None:
    with pytest.raises(UsageError, match="holds a run already"):
        train(micro, corpus_folder, unbroken, resume=False)


def test_a_corpus_of_another_window_is_refused(corpus_folder: Path, micro: Config, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"window 4700, the recipe has data\.window 4500"):
        train(override(micro, ["data.window=4500"]), corpus_folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()


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
    del bundle["bundle_sha256"]
    text = json.dumps(bundle).replace('"AFL"', '"AFlut"')
    (tmp_path / "ontology.json").write_text(text)
    described = json.loads((tmp_path / "config.json").read_text())
    described["ontology"] = ecg_ontology.load(tmp_path / "ontology.json").sha256
    (tmp_path / "config.json").write_text(json.dumps(described))
    with pytest.raises(CheckpointError, match="AFlut"):
        train(micro, corpus_folder, tmp_path, resume=True)


def test_a_run_whose_labels_were_changed_is_not_resumed_and_one_that_noted_none_is(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(unbroken, tmp_path / "run")
    bundle = json.loads((run / "ontology.json").read_text().replace("trial fibrillation", "trial flickering"))
    del bundle["bundle_sha256"]
    (run / "ontology.json").write_text(json.dumps(bundle))
    with pytest.raises(CheckpointError, match="was changed since the run was begun"):
        train(micro, corpus_folder, run, resume=True)
    described = json.loads((run / "config.json").read_text())
    del described["bundle"]
    (run / "config.json").write_text(json.dumps(described))
    train(micro, corpus_folder, run, resume=True)


def test_where_stderr_cannot_be_written_the_bar_ends_and_the_training_goes_on(
    corpus_folder: Path,
    micro: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8", buffering=1) as full:
        monkeypatch.setattr("marecg.train.callbacks.sys.stderr", full)
        train(micro, corpus_folder, tmp_path / "run")
        monkeypatch.undo()
        with suppress(OSError):
            full.close()
    assert [message for message in caplog.messages if "progress bar" in message] == [
        "the progress bar ends: stderr can't be written (No space left on device)"
    ]
    assert len(rows(tmp_path / "run")) == 6


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where it likes")
def test_an_unwritable_place_is_one_clear_error(corpus_folder: Path, micro: Config, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot be written"):
        train(micro, corpus_folder, tmp_path / "run")


def test_a_corpus_with_evaluation_records_is_warned_of_and_remembered(
    corpus_folder: Path, micro: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "corpus"
    shutil.copytree(corpus_folder, data)
    rows = index.read(data / "index.parquet").to_pylist()
    for number, row in enumerate(rows):
        row |= {"source": "ptb-xl", "id": f"HR{number:05d}"}
    index.write(index.table(rows), data / "index.parquet")
    train(override(micro, ["train.max_steps=1"]), data, tmp_path / "leaking")
    assert "10 records of PTB-XL" in caplog.text
    kept = trained_on.read(tmp_path / "leaking")
    assert kept is not None
    assert "ptbxl/00003" in kept.identities
    caplog.clear()
    train(override(micro, ["train.max_steps=1"]), corpus_folder, tmp_path / "clean")
    assert "PTB-XL" not in caplog.text


def test_what_is_exported_is_the_average_of_the_weights_where_one_is_kept(
    micro: Config, corpus_folder: Path, tmp_path: Path
) -> None:
    exported = {}
    for average in (0.0, 0.9):
        config = override(micro, [f"train.average={average}"])
        train(config, corpus_folder, tmp_path / str(average))
        exported[average] = MarEcg.from_pretrained(tmp_path / str(average))
    for name in ("metrics.csv",):
        last, averaged = ((tmp_path / str(average) / name).read_text() for average in exported)
        assert last == averaged
    last, averaged = (model.encoder.state_dict() for model in exported.values())
    assert not torch.equal(last["norm.weight"], averaged["norm.weight"])
    start = torch.ones_like(last["norm.weight"])
    assert (averaged["norm.weight"] - start).norm() < (last["norm.weight"] - start).norm()


def test_the_average_of_the_weights_forgets_where_they_began(
    micro: Config, corpus_folder: Path, tmp_path: Path
) -> None:
    """After one step it is the weights themselves, whatever its momentum will be."""
    moved = []
    for average in (0.0, 0.9):
        config = override(micro, [f"train.average={average}", "train.max_steps=1"])
        train(config, corpus_folder, tmp_path / str(average))
        norm = MarEcg.from_pretrained(tmp_path / str(average)).encoder.state_dict()["norm.weight"]
        moved.append(norm - 1)
    assert moved[0].any()
    assert torch.equal(moved[0], moved[1])


def test_a_resumed_run_goes_on_counting_what_was_skipped(
    corpus_folder: Path, micro: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(monkeypatch, range(3, 4))
    train(micro, corpus_folder, tmp_path)
    (tmp_path / "checkpoints/step-00000006.ckpt").unlink()
    assert train(micro, corpus_folder, tmp_path).skipped_steps == 1


def test_a_run_whose_records_all_look_alike_is_said_to_have_collapsed(
    corpus_folder: Path,
    micro: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name, rank in (("sound", 2.5), ("fallen", 1.5)):
        monkeypatch.setattr("marecg.train.lightning_module.monitor", lambda _, rank=rank: {"rank": rank})
        train(override(micro, ["train.max_steps=1"]), corpus_folder, tmp_path / name)
    [told] = [message for message in caplog.messages if "collapsed" in message]
    assert "fallen: the run has collapsed: h_rhythm has an effective rank of 1.5, below 2" in told


def test_a_network_comes_from_its_seed_and_leaves_torch_s_own_draws_alone(
    micro: Config, tmp_path: Path
) -> None:
    states = []
    for seed in (5, 6):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        network = _network(micro, ecg_ontology.load(), tmp_path, None)
        assert torch.equal(torch.get_rng_state(), before)
        states.append(network.state_dict())
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


def relabelled(corpus_folder: Path, data: Path, **change: Any) -> Path:
    """A copy of the corpus with every row of its index changed."""
    shutil.copytree(corpus_folder, data)
    rows = [row | change for row in index.read(data / "index.parquet").to_pylist()]
    index.write(index.table(rows), data / "index.parquet")
    return data


def test_concepts_are_not_taught_where_no_record_has_one(
    corpus_folder: Path, micro: Config, tmp_path: Path
) -> None:
    data = relabelled(corpus_folder, tmp_path / "corpus", leaves=[], primary=-1)
    unread = override(
        micro, [f"sampling.without_codes={json.dumps(sorted(set(Corpus.open(corpus_folder).sources)))}"]
    )
    for config, folder in ((micro, data), (unread, corpus_folder)):
        with pytest.raises(
            CorpusError, match=r"no record has a code .* for gscl to learn from.* --set gscl=null"
        ):
            train(config, folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    train(override(micro, ["gscl=null", "train.max_steps=1"]), data, tmp_path / "run")


@pytest.mark.parametrize("recipe", ["tiny-supervised", "tiny-labels"])
def test_labels_are_not_taught_where_no_record_has_one(
    corpus_folder: Path, tmp_path: Path, recipe: str
) -> None:
    data = relabelled(corpus_folder, tmp_path / "corpus", leaves=[], primary=-1)
    with pytest.raises(CorpusError, match=r"no record has a code .* for labels to learn from"):
        train(override(by_name(recipe), SMALL), data, tmp_path / "run")


def test_a_model_names_no_folder_of_the_users_and_counts_the_records_of_each_concept(
    corpus_folder: Path, micro: Config, tmp_path: Path
) -> None:
    data = relabelled(corpus_folder, tmp_path / "corpus", source="DOE^JOHN_19701231 1")
    train(override(micro, ["train.max_steps=1"]), data, tmp_path / "run")
    for path in (tmp_path / "run/model").iterdir():
        assert b"DOE" not in path.read_bytes()
    about = MarEcg.from_pretrained(tmp_path / "run").provenance
    assert about is not None
    assert (about.sources, about.others) == ({}, 10)
    assert about.support is not None
    y = Corpus.open(corpus_folder).y
    nodes = ecg_ontology.load().nodes
    assert about.support == {node.abbr: int(y[:, node.index].sum()) for node in nodes if not node.root}


def test_a_model_says_the_licence_of_what_taught_it_and_whose_codes_were_read(
    corpus_folder: Path, micro: Config, tmp_path: Path
) -> None:
    data = relabelled(corpus_folder, tmp_path / "corpus", source="georgia")
    for without, folder in ((["georgia"], "unread"), ([], "read")):
        config = override(
            micro, [f"sampling.without_codes={json.dumps(without)}", "train.max_steps=1", "gscl=null"]
        )
        train(config, data, tmp_path / folder)
        about = MarEcg.from_pretrained(tmp_path / folder).provenance
        assert about is not None
        assert about.origins["georgia"].startswith("CC BY 4.0, https://physionet.org/content/challenge-2021")
        assert about.without_codes == tuple(without)
        card = (tmp_path / folder / "model" / "README.md").read_text(encoding="utf-8")
        read = "no" if without else "yes"
        assert f"| georgia | 10 | {about.origins['georgia']} | {read} |" in card


def test_the_gradients_norm_is_clipped(
    corpus_folder: Path, micro: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    norms: list[float] = []
    step = torch.optim.AdamW.step

    def spy(self: torch.optim.AdamW, closure: Any = None) -> Any:
        def computed() -> Any:
            loss = closure()
            grads = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
            norms.append(float(torch.linalg.vector_norm(torch.stack([grad.norm() for grad in grads]))))
            return loss

        return step(self, computed)

    monkeypatch.setattr(torch.optim.AdamW, "step", spy)
    train(override(micro, ["train.clip=0.01", "train.max_steps=2"]), corpus_folder, tmp_path)
    assert norms == pytest.approx([0.01, 0.01], rel=1e-3)
