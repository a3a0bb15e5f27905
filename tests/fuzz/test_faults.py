"""Every command × every signal × before, while and after it writes, × what befalls the files that it reads.

What writes most is given in bad surroundings, too.

Each case gives a command, lets the fault happen (a signal once or several times, as to a scheduler that stops
a job before it preempts it), and gives the same command again, undisturbed: what it leaves or prints must be
what it does where nothing happened, and nothing hidden may stay behind. The tests try a case of each sort;
MARECG_FAULTS=24 in the environment tries so many of the day's.
"""

import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path

import pytest
from tests import forked
from tests.forked import command as start
from tests.fuzz.commands import COMMANDS, Command
from tests.fuzz.inputs import ensure, serve_mirror
from tests.fuzz.surroundings import BEFALL, DAMAGING, MAY_FAIL, SURROUNDINGS, UNWRITABLE, befall

KILLS = ("KILL", "TERM", "INT", "HUP", "USR1", "QUIT", "STOP CONT", "STOP TERM CONT")
AGAIN = (1, 1, 2, 3)
"""How often a command is killed before it is left alone; one of these."""
WHEN = {"before": (0.0, 0.1), "while": (0.1, 0.9), "after": (0.9, 1.1)}
"""Shares of the time that the command takes where nothing happens."""
OPENED = (0, 1, 2, 4, 8)
"""Something befalls a source when this one of its files is opened, counted from 0; one of these."""
NOISE = re.compile(rb"/[^ ]*/(case|whole)-\d*|\d+(\.\d+)? ?(s|MB)\b|[0-9:]{5,8}")
"""What a command prints that differs from one undisturbed run to the next: places and times."""
Case = tuple[Callable[..., None], Command, str, str]


def send(pid: int, kill: str) -> None:
    """Kill in one of the ways; what is over already is left in peace."""
    for name in kill.split():
        os.kill(pid, getattr(signal, f"SIG{name}"))
        if name == "STOP":
            time.sleep(0.1)


@dataclass(frozen=True)
class Outcome:
    """An exit code, what was printed, the files that count, and all hidden names."""

    code: int
    said: bytes
    files: dict[str, bytes]
    hidden: frozenset[str]


