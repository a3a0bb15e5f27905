"""`marecg synth` on the command line."""

import json
from pathlib import Path

import pytest

from marecg.synth import DIAGNOSES, QUIRKS
from marecg_cli.marecg import main

PAGE = Path(__file__).parents[3] / "docs" / "corpus" / "synthetic.md"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["synth", *arguments])
    return int(ended.value.code or 0)


def test_the_command_writes_what_it_reports(tmp_path, capsys):
    folder = str(tmp_path / "c")
    assert run("--out", folder, "--records", "3", "--seed", "1", "--quirk", "crlf", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["records"] == 4
    assert len(list((tmp_path / "c").glob("*.hea"))) == 4


def test_all_quirks_can_be_asked_for_at_once(tmp_path):
    assert run("--out", str(tmp_path / "c"), "--records", "0", "--quirk", "all") == 0
    assert len(list((tmp_path / "c").glob("Q_*.hea"))) > 30


def test_an_unknown_finding_ends_with_2_and_one_line(tmp_path, capsys):
    assert run("--out", str(tmp_path / "c"), "--diagnosis", "flu") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: no such diagnosis: flu. Choose from NSR")
    assert error.count("\n") == 1


def test_an_unwritable_place_ends_with_3(tmp_path):
    (tmp_path / "file").write_text("")
    assert run("--out", str(tmp_path / "file" / "c"), "--records", "1") == 3


def test_the_documentation_has_a_row_for_every_finding_and_quirk():
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.read_text().splitlines()}
    for name, finding in DIAGNOSES.items():
        assert f"| {finding.name} | {' or '.join(finding.codes)} |" in rows[name]
    for name, quirk in QUIRKS.items():
        assert f"| {quirk.summary} | {'yes' if quirk.readable else 'no'} |" in rows[name]
