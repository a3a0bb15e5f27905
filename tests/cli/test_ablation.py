"""What an ablation prints beside the probe's table."""

import json
from typing import Any

import pytest

from ecg_ontology import UsageError
from marecg.evaluate.ablate import ProbedRun
from marecg.evaluate.cost import Cost
from marecg.evaluate.leaderboard import Standing
from marecg.evaluate.request import READERS, Request
from marecg.evaluate.scores.results import AucDifference
from marecg.evaluate.scores.summary import WIDE
from marecg.evaluate.table import tidy
from marecg.evaluate.table_print import records
from marecg.evaluate.tasks.definition import Folds
from marecg_cli import marecg
from marecg_cli._options import settings
from marecg_cli._recipes import print_costs
from marecg_cli._scores_text import ablation_json, standings_text

BETTER = AucDifference(mean=0.03, low=0.01, high=0.05, p=0.01)
ALIKE = AucDifference(mean=0.01, low=-0.02, high=0.04, p=0.6)
CELLS = {("ptbxl-super", 0.1): BETTER, ("ptbxl-super", 1.0): ALIKE}
FIRST = Standing("c1", False, 2, {0.1: 70.0, 1.0: 80.0}, {}, Cost(9600, 4 * 10**12, 80.0), 9.5, False)
SECOND = Standing("c2", False, 2, {0.1: 73.0, 1.0: 81.0}, CELLS, Cost(9600, 9 * 10**12, None), 1.5, True)
CUT = Standing("c2", True, 2, {0.1: 72.0, 1.0: 80.5}, CELLS, Cost(4200, 4 * 10**12, 70.0), 8.0, True)


def test_equal_records_and_equal_flops_stand_side_by_side_with_costs_and_what_is_told_apart():
    text = standings_text([FIRST, SECOND, CUT])
    words = " ".join(text.split())
    assert "c1 │ 2 │ 70.0 │ – │ 80.0 │ – │ – │ 4,800 │ 2.00 │ 40 │ 9.5" in words
    assert "c2† (collapsed) │" in words
    assert "73.0 │ 72.0 │ 81.0 │ 80.5 │ 1 / 0" in words
    assert "can't be told apart" in words


def test_machines_get_every_number():
    line = {"source": "measured", "group": "c2", "method": "encoder", "task": "ptbxl-super", "fraction": 1.0}
    scores = tidy([{**line, "macro_auc": 81.0, "sd": 1.0, "leaked_records": 0, "h_rank": 1.5}])
    told = json.loads(json.dumps(ablation_json(records(scores), [FIRST, SECOND])))
    (cell,) = told["cells"]
    assert {key: cell[key] for key in line} == line
    assert (cell["macro_auc"], cell["sd"], cell["low"], cell["leaked_records"]) == (81.0, 1.0, None, 0)
    second = told["recipes"][1]
    assert (second["records"], second["flops"], second["seconds"]) == (9600, 9 * 10**12, None)
    assert second["versus_first"][0] == {
        "task": "ptbxl-super",
        "fraction": 0.1,
        **BETTER.model_dump(),
    }


def test_a_recipe_s_cost_is_its_records_times_its_arithmetic_over_the_speed(capsys):
    from marecg.recipes import c1

    print_costs({"c1": c1()}, 1000, 300.0)
    steps = -(-100 * 1000 // 32)
    hours = steps * 32 * c1().step_flops() / 300e12 / 3600
    assert f"{hours:.2f}" in capsys.readouterr().out


@pytest.mark.parametrize(("readout", "wide"), [("rhythm", False), ("wide", True), ("beats", True)])
def test_the_readout_that_is_asked_for_is_probed_and_compared(readout, wide, monkeypatch, tmp_path):
    asked: dict[str, Any] = {}

    def ablate(*_: object, request: Request, **__: object) -> list[ProbedRun]:
        asked["request"] = request
        return []

    def standings(_found: list[ProbedRun], wide: bool, _resamples: int) -> list[Standing]:
        asked["compared"] = wide
        return []

    monkeypatch.setattr("marecg.evaluate.ablate.ablate", ablate)
    monkeypatch.setattr("marecg.evaluate.leaderboard.standings", standings)
    words = ["ablate", "--data", tmp_path, "--out", tmp_path, "--root", tmp_path, "--format", "markdown"]
    with pytest.raises(SystemExit) as ended:
        marecg.main([str(word) for word in [*words, "--set", f"probe.readout={readout}"]])
    assert not ended.value.code
    assert (asked["request"].readout, asked["compared"]) == (readout, wide)
    assert (WIDE in asked["request"].without) is not wide


@pytest.mark.parametrize("setting", ["seed=1", "seeds=one", "fractions=1,x"])
def test_a_setting_that_a_probe_does_not_have_is_refused(setting):
    with pytest.raises(UsageError, match=f"--set {setting}: "):
        settings([setting], READERS)


def test_several_rotations_of_folds_may_be_set():
    values = settings(["folds=1-5,6,7-8;3-7,8,1-2", "fractions=0.1,1"], READERS)
    assert Request(**values) == Request((0.1, 1.0), folds=(Folds.of("1-5,6,7-8"), Folds.of("3-7,8,1-2")))
