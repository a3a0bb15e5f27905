"""`marecg train`, `recipes` and their refusals, as a user sees them."""

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.cli.calls import end, invoke

FEW = [f"--set={each}" for each in ("train.max_steps=1", "train.batch_size=2")]


def printed(*argv: object) -> str:
    """What a command prints that ends well."""
    code, out, err = invoke(*argv)
    assert code == 0, err
    return out


def test_recipes_show_every_value_with_its_source():
    shown = json.loads(printed("recipes", "--format", "json"))
    assert {"c1", "c2p", "c2", "c3", "tiny"} <= set(shown["recipes"])
    assert shown["recipes"]["c3"]["msps"]["lambda_rhythm"] == 0.2
    assert shown["sources"]["msps.lambda_rhythm"] == "paper, Notation values"
    lines = [line.strip() for line in printed("recipes", "c3").splitlines()]
    [sigma] = [line for line in lines if "gscl.sigma" in line]
    assert "paper, Tree-Distance Matrix" in sigma
    own, rest = (lines.index(title) for title in ("Different from c1", "Same as in c1"))
    assert own < lines.index(sigma) < rest, "what is other than in c1 comes first"


def test_the_recipes_are_readable_at_eighty_columns(monkeypatch):
    text = printed("recipes")
    assert "with regulariser, jepa, view, gscl, msps, mpct" in text
    assert text.count("model.width") == 3, "what those of a size share stands once: small, base, tiny"
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, (text + printed("recipes", "tiny-c3")).splitlines())) <= 80


def test_a_recipe_is_printed_as_the_file_that_train_reads(tmp_path):
    text = printed("recipes", "tiny-c3", "--format", "toml")
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    assert printed("recipes", tmp_path / "mine.toml", "--format", "toml") == text


def test_a_log_of_a_training_has_lines_and_no_bar(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("marecg.base.progress.PAUSE", 0.0)
    command = ("train", "--data", corpus, "--out", tmp_path / "run", *FEW, "--set=train.max_steps=2")
    code, _, log = invoke(*command)
    assert (code, "\r" in log) == (0, False)
    steps = [line for line in log.splitlines() if line.startswith("steps: ")]
    assert [line.split(",")[0] for line in steps] == ["steps: 1 of 2 (50 %)", "steps: 2 of 2 (100 %)"]
    assert all("records/s " in line and "loss " in line for line in steps)


def test_from_takes_recipe_and_model_from_the_weights_and_refuses_another_model(corpus, tmp_path):
    def training(out: str, *given: object) -> list[object]:
        return ["train", "--data", corpus, "--out", tmp_path / out, *FEW, *given]

    printed(*training("one", "--recipe", "tiny-c1", "--set=model.width=16", "--set=model.eta=0.2"))
    printed(*training("two", "--from", tmp_path / "one"))
    begun, on = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("one", "two"))
    assert begun["config"] == on["config"]
    code, line = end(*training("three", "--from", tmp_path / "one", "--set=model.width=32"))
    assert (code, "model.width must be 16, as in the weights, got 32" in line) == (2, True)
    assert not (tmp_path / "three").exists()


@pytest.mark.slow
def test_the_command_of_the_docs_goes_on_from_the_shipped_weights(corpus, tmp_path, monkeypatch):
    pytest.importorskip("marecg_small")
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^marecg (train --from .*)$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(corpus, "corpus")
    code, _, err = invoke(*command.split(), *FEW)
    assert (code, "does not list all records" in err) == (0, False)
    printed(*command.split(), *FEW, "--resume")
    noted = json.loads((tmp_path / "runs/c3/model/config.json").read_text())["provenance"]
    assert (noted["recipe"], noted["began_from"]["name"]) == ("small", "marecg-small")
    assert noted["sources"]["ptbxl"] == 2677
