"""A command goes on in the run folder that is its own, to the same bytes, and leaves any other alone."""

import json
import os
import shutil
import signal

import pytest
from tests.marecg.own_graphs import edited
from tests.marecg.train.runs import assert_resumes, files, killed, rows

import ecg_ontology
from ecg_records.storage.lock import locked
from ecg_synth import write_corpus
from marecg.corpus import index, trained_on
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import read_about
from marecg.errors import CheckpointError, CorpusError, OutputError, UsageError
from marecg.train.run import train


@pytest.mark.parametrize("after_step", [3, *(pytest.param(step, marks=pytest.mark.slow) for step in (1, 4))])
def test_killed_at_any_step_and_resumed_the_run_is_the_unbroken_one(pretrain, unbroken, tmp_path, after_step):
    assert killed(tmp_path / "run", after_step, pretrain) == -signal.SIGKILL
    assert len(rows(tmp_path / "run")) == after_step
    pretrain(tmp_path / "run", resume=True)
    assert files(tmp_path / "run") == files(unbroken)

    pretrain(tmp_path / "run", resume=True)
    assert files(tmp_path / "run") == files(unbroken), "nor does a finished one change"


@pytest.mark.parametrize("recipe", [pytest.param("tiny-c2p", marks=pytest.mark.slow), "tiny-c3"])
def test_every_recipe_resumes_exactly(corpus_folder, tmp_path, recipe):
    assert_resumes(recipe, corpus_folder, tmp_path)


def test_a_run_whose_settings_have_no_global_batch_goes_on(pretrain, unbroken, tmp_path):
    """Runs had these settings before recipes named their global batch."""
    run = shutil.copytree(unbroken, tmp_path / "run")
    described = json.loads((run / "config.json").read_text())
    train_settings = described["config"]["train"]
    del train_settings["global_batch_size"]
    train_settings |= {"accumulate": 2, "nodes": 1}
    (run / "config.json").write_text(json.dumps(described))
    (run / "checkpoints/step-00000006.ckpt").unlink()
    (run / "model/model.safetensors").unlink()
    pretrain(run, resume=True)
    assert files(run) == files(unbroken)
    with pytest.raises(UsageError, match=r"train\.global_batch_size=4, got 8"):
        pretrain(run, "train.global_batch_size=8")


def test_a_run_is_resumed_by_a_version_that_describes_losses_in_other_words(pretrain, unbroken, tmp_path):
    run = shutil.copytree(unbroken, tmp_path / "run")
    described = json.loads((run / "config.json").read_text())
    described["captions"] = dict.fromkeys(described["captions"], "a former description")
    (run / "config.json").write_text(json.dumps(described))
    pretrain(run, resume=True)


@pytest.mark.parametrize(
    ("settings", "resume", "problem"),
    [([], False, "already contains a run"), (["train.lr=1"], True, r"train\.lr")],
)
def test_a_run_is_not_begun_afresh_or_otherwise(pretrain, unbroken, tmp_path, settings, resume, problem):
    with pytest.raises(UsageError, match=problem):
        pretrain(unbroken, *settings, resume=resume)
    with pytest.raises(UsageError, match="no run to resume"):
        pretrain(tmp_path, resume=True)


def test_a_longer_run_is_asked_for_by_name_and_goes_on_by_its_own_schedule(pretrain, tmp_path, caplog):
    """From the checkpoint on, the learning rate is the longer run's; the refusal says both values."""
    pretrain(tmp_path / "run", "train.max_steps=4")
    before = files(tmp_path / "run")
    with pytest.raises(UsageError, match=r"was started with train\.max_steps=4, got 6\. Add --extend"):
        pretrain(tmp_path / "run", "train.max_steps=6")
    with pytest.raises(UsageError, match=r"was started with train\.lr="):
        pretrain(tmp_path / "run", "train.max_steps=6", "train.lr=1", extend=True)
    with pytest.raises(UsageError, match="has no run to extend"):
        pretrain(tmp_path / "none", "train.max_steps=6", extend=True)
    assert files(tmp_path / "run") == before
    pretrain(tmp_path / "run", "train.max_steps=6", extend=True)
    assert "extending the run from step 4 to 6; the learning rate continues at" in caplog.text
    pretrain(tmp_path / "whole", "train.max_steps=6")
    rates = [[row["lr"] for row in rows(tmp_path / run)] for run in ("run", "whole")]
    assert len(rates[0]) == 6
    assert rates[0][4:] == rates[1][4:]
    with pytest.raises(UsageError, match="must be extended to more than 6 steps, got 5"):
        pretrain(tmp_path / "run", "train.max_steps=5", extend=True)
    pretrain(tmp_path / "run", "train.max_steps=6")


