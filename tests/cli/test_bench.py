"""`marecg bench`, as a user sees it."""

import json
from pathlib import Path

import pytest
from tests.cli.calls import run

from marecg.bench.table import ROWS


def test_a_cheap_row_is_measured_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bench.json"
    assert run("bench", "flop-formula", "--quick", "--format", "json", "--out", str(out)) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(out.read_text(encoding="utf-8"))
    assert [(row["name"], row["ratio"], row["met"]) for row in printed["rows"]] == [
        ("flop-formula", 1.0, True)
    ]


def test_the_list_names_every_row_and_measures_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench", "--list") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(ROWS)


def test_an_unknown_row_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench", "speed") == 2
    assert "there is no row 'speed'" in capsys.readouterr().err