class Matrix:
    """The cases, in a folder of their own with what the commands read."""

    def __init__(self, folder: Path, mirror: str = "") -> None:
        self.place, self.mirror, self._number = folder, mirror, 0
        self._whole: dict[Command, tuple[Outcome, float]] = {}

    def whole(self, command: Command) -> tuple[Outcome, float]:
        """What a command does where nothing happens, and the seconds that it takes."""
        if command not in self._whole:
            for name in command.sources:
                ensure(self.place, name)
            out, began = self._out(command, "whole"), time.monotonic()
            outcome = self._run(self._argv(command, out), out, command.compared)
            assert outcome.code in {0, 1}, f"{command.words}: {outcome.said.decode()}"
            self._whole[command] = outcome, time.monotonic() - began
        return self._whole[command]

    def kill(self, command: Command, kill: str, when: str, rng: random.Random) -> None:
        """Kill a command, and give it again."""
        whole, seconds = self.whole(command)
        out = self._out(command, "case")
        argv = self._argv(command, out)
        numbers = [getattr(signal, f"SIG{name}") for name in kill.split()]
        numbers += [signal.SIGTERM] * ("USR1" in kill)  # by both, a training is stopped by a scheduler
        codes = {whole.code, *(-number for number in numbers), *(128 + number for number in numbers)}
        for _ in range(rng.choice(AGAIN)):
            pid = start(argv, str(self.place / "said.txt"))
            time.sleep(seconds * rng.uniform(*WHEN[when]))
            send(pid, kill)
            code = forked.end(pid)
            said = (self.place / "said.txt").read_text(errors="replace")
            assert code in codes, f"exit code {code}\n{said}"
            assert "Traceback" not in said, said
        self._same(command, out, whole)

    def surround(self, command: Command, what: str, _: str, rng: random.Random) -> None:
        """Give a command in bad surroundings, and again in good ones."""
        whole, _seconds = self.whole(command)
        unwritable = what == "a folder that can't be written"
        out = UNWRITABLE if unwritable else self._out(command, "case")
        argv = self._argv(command, out)
        outcome = self._run(argv, out, command.compared, SURROUNDINGS[what])
        assert b"Traceback" not in outcome.said, outcome.said.decode()
        assert outcome.code in ({0, 1, 2, 3} if what in MAY_FAIL else {whole.code}), outcome
        if what not in MAY_FAIL:
            assert outcome.files == whole.files, f"another result: {_different(outcome, whole)}"
        if not unwritable:
            self._same(command, out, whole)

    def befall(self, command: Command, what: str, name: str, rng: random.Random) -> None:
        """Let something befall what a command reads, put it back, and give the command again."""
        whole, _seconds = self.whole(command)
        source, out, backup = self.place / name, self._out(command, "case"), self.place / "backup"
        shutil.copytree(source, backup) if source.is_dir() else shutil.copy2(source, backup)
        number = rng.choice(OPENED)
        try:
            outcome = self._run(
                self._argv(command, out), out, command.compared, lambda: befall(what, source, number)
            )
        finally:
            for left in (source, source.with_name(f"gone-{name}")):
                shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
            backup.rename(source)
        assert b"Traceback" not in outcome.said, outcome.said.decode()
        assert outcome.code in {whole.code, 0, 1, 2, 3}, outcome
        if what not in DAMAGING and not any(b'"unhashed"' in each for each in outcome.files.values()):
            self._same(
                command, out, whole
            )  # a manifest says of what couldn't be read that it isn't in its hash

    def cases(self) -> Iterator[Case]:
        """All: what tries it, the command, the fault, and when, or of which source."""
        for command, kill, when in product(COMMANDS, KILLS, WHEN):
            yield self.kill, command, kill, when
        for command, what in product((each for each in COMMANDS if each.much), SURROUNDINGS):
            yield self.surround, command, what, ""
        for command, what in product(COMMANDS, BEFALL):
            yield from ((self.befall, command, what, name) for name in command.sources)

    def few(self) -> list[Case]:
        """A case of each sort, with commands that read no trained model."""
        prepare = next(each for each in COMMANDS if each.words.startswith("prepare"))
        cohort = next(each for each in COMMANDS if each.words.startswith("cohort"))
        return [
            (self.kill, prepare, "KILL", "while"),
            (self.surround, prepare, "full disk", ""),
            (self.befall, cohort, "a source that vanishes", "corpus"),
        ]

    def try_all(self, cases: Sequence[Case], rng: random.Random) -> list[str]:
        """Try cases; those in which something is left or differs, in words."""
        broken = []
        for attempt, command, fault, when in cases:
            try:
                attempt(command, fault, when, rng)
            except AssertionError as error:
                broken.append(f"{command.words} · {fault} {when}: {error}")
        return broken

    def _argv(self, command: Command, out: Path) -> list[str]:
        return command.argv(self.place, out, self.mirror)

    def _same(self, command: Command, out: Path, whole: Outcome) -> None:
        again = self._run(self._argv(command, out), out, command.compared)
        assert again.code == whole.code, f"exit code {again.code}, given again: {again.said.decode()}"
        assert again.files == whole.files, f"another result: {_different(again, whole)}"
        assert again.hidden == whole.hidden, f"left behind: {sorted(again.hidden ^ whole.hidden)}"
        if command.out is None:
            assert NOISE.sub(b"", again.said) == NOISE.sub(b"", whole.said), again.said.decode()

    def _out(self, command: Command, kind: str) -> Path:
        self._number += 1
        folder = self.place / f"{kind}-{self._number}"
        folder.mkdir()
        return folder / f"out{command.out or ''}"

    def _run(
        self,
        argv: list[str],
        out: Path,
        compared: tuple[str, ...] = ("*",),
        surroundings: Callable[[], object] = lambda: None,
    ) -> Outcome:
        said = self.place / "said.txt"
        code = forked.end(start(argv, str(said), surroundings))
        paths = [path for path in out.parent.rglob("*") if path.is_file()] if out.parent.is_dir() else []
        files = {
            str(path.relative_to(out.parent)): path.read_bytes()
            for path in paths
            if any(path.relative_to(out.parent).match(pattern) for pattern in compared)
        }
        hidden = frozenset(
            str(path.relative_to(out.parent).parent) for path in paths if path.name.startswith(".")
        )
        return Outcome(code, said.read_bytes(), files, hidden)


def _different(one: Outcome, other: Outcome) -> list[str]:
    names = one.files.keys() | other.files.keys()
    return sorted(name for name in names if one.files.get(name) != other.files.get(name))


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    """The cases."""
    folder = tmp_path_factory.mktemp("matrix")
    ensure(folder, "corpus")  # imports here what else every process would import
    address, pid = serve_mirror(folder)
    yield Matrix(folder, address)
    os.kill(pid, signal.SIGKILL)
    forked.end(pid)


def test_nothing_is_left_and_nothing_differs_whatever_happens_to_a_command(matrix):
    sources = sum(len(command.sources) for command in COMMANDS)
    count = len(COMMANDS) * len(KILLS) * 3 + 3 * len(SURROUNDINGS) + sources * len(BEFALL)
    assert len(list(matrix.cases())) == count
    daily = os.environ.get("MARECG_FAULTS")
    seed = date.today().toordinal() if daily else 2  # others every day, and the same again on that day
    rng = random.Random(seed)  # noqa: S311 — no secret
    cases = rng.sample(list(matrix.cases()), int(daily)) if daily else matrix.few()
    assert matrix.try_all(cases, rng) == [], f"seed {seed}"


def test_a_file_that_is_left_is_told(matrix):
    whole, _ = matrix.whole(COMMANDS[0])
    out = matrix._out(COMMANDS[0], "case")
    (out.parent / ".out-left").touch()
    with pytest.raises(AssertionError, match="another result"):
        matrix._same(COMMANDS[0], out, whole)