def test_a_run_that_its_epochs_end_says_so_at_its_start(pretrain, tmp_path, caplog):
    done = pretrain(tmp_path / "run", "train.max_epochs=1", "train.warmup_epochs=0.1", "train.max_steps=90")
    assert done.steps < 90
    assert f"{done.steps} steps, because train.max_epochs=1 ends before train.max_steps=90" in caplog.text


def test_a_run_of_another_enumeration_or_with_changed_labels_is_not_resumed(pretrain, unbroken, tmp_path):
    run = shutil.copytree(unbroken, tmp_path / "run")
    edited(run / "ontology.json", "trial fibrillation", "trial flickering")
    with pytest.raises(CheckpointError, match="was changed after the run was started"):
        pretrain(run, resume=True)
    edited(run / "ontology.json", '"AFL"', '"AFlut"')
    described = json.loads((run / "config.json").read_text())
    described["ontology"] = ecg_ontology.load(run / "ontology.json").sha256
    (run / "config.json").write_text(json.dumps(described))
    with pytest.raises(CheckpointError, match="AFlut"):
        pretrain(run, resume=True)


def test_a_run_is_resumed_whose_ontology_has_a_field_of_another_version(pretrain, unbroken, tmp_path):
    run = shutil.copytree(unbroken, tmp_path / "run")
    edited(run / "ontology.json", '"concepts": [', '"field": "of another version", "concepts": [')
    described = json.loads((run / "config.json").read_text())
    described["bundle"] = json.loads((run / "ontology.json").read_text())["bundle_sha256"]
    (run / "config.json").write_text(json.dumps(described))
    pretrain(run, resume=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where it likes")
def test_an_unwritable_place_is_one_clear_error(pretrain, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot be written"):
        pretrain(tmp_path / "run")


def test_a_second_process_in_the_same_folder_is_refused(pretrain, unbroken):
    with locked(unbroken), pytest.raises(CorpusError, match="is being trained in by another process"):
        pretrain(unbroken)


def test_what_a_killed_process_left_half_written_goes(pretrain, unbroken, tmp_path):
    run = shutil.copytree(unbroken, tmp_path / "run")
    (run / "checkpoints/.step-00000006-0123abcd.unfinished").mkdir()
    (run / "checkpoints/.step-00000006-0123abcd.unfinished/step-00000006.ckpt").write_bytes(b"half")
    (run / ".model-0123abcd.unfinished/model").mkdir(parents=True)
    (run / ".mine").touch()
    pretrain(run)
    assert [path.name for path in run.rglob(".*")] == [".mine"]


def test_another_corpus_is_refused_and_what_the_run_was_trained_on_stays(pretrain, micro, unbroken, tmp_path):
    shutil.copytree(unbroken, tmp_path / "run")
    (tmp_path / "run/checkpoints/step-00000006.ckpt").unlink()
    write_corpus(tmp_path / "wfdb", 6, 9)
    prepare([tmp_path / "wfdb"], tmp_path / "other", jobs=1)
    before = (tmp_path / "run" / trained_on.FILE).read_bytes()
    with pytest.raises(CheckpointError, match=r"another corpus: 10 records, .*; got 6 records"):
        train(micro, tmp_path / "other", tmp_path / "run")
    assert (tmp_path / "run" / trained_on.FILE).read_bytes() == before
    pretrain(tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_a_corpus_of_other_labels_is_another_corpus(corpus_folder, micro, unbroken, tmp_path):
    shutil.copytree(corpus_folder, tmp_path / "corpus")
    rows = index.of(corpus_folder).to_pylist()
    rows[0] |= {"leaves": [], "primary": -1}
    index.complete(tmp_path / "corpus", read_about(corpus_folder), index.table(rows))
    with pytest.raises(CheckpointError, match="another corpus"):
        train(micro, tmp_path / "corpus", unbroken)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"config": {}}', '{"config": {"depth": 3}}'])
def test_a_damaged_description_is_one_clear_error(pretrain, tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        pretrain(tmp_path)
