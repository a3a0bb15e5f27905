"""Without the package of pages, a command that writes one says what to install."""

import sys

import pytest
from tests.cli.calls import invoke


@pytest.mark.parametrize(
    "command", ["report run", "demo", "classify fit marecg-small --data corpus --labels labels.csv --out clf"]
)
def test_a_command_that_writes_a_page_names_the_package(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "marecg_report", None)
    code, _, err = invoke(*command.split())
    assert code == 2
    assert "pip install marecg-report" in err
    assert not list(tmp_path.iterdir())
