"""Without an optional package of the project, a command that needs it says what to install."""

import sys

import pytest
from tests.cli.calls import invoke


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("report", "report run"),
        ("report", "demo"),
        ("report", "classify fit marecg-small --data corpus --labels labels.csv --out clf"),
    ],
)
def test_a_command_of_an_absent_package_names_it(package, command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, f"marecg_{package}", None)
    code, _, err = invoke(*command.split())
    assert code == 2
    assert f"pip install marecg-{package}" in err
    assert not list(tmp_path.iterdir())
