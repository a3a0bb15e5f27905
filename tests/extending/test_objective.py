"""The objective of docs/extending.md, from a file outside the package: trained, gone on with, probed."""

import json
import re
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.cli.calls import end, invoke
from tests.cli.calls import run as run_command
from tests.extending.examples import example
from tests.installed import install
from tests.marecg.train.runs import rows

from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.objectives import registry
from marecg.recipes import Config, by_name, c1
from marecg.recipes.overrides import override
from marecg.report.demo import DIAGNOSES
from marecg.report.run_page import write_report

VALUES = ("max_steps=2", "batch_size=4", "global_batch_size=4", "monitor_every=1")
SMALL = [
    *(f"--set=train.{value}" for value in VALUES),
    *("--set", "model.width=16", "--set", "model.depth=1", "--set", "model.heads=2"),
]


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's example, saved as it says."""
    path = tmp_path_factory.mktemp("mine") / "mine.py"
    path.write_text(example("mine.py"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder / "wfdb", 60, 4, diagnoses=DIAGNOSES)
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return folder / "prepared"


def test_an_objective_of_ones_own_is_trained_and_probed_by_the_command_line(mine, corpus, tmp_path):
    run = tmp_path / "run"
    command = ["train", "--recipe", f"{mine}:recipe", "--data", corpus, "--out", run, *SMALL]
    assert run_command(*command, "--set", "length.weight=0.2") == 0
    gscl_weight = 2.0
    for row in rows(run):
        value = {name: float(text) for name, text in row.items()}
        terms = value["recon"] + value["mask"] + gscl_weight * value["gscl"] + 0.2 * value["length"]
        assert value["loss"] == pytest.approx(terms, rel=1e-5)
        assert value["length"] > 0
    about = json.loads((run / "config.json").read_text())
    assert about["config"]["length"] == {"weight": 0.2, "ramp_epochs": 0.0}
    assert about["captions"]["length"] == "share of the context that the record fills"
    assert run_command(*command, "--set", "length.weight=0.2") == 0  # goes on: it is complete
    few = "without=encoder, wide;random encoder;hand-crafted"
    probe = ["probe", run, "--task", "corpus", "--root", corpus, "--fraction", "1.0", "--set", few]
    assert run_command(*probe, "--format", "json") == 0
    page = write_report(run)
    assert "length: share of the context that the record fills" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("read", "declared", "undeclared"),
    [("rhythm_BD", "", "pool"), ("concept_BK[:, :1].expand(-1, 16)", '"pool"', "to_concepts")],
)
def test_a_part_that_is_read_and_not_declared_stops_the_training(
    mine, corpus, tmp_path, read, declared, undeclared
):
    path = tmp_path / "undeclared.py"
    text = mine.read_text(encoding="utf-8").replace('frozenset({"pool"})', f"frozenset({{{declared}}})")
    path.write_text(text.replace("seen.rhythm_BD", f"seen.{read}"), encoding="utf-8")
    command = ["train", "--recipe", f"{path}:recipe", "--data", corpus, "--out", tmp_path / "run", *SMALL]
    code, _, messages = invoke(*command, "--set", "gscl=null")
    assert code == 2
    assert (
        f"Length uses the model's {undeclared}, which isn't trained because Length doesn't declare it"
        in messages
    )
    assert f'Add "{undeclared}" to Length.reaches' in messages


def test_an_augmentation_of_ones_own_is_what_the_second_look_shows(corpus, tmp_path, monkeypatch):
    path = tmp_path / "noisy.py"
    path.write_text(example("noisy.py"), encoding="utf-8")
    run = tmp_path / "run"
    recipe = by_name(f"{path}:recipe")
    assert recipe.step_flops() > override(recipe, ["same=null"]).step_flops()
    module = sys.modules[type(recipe.objectives["same"]).__module__]
    noisy = Mock(wraps=module.noisy)
    monkeypatch.setattr(module, "noisy", noisy)
    assert run_command("train", "--recipe", f"{path}:recipe", "--data", corpus, "--out", run, *SMALL) == 0
    assert noisy.call_count == 2, "once a step"
    assert all(0 < float(row["same"]) < 2 for row in rows(run))
    assert all(float(row["grad_same"]) > 0 for row in rows(run, "monitors.csv"))


def test_set_reaches_its_values_and_takes_it_out(mine):
    recipe = by_name(f"{mine}:recipe")
    assert list(recipe.objectives) == ["ar", "gscl", "length"]
    assert override(recipe, ["length.ramp_epochs=3"]).objectives["length"].ramp_epochs == 3
    assert list(override(recipe, ["length=null"]).objectives) == ["ar", "gscl"]
    for wrong, problem in (
        ("length.width=3", "length.weight"),
        ("length.weight=-1", "length.weight must be greater than"),
    ):
        with pytest.raises(ValueError, match=re.escape(problem)):
            override(recipe, [wrong])


def test_an_installed_objective_can_be_set_in_any_recipe(tmp_path, monkeypatch):
    points = "[marecg.objectives]\nlength = outside_length:LengthConfig\n"
    install(tmp_path / "site", monkeypatch, points, module="outside_length", text=example("mine.py"))
    registry.installed.cache_clear()
    length = override(c1(), ["length.weight=0.5"]).objectives["length"]
    assert (type(length).__module__, length.weight) == ("outside_length", 0.5)
    monkeypatch.undo()
    registry.installed.cache_clear()
    assert "length" not in registry.installed()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def recipe(: pass", "can't be run (SyntaxError"),
        ("def recipe():\n    raise KeyError('x')", "fails (KeyError"),
        ("recipe = 3", "isn't a recipe"),
        ("def recipe():\n    return 3", "returns int, not a Config"),
        (None, "can't be run (FileNotFoundError"),
    ],
)
def test_a_file_that_gives_no_recipe_is_one_clear_error(text, problem, tmp_path):
    path = tmp_path / "bad.py"
    if text is not None:
        path.write_text(text)
    code, message = end("train", "--recipe", f"{path}:recipe", "--data", tmp_path, "--out", tmp_path / "run")
    assert (code, problem in message) == (2, True)


def test_two_losses_of_one_name_are_refused(mine):
    length = by_name(f"{mine}:recipe").objectives["length"]
    with pytest.raises(ValueError, match=r"loss names must be unique .* got 'length' twice"):
        c1().derived(one=length, other=length)


def test_a_run_of_an_objective_that_is_not_installed_can_still_be_read(mine):
    stored = by_name(f"{mine}:recipe").model_dump(mode="json")
    with pytest.raises(ValueError, match="unknown setting or objective 'length'"):
        Config.model_validate(stored)
    assert Config.model_validate(stored, context={"elsewhere": True}).model_dump(mode="json") == stored
