"""`marecg train`, `recipes` and their refusals, as a user sees them."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.calls import run
from tests.cli.reached import reached

from marecg.corpus.prepared import Corpus
from marecg_cli.marecg import app as marecg


def test_recipes_show_every_value_with_its_source(capsys):
    assert run("recipes", "--format", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"c1", "c2p", "c2", "c3", "tiny"} <= set(shown["recipes"])
    assert shown["recipes"]["c3"]["msps"]["lambda_rhythm"] == 0.2
    assert shown["sources"]["msps.lambda_rhythm"] == "paper §sec:values"
    assert run("recipes", "c3") == 0
    lines = capsys.readouterr().out.splitlines()
    [sigma] = [line for line in lines if "gscl.sigma" in line]
    assert "paper §subsec:tree-distance" in sigma
    [own, rest] = [number for number, line in enumerate(lines) if "in c1" in line]
    assert own < lines.index(sigma) < rest, "what is other than in c1 comes first"


def test_the_recipes_are_readable_at_eighty_columns(capsys, monkeypatch):
    assert run("recipes") == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert "with regulariser, jepa, view, gscl, msps, mpct" in said
    assert said.count("model.width") == 3, "what those of a size share is said once: small, base, tiny"
    monkeypatch.setenv("COLUMNS", "80")
    assert run("recipes", "tiny-c3") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_recipe_is_printed_as_the_file_that_train_reads(tmp_path, capsys):
    assert run("recipes", "tiny-c3", "--format", "toml") == 0
    said = capsys.readouterr().out
    (tmp_path / "mine.toml").write_text(said, encoding="utf-8")
    assert run("recipes", tmp_path / "mine.toml", "--format", "toml") == 0
    assert capsys.readouterr().out == said


def test_a_log_of_a_training_has_lines_and_no_bar(corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("marecg.base.progress.PAUSE", 0.0)
    given = [f"--set={each}" for each in ("train.max_steps=2", "train.batch_size=2")]
    assert run("train", "--data", corpus, "--out", tmp_path / "run", *given) == 0
    lines = capsys.readouterr().err.splitlines()
    steps = [line for line in lines if line.startswith("steps: ")]
    assert [line.split(",")[0] for line in steps] == ["steps: 1 of 2 (50 %)", "steps: 2 of 2 (100 %)"]
    assert all("records/s " in line and "loss " in line for line in steps)
    assert "\r" not in "".join(lines)


def test_from_takes_recipe_and_model_from_the_weights_and_refuses_another_model_in_one_line(
    corpus, tmp_path, capsys
):
    def trained(out: str, *given: object) -> int:
        few = ("train.max_steps=1", "train.batch_size=2")
        sets = [f"--set={each}" for each in few]
        return run("train", "--data", corpus, "--out", tmp_path / out, *sets, *given)

    assert trained("one", "--recipe", "tiny-c1", "--set=model.width=16", "--set=model.eta=0.2") == 0
    assert trained("two", "--from", tmp_path / "one") == 0
    begun, on = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("one", "two"))
    assert begun["config"] == on["config"]
    capsys.readouterr()
    assert trained("three", "--from", tmp_path / "one", "--set=model.width=32") == 2
    message = capsys.readouterr().err
    assert "model.width is 32, that of the weights 16" in message
    assert message.count("\n") == 1
    assert trained("three", "--from", tmp_path / "nowhere") == 3
    assert "nowhere: is not a folder" in capsys.readouterr().err
    assert trained("three", "--from", "marecg-small-of-nobody") == 3
    assert not (tmp_path / "three").exists()


def test_the_command_of_the_docs_goes_on_from_the_shipped_weights(corpus, tmp_path, capsys, monkeypatch):
    pytest.importorskip("marecg_small")
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^marecg (train --from .*)$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(corpus, "corpus")
    few = [f"--set={each}" for each in ("train.max_steps=1", "train.batch_size=2")]
    assert run(*command.split(), *few) == 0
    assert "does not list all records" not in capsys.readouterr().err
    assert run(*command.split(), *few, "--resume") == 0
    noted = json.loads((tmp_path / "runs/c3/model/config.json").read_text())["provenance"]
    assert (noted["recipe"], noted["began_from"]["name"]) == ("small", "marecg-small")
    assert noted["sources"]["ptbxl"] == 2677


@pytest.mark.parametrize(("difference", "code"), [(1e-6, 0), (2e-4, 1)])
def test_shipped_texts_that_differ_from_fresh_ones_end_with_1(difference, code, monkeypatch, capsys):
    monkeypatch.setattr("marecg.objectives.concept_text.check", lambda ontology: difference)
    assert run("texts", "--check") == code
    assert f"embeddings: {difference:.1e}" in capsys.readouterr().out


def test_a_corpus_concept_texts_go_into_it_or_where_they_are_asked(tmp_path, monkeypatch):
    (tmp_path / "corpus.json").touch()
    monkeypatch.setattr(Corpus, "open", lambda folder: SimpleNamespace(ontology=lambda: "its graph"))
    for words, place in (("", tmp_path / "concept_text.safetensors"), (" --out x", Path("x"))):
        line = f"texts --ontology {tmp_path}{words}"
        found = reached(monkeypatch, marecg, line, "marecg.objectives.concept_text.write")
        assert (found["ontology"], found["path"]) == ("its graph", place)
