"""What it takes until a command answers, beside importing the library that parses its arguments."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from marecg.bench.corpora import prepared, workspace
from marecg.bench.ratio import Effort, Reach, Row

BASELINE = (sys.executable, "-c", "import typer")
LIBRARIES = (sys.executable, "-c", "import torch, lightning")
RECORDS = 64
TURNS = 3
"""Starts of a command per repeat; each takes a fraction of a second."""


def start(command: Sequence[str], effort: Effort) -> list[float]:
    """Processor seconds of a command over those of the import, in turns.

    The command stands beside this interpreter.
    """
    tool = str(Path(sys.executable).with_name(command[0]))
    turns = [
        (cpu_seconds((tool, *command[1:])), cpu_seconds(BASELINE)) for _ in range(effort.repeats * TURNS + 1)
    ]
    return [ours / baseline for ours, baseline in turns[1:]]


def imported(ours: str, baseline: str, effort: Effort) -> list[float]:
    """Processor seconds of one import over those of another, in turns; both take seconds."""
    first, second = ((sys.executable, "-c", f"import {modules}") for modules in (ours, baseline))
    return [cpu_seconds(first) / cpu_seconds(second) for _ in range(effort.repeats)]


def first_step(effort: Effort) -> list[float]:
    """Processor seconds of a training of one step over those of importing torch and Lightning."""
    corpus, tool = prepared(effort.of(RECORDS)).folder, str(Path(sys.executable).with_name("marecg"))
    ratios = []
    for turn in range(effort.repeats):
        run = str(workspace() / f"one-step-{turn}")
        options = ("--recipe", "tiny", "--data", str(corpus), "--out", run, "--set", "train.max_steps=1")
        ratios.append(cpu_seconds((tool, "train", *options)) / cpu_seconds(LIBRARIES))
    return ratios


def cpu_seconds(command: Sequence[str]) -> float:
    """User and system time of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=os.environ)  # noqa: S603 — ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _row(name: str, *command: str) -> Row:
    what = " ".join(command)
    return Row(name, what, 'python -c "import typer"', Reach("≤", 2.2), "1", partial(start, command))


ROWS = (
    _row("start-ecgonto", "ecgonto", "--help"),
    _row("start-marecg", "marecg", "--help"),
    _row("start-route", "ecgonto", "route", "164889003"),
    Row(
        "import-train",
        "import marecg.train.run",
        "import torch, lightning",
        Reach("≤", 1.5),
        "1",
        partial(imported, "marecg.train.run", "torch, lightning"),
    ),
    Row(
        "first-step",
        "marecg train, one step of `tiny`, model written",
        "import torch, lightning",
        Reach("≤", 2),
        "1",
        first_step,
    ),
)
