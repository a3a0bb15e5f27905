"""`marecg synth` on the command line."""

import json
from pathlib import Path

from tests.cli.calls import invoke

from ecg_synth import DIAGNOSES, QUIRKS

PAGE = Path(__file__).parents[2] / "docs" / "corpus" / "synthetic.md"


def test_the_command_writes_what_it_reports(tmp_path):
    words = ("--records", 3, "--seed", 1, "--quirk", "crlf", "--format", "json")
    code, out, _ = invoke("synth", "--out", tmp_path / "c", *words)
    assert code == 0
    report = json.loads(out)
    assert report["records"] == 4
    assert len(list((tmp_path / "c").glob("*.hea"))) == 4


def test_the_documentation_has_a_row_for_every_finding_and_quirk():
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.read_text().splitlines()}
    for name, finding in DIAGNOSES.items():
        assert f"| {finding.name} | {' or '.join(finding.codes)} |" in rows[name]
    for name, quirk in QUIRKS.items():
        assert f"| {quirk.summary} | {'yes' if quirk.readable else 'no'} |" in rows[name]
