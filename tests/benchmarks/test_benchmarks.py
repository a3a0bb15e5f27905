"""The rows of the benchmarks run, and docs/performance.md has all of them. No test looks at a time."""

import json
import multiprocessing
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.ratio import Effort, Measured, Reach, Row, alternate
from benchmarks.rpeaks import FS, annotated, detect, find_raw, score
from benchmarks.scale import scale
from benchmarks.table import ROWS, as_markdown

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


@pytest.mark.slow
def test_a_cheap_row_is_measured_printed_and_written(tmp_path, capsys):
    out = tmp_path / "bench.json"
    assert main(["flop-formula", "targets-from-ids", "--quick", "--format", "json", "--out", str(out)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(out.read_text(encoding="utf-8"))
    assert [row["name"] for row in printed["rows"]] == ["flop-formula", "targets-from-ids"]
    assert (printed["rows"][0]["ratio"], printed["rows"][0]["met"]) == (1.0, True)


def test_an_unknown_row_is_one_line_and_exit_2(capsys):
    assert main(["speed"]) == 2
    assert "unknown row 'speed'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_pretraining_step_runs_where_there_is_no_gpu(tmp_path):
    out = tmp_path / "gpu.json"
    size = ("--device", "cpu", "--tiny", "--batch-size", "2", "--steps", "1", "--recipe", "c3")
    assert main(["gpu", *size, "--variant", "checkpoint", "--out", str(out)]) == 0
    (step,) = json.loads(out.read_text(encoding="utf-8"))["steps"]
    assert (step["recipe"], step["variant"], step["problem"]) == ("tiny-c3", "checkpoint", "")


@pytest.mark.slow
def test_a_start_on_simulated_records_tells_each_stage(tmp_path, monkeypatch):
    fork = multiprocessing.get_context("fork")  # which has its imports
    monkeypatch.setattr("benchmarks.scale.get_context", lambda _: fork)
    stages = scale(tmp_path / "corpus", 500)
    assert list(stages["next start"]) == list(stages["first start"])


def test_a_row_is_the_median_of_its_ratios_and_half_the_distance_of_their_quartiles():
    row = Row("name", "what", "against", Reach("≥", 2), "", lambda effort: [])
    measured = Measured(row, [1.0, 2.0, 3.0, 7.0, 99.0])
    assert (measured.ratio, measured.spread, measured.met) == (3.0, 2.5, True)
    calls: list[str] = []
    effort = Effort(repeats=2, seconds=0)
    turns = alternate(lambda: calls.append("ours"), lambda: calls.append("baseline"), effort)
    assert calls == ["ours", "baseline"] * 3
    assert len(turns) == 2, "the first turn is not counted"


def test_refined_r_peaks_are_found_at_their_place_and_raw_ones_lag():
    records = annotated(200)
    refined = score(lambda lead: detect(lead, FS), records)
    assert refined.sensitivity >= 0.99
    assert refined.predictive_value >= 0.975
    assert refined.p95_lag <= 15
    assert score(lambda lead: find_raw(lead, FS), records[:50]).p95_lag > 50, "δ_R"


def test_the_table_on_performance_has_the_rows_of_today():
    """The table but for what was measured."""
    page = PAGE.read_text(encoding="utf-8")
    table, _ = page.split("<!-- its end -->")
    table = table.partition("<!-- the output of `python -m benchmarks --format markdown` -->")[2]
    today = as_markdown([Measured(row, [row.reach.value]) for row in ROWS.values()])
    assert unmeasured(table) == unmeasured(today)


def unmeasured(table: str) -> list[list[str]]:
    """The cells of the rows without the ratio."""
    rows = [line.split("|") for line in table.splitlines() if line.startswith("|")]
    return [[cell for place, cell in enumerate(row) if place != 3] for row in rows]
