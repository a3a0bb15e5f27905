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
from marecg_cli.marecg import main


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
    """Its files, without what a training keeps beside the shards."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "supervision")
    return sorted(str(path.relative_to(folder)) for path in paths)


def test_a_subset_for_a_full_disk_leaves_nothing(corpus, tmp_path):
    with full_disk():
        code, line = end("cohort", corpus, "--where", "age > 0", "--out", tmp_path / "out", "-q")
    assert code == 3
    assert line.startswith(f"error: {tmp_path / 'out'}: cannot be written")
    assert list(tmp_path.iterdir()) == []


def test_a_preparation_goes_on_when_the_disk_has_room_again(place, corpus, tmp_path):
    command = ("prepare", place / "records", "--out", tmp_path / "corpus", "--jobs", 1)
    with full_disk():
        code, line = end(*command)
    assert code == 3
    assert "00000.npy: cannot be written" in line
    assert files(tmp_path) == ["corpus/building/plan.json", "corpus/ontology.json"]
    prepare([place / "records"], tmp_path / "corpus", jobs=1)
    assert files(tmp_path / "corpus") == files(corpus)


def test_an_interrupted_preparation_says_so_and_goes_on(place, corpus, tmp_path, monkeypatch):
    def interrupted(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module, "_write_shard", interrupted)
    assert end("prepare", place / "records", "--out", tmp_path / "corpus", "--jobs", 1) == (
        130,
        "interrupted",
    )
    assert files(tmp_path) == ["corpus/building/plan.json", "corpus/ontology.json"]
    monkeypatch.undo()
    prepare([place / "records"], tmp_path / "corpus", jobs=1)
    assert files(tmp_path / "corpus") == files(corpus)


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
def test_too_little_memory_is_no_traceback(corpus, monkeypatch, error):
    def refused(*_: Any) -> None:
        raise error

    monkeypatch.setattr("marecg.corpus.statistics.statistics", refused)
    code, line = end("stats", corpus)
    assert (code, line.partition(".")[0]) == (3, "error: there is not enough memory")


@pytest.mark.parametrize(("encoding", "shown"), [("latin-1", r"\u03c4"), ("utf-8", "τ")])
def test_what_a_terminal_has_no_letters_for_is_no_traceback(monkeypatch, tmp_path, encoding, shown):
    with (tmp_path / "out.txt").open("w", encoding=encoding, errors="strict") as out:
        monkeypatch.setattr("sys.stdout", out)
        with pytest.raises(SystemExit) as ended:
            main(["recipes", "c3"])
        monkeypatch.undo()
    assert not ended.value.code
    assert shown in (tmp_path / "out.txt").read_text(encoding=encoding)


def test_no_processes_are_refused(place, tmp_path):
    code, line = end("prepare", place / "records", "--out", tmp_path / "corpus", "--jobs", 0)
    assert code == 2
    assert line.startswith("error: --jobs: 0 processes do nothing. Give at least 1")
