"""An address is told from a path, and where a path is wanted it is refused."""

import pytest
from tests.cli.calls import run
from tests.marecg.conftest import MICRO

import ecg_ontology
from ecg_base import UsageError, replacing
from ecg_records.storage.copies import ensure_local
from ecg_synth import write_corpus
from marecg.train.run import train


@pytest.mark.parametrize("command", [("train", "--data"), ("cohort", "--where", "AF")])
@pytest.mark.parametrize("address", ["s3://b/x.json", "S3://b/x.json", "simplecache::s3://b/x.json"])
def test_where_a_path_is_wanted_an_address_is_refused_and_shown_as_it_was_written(
    command, address, corpus_folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert run(*command, corpus_folder, "--out", address) == 2
    assert f"error: {address}: is an address, but out must be a path." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("S3://bucket/parts/", "isn't an address (Protocol not known: S3)"),
        ("s3:/bucket/parts/", "s3:/bucket/parts/: is neither a path nor an address"),
    ],
)
@pytest.mark.parametrize("command", [("embed", "marecg-small"), ("prepare",)])
def test_an_address_that_fsspec_does_not_know_or_lacks_a_slash_is_refused(
    command, address, problem, tmp_path, monkeypatch, capsys
):
    (tmp_path / "here").mkdir()
    write_corpus(tmp_path / "records", 1, 0)
    monkeypatch.chdir(tmp_path / "here")
    assert run(*command, "../records", "--out", address) == 2
    assert problem in capsys.readouterr().err
    assert not list((tmp_path / "here").iterdir())


def test_no_function_makes_folders_of_an_address(corpus_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = pytest.raises(UsageError, match=r"^s3://bucket/run.*: must be a local path, got an address")
    with refused:
        train(MICRO, corpus_folder, "s3://bucket/run")
    with refused:
        ecg_ontology.export(ecg_ontology.load(), "s3://bucket/run.ttl")
    assert not list(tmp_path.iterdir())


def test_a_folder_of_this_machine_may_be_called_as_an_address_begins(tmp_path, monkeypatch):
    (tmp_path / "s3:").mkdir()
    monkeypatch.chdir(tmp_path)
    with replacing("s3:/graph.txt") as temporary:
        temporary.write_text("hello")
    assert (tmp_path / "s3:" / "graph.txt").read_text() == "hello"


def test_a_file_at_an_address_is_refused_and_a_folder_of_this_machine_is_a_path(tmp_path, capsys):
    assert run("embed", "marecg-small", tmp_path, "--out", f"file://{tmp_path}/e.npz") == 2
    assert "must be a local path for a single file, got an address" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert ensure_local(f"file://{tmp_path}") == tmp_path
