"""A full disk, a folder in the way, Ctrl-C: one line, nothing half-written, and the same command goes on."""

import errno
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calls import end

from marecg.corpus import prepare as module
from marecg.corpus.prepare import prepare
from marecg.synth import write_corpus
from marecg_cli.marecg import main


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ends") / "records"
    write_corpus(folder, 12, 0)
    return folder


@pytest.fixture(scope="module")
def corpus(records: Path) -> Path:
    prepare([records], records.parent / "corpus", jobs=1)
    return records.parent / "corpus"


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow beyond 300 kB: the graph of a corpus fits, its signals don't."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ["out.h5", "out.parquet", "out"])
def test_an_export_to_a_full_disk_leaves_nothing(corpus, tmp_path, capsys, name):
    with full_disk():
        code, line = end(capsys, "export", corpus, "--out", tmp_path / name)
    assert code == 3
    assert line.startswith(f"error: {tmp_path / name}: cannot be written")
    assert list(tmp_path.iterdir()) == []


def test_a_preparation_goes_on_when_the_disk_has_room_again(records, corpus, tmp_path, capsys):
    command = ("prepare", records, "--out", tmp_path / "corpus", "--jobs", 1)
    with full_disk():
        code, line = end(capsys, *command)
    assert code == 3
    assert "00000.npy: cannot be written" in line
    assert files(tmp_path) == ["corpus/building/plan.json", "corpus/ontology.json"]
    prepare([records], tmp_path / "corpus", jobs=1)
    assert files(tmp_path / "corpus") == files(corpus)


def test_an_interrupted_preparation_says_so_and_goes_on(records, corpus, tmp_path, capsys, monkeypatch):
    def interrupted(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module, "_write_shard", interrupted)
    assert end(capsys, "prepare", records, "--out", tmp_path / "corpus", "--jobs", 1) == (130, "interrupted")
    assert files(tmp_path) == ["corpus/building/plan.json", "corpus/ontology.json"]
    monkeypatch.undo()
    prepare([records], tmp_path / "corpus", jobs=1)
    assert files(tmp_path / "corpus") == files(corpus)


def test_a_folder_that_holds_anything_else_is_never_replaced(corpus, tmp_path, capsys):
    before = files(corpus)
    code, line = end(capsys, "export", corpus, "--out", corpus)
    assert (code, files(corpus)) == (2, before)
    assert line == f"error: {corpus}: holds corpus.json, which would be lost. Name a new folder."
    (tmp_path / "file").touch()
    assert end(capsys, "export", corpus, "--out", tmp_path / "file")[0] == 2
    (tmp_path / "folder.h5").mkdir()
    assert end(capsys, "export", corpus, "--out", tmp_path / "folder.h5")[0] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.h5"]
    for _ in range(2):  # an older export is
        with pytest.raises(SystemExit) as ended:
            main(["export", str(corpus), "--out", str(tmp_path / "new")])
        assert ended.value.code == 0


def test_no_file_of_a_corpus_is_replaced_by_what_is_read_from_it(corpus, capsys):
    before = {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()}
    for argv in (
        ("cohort", corpus, "--where", "not AF", "--out", corpus / "report.json"),
        ("cohort", corpus, "--where", "not AF", "--out", corpus / "shards" / ".." / "index.parquet"),
        ("export", corpus, "--out", corpus / "index.parquet"),
    ):
        code, line = end(capsys, *argv)
        assert code == 2
        assert "is a file of the corpus, and would be lost" in line
    assert {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_full_disk_behind_a_redirection_is_no_traceback(capsys, monkeypatch, tmp_path, stream):
    argv = ["recipes"] if stream == "stdout" else ["stats", str(tmp_path)]
    with Path("/dev/full").open("w", encoding="utf-8", buffering=1) as full:
        monkeypatch.setattr(f"sys.{stream}", full)
        with pytest.raises(SystemExit) as ended:
            main(argv)
        monkeypatch.undo()
        with suppress(OSError):
            full.close()
    assert ended.value.code == 3
    captured = capsys.readouterr()
    said = "error: the output cannot be written (No space left on device)\n" if stream == "stdout" else ""
    assert captured.out + captured.err == said


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory"),
        type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory."),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_too_little_memory_is_no_traceback(corpus, tmp_path, capsys, monkeypatch, error):
    def refused(*_: Any) -> None:
        raise error

    monkeypatch.setattr("marecg.corpus.statistics.statistics", refused)
    code, line = end(capsys, "stats", corpus)
    assert (code, line.partition(".")[0]) == (3, "error: there is not enough memory")


def test_a_name_too_long_is_named(capsys, tmp_path):
    name = "a" * 300
    code, line = end(capsys, "embed", name, name, "--out", tmp_path / "e.npz")
    assert code == 3
    assert line.startswith(f"error: {name}: File name too long")


@pytest.mark.parametrize(("encoding", "shown"), [("latin-1", r"\u03c4"), ("utf-8", "τ")])
def test_what_a_terminal_has_no_letters_for_is_no_traceback(monkeypatch, tmp_path, encoding, shown):
    with (tmp_path / "out.txt").open("w", encoding=encoding, errors="strict") as out:
        monkeypatch.setattr("sys.stdout", out)
        with pytest.raises(SystemExit) as ended:
            main(["recipes", "c3"])
        monkeypatch.undo()
    assert not ended.value.code
    assert shown in (tmp_path / "out.txt").read_text(encoding=encoding)


def test_no_processes_are_refused(records, tmp_path, capsys):
    code, line = end(capsys, "prepare", records, "--out", tmp_path / "corpus", "--jobs", 0)
    assert code == 2
    assert line.startswith("error: --jobs: 0 processes do nothing. Give at least 1")
