"""Without the package of corpora, its commands say what to install."""

import sys

import pytest
from tests.cli.calls import invoke


@pytest.mark.parametrize(
    "command",
    [
        "stats .",
        "audit . --against .",
        "cohort . --where AF",
        "prepare . --out out --select paper",
        "data get georgia --out out",
    ],
)
def test_a_command_of_the_package_names_it(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "marecg_corpora", None)
    code, _, err = invoke(*command.split())
    assert code == 2
    assert "pip install marecg-corpora" in err
    assert not list(tmp_path.iterdir())
