"""A signal ends a command, wherever it finds it: one line, its exit code, and nothing half-written."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from tests.cli.calls import end, run

from ecg_base import EcgError

Writer = Callable[[Any, Path], None]
ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU, signal.SIGINT)


@pytest.fixture
def ended(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Writer], object]:
    """Exit code and line of a cohort that is written so."""

    def cohort(write: Writer) -> tuple[int, str]:
        monkeypatch.setattr("marecg.corpus.cohort.write", lambda table, path, _: write(table, path))
        return end("cohort", corpus, "--where", "age > 0", "--out", tmp_path / "out.csv", "-q")

    return cohort


@contextmanager
def as_python_begins(ending: signal.Signals) -> Iterator[None]:
    """Nobody hears the signal before a command does, nor after it."""
    untouched = signal.default_int_handler if ending == signal.SIGINT else signal.SIG_DFL
    before, hook = signal.signal(ending, untouched), sys.unraisablehook
    try:
        yield
        assert signal.getsignal(ending) is untouched
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        assert sys.unraisablehook is hook
    finally:
        signal.signal(ending, before)


def stopped(ending: signal.Signals) -> tuple[int, str]:
    """Exit code and line of a command that it ended."""
    return 128 + ending, "interrupted" if ending == signal.SIGINT else f"stopped by {ending.name}"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_that_ends_a_command_leaves_nothing_half_written(ended, tmp_path, ending):
    def half(_: Any, path: Path) -> None:
        path.write_bytes(b"half")
        signal.raise_signal(ending)

    with as_python_begins(ending):
        assert ended(half) == stopped(ending)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("made", [RuntimeError("Error serializing"), EcgError("damaged"), SystemExit(1)])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_ends_a_command_whatever_a_library_makes_of_it(ended, ending, made):
    def half(_: Any, path: Path) -> None:
        with suppress(BaseException):
            signal.raise_signal(ending)
        raise made

    with as_python_begins(ending):
        assert ended(half) == stopped(ending)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_that_comes_while_an_object_is_taken_away_ends_a_command_a_moment_later(
    ended, tmp_path, ending
):
    """What is raised there Python only prints, and goes on."""
    went_on: list[Path] = []

    class TakenAway:
        def __del__(self) -> None:
            signal.raise_signal(ending)

    def half(_: Any, path: Path) -> None:
        path.write_bytes(b"half")
        TakenAway()
        went_on.append(path)
        sleep(30)

    with as_python_begins(ending):
        assert ended(half) == stopped(ending)
    assert went_on
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["torch", "mine"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_waits_for_an_import_of_torch_and_for_no_other(ended, tmp_path, ending, package):
    """Torch's C++ ends a process in `abort` where Python code that it calls raises."""
    module: dict[str, Any] = {"__name__": f"{package}.nn"}
    text = f"import signal, time\nsignal.raise_signal({int(ending)})\ntime.sleep(.05)\nwhole = 1\n"

    def half(_: Any, path: Path) -> None:
        path.write_bytes(b"half")
        exec(text, module)  # noqa: S102 — as an import does
        sleep(30)

    with as_python_begins(ending):
        assert ended(half) == stopped(ending)
    assert ("whole" in module) == (package == "torch")
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_was_done_when_it_was_stopped_is_done(monkeypatch):
    def late(_: str) -> None:
        with suppress(BaseException):
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("marecg_cli._training.result", late)
    with as_python_begins(signal.SIGTERM):
        assert run("recipes") == 0


def test_a_signal_that_is_ignored_stays_so(corpus, tmp_path, monkeypatch):
    def hung_up(_: Any, path: Path, __: str) -> None:
        path.write_bytes(b"whole")
        signal.raise_signal(signal.SIGHUP)

    monkeypatch.setattr("marecg.corpus.cohort.write", hung_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
    try:
        assert run("cohort", corpus, "--where", "age > 0", "--out", tmp_path / "out.csv") == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (tmp_path / "out.csv").read_bytes() == b"whole"
