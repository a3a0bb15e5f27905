"""An address is told from a path, and where a path is wanted it is refused."""

from pathlib import Path

import pytest
from tests.cli.calls import run

from marecg.copies import here


def test_where_a_path_is_wanted_an_address_is_refused(
    memory: str,
    corpus_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("train", "--data", corpus_folder, "--out", f"{memory}/run") == 2
    assert "is an address, and out takes a path" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_address_that_lacks_a_slash_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for argv in (("embed", "marecg-small", "."), ("prepare", ".")):
        assert run(*argv, "--out", "s3:/bucket/parts/") == 2
        assert "s3:/bucket/parts/: is no path of this machine, and no address" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_at_an_address_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("embed", "marecg-small", tmp_path, "--out", f"file://{tmp_path}/e.npz") == 2
    assert "to an address a folder of parts" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_address_of_this_machine_is_a_path(tmp_path: Path) -> None:
    assert here(f"file://{tmp_path}") == tmp_path
