"""What an ablation prints beside the probe's table."""

from typing import Any
from unittest.mock import Mock

import pytest
from tests.cli.calls import run

from ecg_base import UsageError
from marecg.evaluate.request import Request
from marecg.evaluate.scores.summary import WIDE
from marecg.evaluate.tasks.task import Folds
from marecg_cli._settings import Ablation, read
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


@pytest.mark.parametrize(("readout", "wide"), [("rhythm", False), ("wide", True), ("beats", True)])
def test_the_readout_that_is_asked_for_is_probed_and_compared(readout, wide, monkeypatch, tmp_path):
    ablate, standings = Mock(return_value=[]), Mock(return_value=[])
    monkeypatch.setattr("marecg_research.ablate.ablate", ablate)
    monkeypatch.setattr("marecg_research.leaderboard.standings", standings)
    command = ["ablate", "--data", tmp_path, "--out", tmp_path, "--root", tmp_path, "--format", "markdown"]
    assert not run(*command, "--set", f"probe.readout={readout}", "--set", "probe.without=encoder, x")
    request = ablate.call_args.kwargs["request"]
    assert (request.readout, standings.call_args.args[1]) == (readout, wide)
    assert request.without == (("encoder, x",) if wide else ("encoder, x", WIDE))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("seed=1", "--set seed=1: "),
        ("seeds=one", "seeds must be a whole number, not 'one'"),
        ("fractions=1,x", "fractions must be a number, not '1,x'"),
    ],
)
def test_a_setting_that_a_probe_does_not_have_is_refused(setting, said):
    with pytest.raises(UsageError, match=said):
        read(Ablation, [setting])


def test_several_rotations_of_folds_may_be_set():
    values = read(Ablation, ["folds=1-5,6,7-8;3-7,8,1-2", "fractions=0.1,1"]).given()
    assert Request(**values) == Request((0.1, 1.0), folds=(Folds.of("1-5,6,7-8"), Folds.of("3-7,8,1-2")))
