"""Measure the start of commands, relative to a minimal command or to the import of large libraries."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.corpora import prepared, workspace
from benchmarks.ratio import Effort, Reach, Row

HELP = "import typer; app = typer.Typer(rich_markup_mode='markdown'); app.command()(lambda code: None); app()"
"""Program that prints a help page with Rich's panels."""
PARSED = "import typer; typer.run(lambda code: None)"
"""Program that parses an argument and does nothing. To parse an argument, Typer imports pydantic."""
LIBRARIES = (sys.executable, "-c", "import torch, lightning")
RECORDS = 64
TURNS = 3
"""Number of starts per repeat. A start takes a fraction of a second."""


def start(command: Sequence[str], baseline: Sequence[str], effort: Effort) -> list[float]:
    """Return the CPU time of a command divided by the CPU time of a Python program, in turns.

    Args:
        command: command and arguments. The command is in the folder of this interpreter.
        baseline: program and arguments.
        effort: number of repeats.
    """
    tool = str(Path(sys.executable).with_name(command[0]))
    least = (sys.executable, "-c", *baseline)
    turns = [
        (cpu_seconds((tool, *command[1:])), cpu_seconds(least)) for _ in range(effort.repeats * TURNS + 1)
    ]
    return [ours / baseline for ours, baseline in turns[1:]]


def imported(ours: str, baseline: str, effort: Effort) -> list[float]:
    """Return the CPU time of an import divided by the CPU time of another import, in turns."""
    first, second = ((sys.executable, "-c", f"import {modules}") for modules in (ours, baseline))
    return [cpu_seconds(first) / cpu_seconds(second) for _ in range(effort.repeats)]


def first_step(effort: Effort) -> list[float]:
    """Return the CPU time of a training of one step, divided by the time of importing torch and Lightning.

    The training includes the writing of the model.
    """
    corpus, tool = prepared(effort.of(RECORDS)).folder, str(Path(sys.executable).with_name("marecg"))
    ratios = []
    for turn in range(effort.repeats):
        run = str(workspace() / f"one-step-{turn}")
        options = ("--recipe", "tiny", "--data", str(corpus), "--out", run, "--set", "train.max_steps=1")
        ratios.append(cpu_seconds((tool, "train", *options)) / cpu_seconds(LIBRARIES))
    return ratios


def cpu_seconds(command: Sequence[str]) -> float:
    """Return the user and system time of a process and its children.

    Python may write compiled modules, as it does for installed packages.
    """
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=settings)  # noqa: S603 — ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _help(name: str, tool: str) -> Row:
    command, baseline = (tool, "--help"), (HELP, "--help")
    what, against = f"CPU time of `{tool} --help`", "`--help` of a minimal Typer command"
    return Row(name, what, against, Reach("≤", 1.4), "1", partial(start, command, baseline))


CODE = "164889003"
ROWS = (
    _help("start-ecgonto", "ecgonto"),
    _help("start-marecg", "marecg"),
    Row(
        "start-route",
        f"CPU time of `ecgonto route {CODE}`",
        "a minimal Typer command",
        Reach("≤", 1.3),
        "1",
        partial(start, ("ecgonto", "route", CODE), (PARSED, CODE)),
    ),
    Row(
        "import-train",
        "CPU time of `import marecg.train.run`",
        "`import torch, lightning`",
        Reach("≤", 1.5),
        "1",
        partial(imported, "marecg.train.run", "torch, lightning"),
    ),
    Row(
        "first-step",
        "CPU time of `marecg train` for one step of `tiny`",
        "`import torch, lightning`",
        Reach("≤", 2),
        "1",
        first_step,
    ),
)
