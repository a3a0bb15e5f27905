"""An address is told from a path, and where a path is wanted it is refused."""

import pytest
from tests.cli.calls import run
from tests.marecg.conftest import MICRO

import ecg_ontology
from ecg_ontology import UsageError, replacing
from marecg.storage.copies import ensure_local
from marecg.synth import write_corpus
from marecg.train.run import train


def test_where_a_path_is_wanted_an_address_is_refused(memory, corpus_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("train", "--data", corpus_folder, "--out", f"{memory}/run") == 2
    assert "is an address, and out takes a path" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["s3://b/x.json", "S3://b/x.json", "simplecache::s3://b/x.json"])
def test_it_is_refused_however_it_is_written_and_shown_as_it_was(
    address, corpus_folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert run("cohort", corpus_folder, "--where", "AF", "--out", address) == 2
    assert f"error: {address}: is an address, and out takes a path." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_address_whose_protocol_is_in_capitals_is_none_that_fsspec_knows(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    write_corpus(tmp_path / "records", 1, 0)
    monkeypatch.chdir(tmp_path / "here")
    for argv in (("embed", "marecg-small", "../records"), ("prepare", "../records")):
        assert run(*argv, "--out", "S3://bucket/parts/") == 2
        assert "isn't an address (Protocol not known: S3)" in capsys.readouterr().err
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.parametrize(
    "write",
    [
        lambda corpus, where: train(MICRO, corpus, where),
        lambda corpus, where: ecg_ontology.export(ecg_ontology.load(), f"{where}.ttl"),
    ],
)
def test_no_function_makes_folders_of_an_address(write, corpus_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^s3://bucket/run.*: is an address, and a path is wanted"):
        write(corpus_folder, "s3://bucket/run")
    assert not list(tmp_path.iterdir())


def test_a_folder_of_this_machine_may_be_called_as_an_address_begins(tmp_path, monkeypatch):
    (tmp_path / "s3:").mkdir()
    monkeypatch.chdir(tmp_path)
    with replacing("s3:/graph.txt") as temporary:
        temporary.write_text("hello")
    assert (tmp_path / "s3:" / "graph.txt").read_text() == "hello"


def test_an_address_that_lacks_a_slash_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for argv in (("embed", "marecg-small", "."), ("prepare", ".")):
        assert run(*argv, "--out", "s3:/bucket/parts/") == 2
        assert "s3:/bucket/parts/: isn't a path of this machine, and no address" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_at_an_address_is_refused(tmp_path, capsys):
    assert run("embed", "marecg-small", tmp_path, "--out", f"file://{tmp_path}/e.npz") == 2
    assert "to an address a folder of parts" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_address_of_this_machine_is_a_path(tmp_path):
    assert ensure_local(f"file://{tmp_path}") == tmp_path
