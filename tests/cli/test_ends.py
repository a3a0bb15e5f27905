"""A full disk, a folder in the way, Ctrl-C: one line, nothing half-written, and the same command goes on."""

import errno
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calls import end

from marecg.corpus import prepare as module
from marecg.corpus.prepare import prepare
from marecg_cli.marecg import main


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow beyond 600 kB: the graph of a corpus fits, its signals don't."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, limits[1]))
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
    assert (code, line.partition(" (")[0]) == (3, f"error: {tmp_path / 'out'}: cannot be written")
    assert list(tmp_path.iterdir()) == []


@contextmanager
def interrupted() -> Iterator[None]:
    """Ctrl-C comes when the first shard is to be written."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_write_shard", lambda *_: signal.raise_signal(signal.SIGINT))
        yield


@pytest.mark.parametrize(
    ("trouble", "ends_with", "message"),
    [(full_disk, 3, "00000.npy: cannot be written"), (interrupted, 130, "interrupted")],
)
def test_a_stopped_preparation_says_so_and_goes_on(place, corpus, tmp_path, trouble, ends_with, message):
    with trouble():
        code, line = end("prepare", place / "records", "--out", tmp_path / "corpus", "--jobs", 1)
    assert (code, message in line) == (ends_with, True)
    assert files(tmp_path) == ["corpus/building/plan.json", "corpus/ontology.json"]
    prepare([place / "records"], tmp_path / "corpus", jobs=1)
    assert files(tmp_path / "corpus") == files(corpus)


@pytest.mark.parametrize("redirect", [redirect_stdout, redirect_stderr])
def test_a_full_disk_behind_a_redirection_is_no_traceback(capsys, tmp_path, redirect):
    argv = ["recipes"] if redirect is redirect_stdout else ["audit", str(tmp_path), "--verify"]
    with Path("/dev/full").open("w", encoding="utf-8", buffering=1) as full:
        with redirect(full), pytest.raises(SystemExit) as ended:
            main(argv)
        with suppress(OSError):
            full.close()
    assert ended.value.code == 3
    error = "error: the output cannot be written (No space left on device)\n"
    assert "".join(capsys.readouterr()) == (error if redirect is redirect_stdout else "")


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

    monkeypatch.setattr("marecg.corpus.audit.damaged_records", refused)
    code, line = end("audit", corpus, "--verify")
    assert (code, line.partition(".")[0]) == (3, "error: there is not enough memory")


@pytest.mark.parametrize(("encoding", "shown"), [("latin-1", r"\u03c4"), ("utf-8", "τ")])
def test_what_a_terminal_has_no_letters_for_is_no_traceback(tmp_path, encoding, shown):
    with (
        (tmp_path / "out.txt").open("w", encoding=encoding, errors="strict") as out,
        redirect_stdout(out),
        pytest.raises(SystemExit) as ended,
    ):
        main(["recipes", "c3"])
    assert not ended.value.code
    assert shown in (tmp_path / "out.txt").read_text(encoding=encoding)
