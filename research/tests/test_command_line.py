"""The command line of the experiments: what is asked reaches `ablate`, and what it prints."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from ecg_base import EcgError
from marecg.evaluate.request import Request
from marecg.evaluate.scores.summary import WIDE
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Folds
from marecg_research import __main__ as command_line
from marecg_research import ablate as ablation
from marecg_research.leaderboard import heads_and_lines

BETTER = {"task": "ptbxl-super", "fraction": 0.1, "mean": 0.03, "low": 0.01, "high": 0.05, "p": 0.01}
BESIDE_ZERO = {**BETTER, "fraction": 1.0, "mean": 0.01, "low": 0.0, "high": 0.02, "p": 0.1}
FIRST: dict[str, Any] = {
    **{"recipe": "c1", "equal": "records", "runs": 2, "rank": 9.5, "leaked": False},
    **{"records": 9600, "flops": 4 * 10**12, "seconds": 80.0},
    **{"means": {0.1: 70.0, 1.0: 80.0}, "versus_first": []},
}
SECOND = FIRST | {
    **{"recipe": "c2", "rank": 1.5, "leaked": True, "flops": 9 * 10**12, "seconds": None},
    **{"means": {0.1: 73.0, 1.0: 81.0}, "versus_first": [BETTER, BESIDE_ZERO]},
}
CUT = SECOND | {"equal": "flops", "rank": 8.0, "records": 4200, "means": {0.1: 72.0, 1.0: 80.5}}


def test_equal_records_and_equal_flops_stand_side_by_side_with_costs_and_what_is_told_apart():
    heads, lines = heads_and_lines([FIRST, SECOND, CUT])
    assert heads[2:6] == [f"{at}, equal {what}" for at in ("10%", "100%") for what in ("records", "FLOPs")]
    assert lines == [
        ["c1", "2", "70.0", "–", "80.0", "–", "–", "4,800", "2.00", "40", "9.5"],
        ["c2† (collapsed)", "2", "73.0", "72.0", "81.0", "80.5", "1 / 0 of 2", "4,800", "4.50", "–", "1.5"],
    ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """`ablate`, which is called and trains nothing."""
    ablate = Mock(return_value=[])
    monkeypatch.setattr(ablation, "ablate", ablate)
    monkeypatch.setattr(command_line, "print_ablation", Mock())
    return ablate


def run(line: str) -> None:
    CliRunner().invoke(command_line.app, line.split(), catch_exceptions=False)


def test_every_option_of_an_ablation_reaches_it(asked):
    run(
        "ablate tiny tiny-c1 --data c --out x --root r --seeds 3 --equal flops --equal records --records 50 "
        "--fraction 0.5 --draws 4 --folds 1-5,6,7 --folds 5-8,1,2 --resamples 60 --readout wide "
        "--splits s --without hand-crafted --set train.lr=0.5 --jobs 2 --log wandb"
    )
    recipes, data, out = asked.call_args.args
    assert (recipes, data, out) == (["tiny", "tiny-c1"], Path("c"), Path("x"))
    folds = (Folds.of("1-5,6,7"), Folds.of("5-8,1,2"))
    request = Request((0.5,), 4, splits=Path("s"), readout="wide", folds=folds, resamples=60)
    assert asked.call_args.kwargs == {
        **{"seeds": 3, "jobs": 2, "equal": ["flops", "records"], "records": 50},
        **{"tasks": {task_named("ptbxl-super"): Path("r")}, "settings": ["train.lr=0.5"]},
        **{"loggers": ["wandb"], "request": replace(request, without=("hand-crafted",))},
    }


def test_a_value_that_is_set_is_in_each_variation(asked):
    run("ablate --vary gscl.sigma=1,2 --data c --out x --root r --task cpsc2018 --set train.lr=0.5")
    assert [(recipe.gscl.sigma, recipe.train.lr) for recipe in asked.call_args.args[0]] == [
        (1, 0.5),
        (2, 0.5),
    ]
    assert asked.call_args.kwargs["tasks"] == {task_named("cpsc2018"): Path("r")}


@pytest.mark.parametrize(("readout", "wide"), [("rhythm", False), ("wide", True), ("beats", True)])
def test_the_readout_that_is_asked_for_is_probed_and_compared(asked, readout, wide):
    run(f"ablate --data c --out x --root r --readout {readout}")
    request = asked.call_args.kwargs["request"]
    assert request.readout == readout
    assert command_line.print_ablation.call_args.args[2] == wide
    assert request.without == (() if wide else (WIDE,))


def test_an_error_of_the_input_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(
        "sys.argv", ["marecg_research", "ablate", "tiny", "--data", "c", "--out", "x", "--root", "r"]
    )
    monkeypatch.setattr(ablation, "ablate", Mock(side_effect=EcgError("is empty", where="c")))
    with pytest.raises(SystemExit, match=r"^error: c: is empty$"):
        command_line.main()
