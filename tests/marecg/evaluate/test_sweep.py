"""Values of a recipe are varied: all combinations, or a search that an interruption doesn't change."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.marecg.evaluate.test_ablate import SMALL

from marecg.base.errors import ConfigError, InputError, UsageError
from marecg.corpus.prepare import prepare
from marecg.evaluate import sweep
from marecg.evaluate.ablate import ProbedRun
from marecg.evaluate.sweep import axis, grid, search
from marecg.recipes import Config, tiny
from marecg.synth import write_corpus
from marecg_cli.marecg import main


def test_every_combination_is_a_recipe_called_after_its_values():
    axes = [
        axis("gscl.sigma=0.5,1"),
        axis("gscl.rule=max-index,most-specific"),
        axis("train.betas=[0.9,0.95]"),
    ]
    made = grid(tiny(), axes)
    assert [config.name for config in made] == [
        f"tiny gscl.sigma={sigma} gscl.rule={rule} train.betas=[0.9, 0.95]"
        for sigma in ("0.5", "1")
        for rule in ("max-index", "most-specific")
    ]
    assert [config.gscl and config.gscl.sigma for config in made] == [0.5, 0.5, 1, 1]
    assert made[0].train.betas == (0.9, 0.95)


def test_an_objective_can_be_varied_away():
    without, with_it = grid(tiny(), [axis("jepa=null,{}")])
    assert (without.jepa, with_it.jepa is not None) == (None, True)


@pytest.mark.parametrize(
    ("text", "low", "high", "log"),
    [
        ("gscl.sigma=0.1..2", 0.1, 2.0, False),
        ("train.lr=1e-4..1e-2:log", 1e-4, 1e-2, True),
        ("model.depth=1..4", 1, 4, False),
    ],
)
def test_two_dots_make_a_range(text, low, high, log):
    found = axis(text)
    assert (found.choices, found.low, found.high, found.log) == ((), low, high, log)
    assert type(found.low) is type(low)
    with pytest.raises(UsageError, match="add --search N"):
        grid(tiny(), [found])


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("train.max_steps=10..1000:log", "IntDistribution(high=1000, log=True, low=10, step=1)"),
        ("model.depth=1..4", "IntDistribution(high=4, log=False, low=1, step=1)"),
        ("train.lr=1e-4..1e-2:log", "FloatDistribution(high=0.01, log=True, low=0.0001, step=None)"),
        ("gscl.sigma=0.1..2", "FloatDistribution(high=2.0, log=False, low=0.1, step=None)"),
    ],
)
def test_a_range_is_drawn_from_in_its_own_numbers_and_on_its_own_scale(text, drawn):
    pytest.importorskip("optuna")
    assert str(axis(text).distribution()) == drawn


@pytest.mark.parametrize(
    "text", ["gscl.sigma", "gscl.sigma=", "train.lr=2..1", "train.lr=0..1:log", "name=a..b"]
)
def test_what_is_no_axis_is_one_error(text):
    with pytest.raises(ConfigError, match=f"--vary {text}"):
        axis(text)


def test_an_unknown_key_or_an_impossible_value_is_named():
    for text, problem in (("gscl.sigam=1,2", "Did you mean gscl.sigma"), ("gscl.sigma=no,1", "valid number")):
        with pytest.raises(ConfigError, match=problem):
            grid(tiny(), [axis(text)])


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Callable[[Config], Any]:
    """Best at σ = 0.7, whatever else is said; a stand-in for training and probing."""
    pytest.importorskip("optuna")
    monkeypatch.setattr(sweep, "val_auc", lambda report: report)

    def run(config: Config) -> Any:
        assert config.gscl is not None
        auc: Any = 1 - (config.gscl.sigma - 0.7) ** 2
        return [ProbedRun(config.name, Path(config.name), auc)]

    return run


def test_a_search_finds_better_values_and_an_interruption_changes_nothing(measure, tmp_path):
    axes = [axis("gscl.sigma=0.1..2"), axis("gscl.rule=max-index,most-specific")]
    whole = search(tiny(), axes, 12, tmp_path / "whole", measure)
    assert len(whole) == 12
    assert whole[0][2] > 0.97
    assert [each[2] for each in whole] == sorted((each[2] for each in whole), reverse=True)

    calls = 0

    def interrupted(config: Config) -> Any:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return measure(config)

    with pytest.raises(KeyboardInterrupt):
        search(tiny(), axes, 12, tmp_path / "cut", interrupted)
    assert search(tiny(), axes, 12, tmp_path / "cut", measure) == whole


def test_a_search_is_judged_on_val_by_the_largest_share_of_what_the_report_is_about():
    shares = [
        ("encoder", 1.0, 0.8),
        ("encoder", 0.1, 0.9),
        ("encoder", 0.5, 0.7),
        ("hand-crafted", 1.0, 0.99),
    ]
    cells = [
        SimpleNamespace(method=method, fraction=share, val_macro_auc=SimpleNamespace(mean=auc))
        for method, share, auc in shares
    ]
    unchosen = SimpleNamespace(method="encoder", fraction=2.0, val_macro_auc=None)
    report: Any = SimpleNamespace(cells=[*cells, unchosen], reference="encoder", task="corpus")
    assert sweep.val_auc(report) == 0.8
    report.cells = [unchosen]
    with pytest.raises(InputError, match="nothing was chosen on val"):
        sweep.val_auc(report)


def test_a_search_of_something_else_is_refused(measure, tmp_path):
    search(tiny(), [axis("gscl.sigma=0.1..2")], 1, tmp_path, measure)
    with pytest.raises(UsageError, match="search of something else"):
        search(tiny(), [axis("gscl.sigma=0.1..3")], 1, tmp_path, measure)


def test_the_command_prints_a_row_per_combination_and_searches(tmp_path, capsys):
    write_corpus(tmp_path / "wfdb", 100, 3, diagnoses=("SBrad", "STach", "NSR"))
    prepare([tmp_path / "wfdb"], tmp_path / "corpus", jobs=1)

    def run(*more: str) -> Any:
        given = ["--data", "corpus", "--root", "corpus", "--task", "corpus", "--format", "json", "-q"]
        places = [
            str(tmp_path / each) if each == "corpus" and at in (1, 3) else each
            for at, each in enumerate(given)
        ]
        sizes = [word for each in SMALL for word in ("--set", each)]
        with pytest.raises(SystemExit) as ended:
            main(["ablate", *places, *sizes, *more])
        assert not ended.value.code
        return json.loads(capsys.readouterr().out)["cells"]

    rows = run("--vary", "gscl.sigma=0.5,2", "--out", str(tmp_path / "grid"))
    assert {row["group"] for row in rows} >= {"tiny gscl.sigma=0.5", "tiny gscl.sigma=2"}
    assert (tmp_path / "grid" / "tiny_gscl.sigma=2-seed0" / "probe" / "corpus-strict.json").exists()
    with pytest.raises(SystemExit):
        main(["table", *map(str, (tmp_path / "grid").glob("*-seed0")), "--no-published", "--format", "csv"])
    assert "tiny_gscl.sigma=2-seed0,encoder,corpus" in capsys.readouterr().out
    pytest.importorskip("optuna")
    found = run("--vary", "gscl.sigma=0.5..2", "--search", "1", "--out", str(tmp_path / "search"))
    assert sum(row["method"] == "encoder" for row in found) == 1
