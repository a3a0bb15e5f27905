"""Choose, measure and print rows of the benchmarks."""

import os
import platform
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from benchmarks import (
    checkpointing,
    embedding,
    encoder,
    features,
    holter,
    loading,
    minirocket,
    optimiser,
    preparing,
    probing,
    starting,
    step,
    supervision,
)
from benchmarks.ratio import Effort, Measured, Row
from marecg.errors import UsageError

SUBJECTS = (
    encoder,
    step,
    checkpointing,
    optimiser,
    loading,
    supervision,
    probing,
    features,
    minirocket,
    embedding,
    starting,
    preparing,
    holter,
)
ROWS: dict[str, Row] = {row.name: row for subject in SUBJECTS for row in subject.ROWS}


def choose(names: Sequence[str]) -> list[Row]:
    """Return rows by name, in the order of the table; all rows if `names` is empty.

    Raises:
        UsageError: a row is unknown.
    """
    for name in names:
        if name not in ROWS:
            raise UsageError(f"unknown row {name!r}", remedy=f"Choose from {', '.join(ROWS)}")
    return [row for name, row in ROWS.items() if name in names or not names]


def measure(rows: Collection[Row], effort: Effort) -> Iterator[Measured]:
    """Measure rows. Each module of benchmarks runs in a new process.

    In a common process, the heap left by one module would influence the next: AdamW's ratio was 2.6 after
    training steps, and 4.8 in a new process.
    """
    for subject in SUBJECTS:
        chosen = [row for row in subject.ROWS if row in rows]
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            for row in chosen:
                yield Measured(row, process.submit(row.measure, effort).result())


def machine() -> dict[str, Any]:
    """Return a description of the machine and the versions."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def as_json(measured: Sequence[Measured], effort: Effort) -> dict[str, Any]:
    """Return all results as values for JSON, including the ratios of all turns."""
    return {
        "machine": machine(),
        "effort": asdict(effort),
        "rows": [
            {
                "name": each.row.name,
                "what": each.row.what,
                "against": each.row.against,
                "ratio": each.ratio,
                "spread": each.spread,
                "reach": str(each.row.reach),
                "met": each.met,
                "limit": each.row.limit,
                "ratios": list(each.ratios),
            }
            for each in measured
        ],
    }


def as_text(each: Measured) -> str:
    """Format a row for the terminal. A missed target is marked with `!`."""
    row, mark = each.row, " " if each.met else "!"
    figures = f"{_short(each.ratio):>8} ± {_short(each.spread):<8}{row.reach!s:<8}"
    return f"{mark} {row.name:<21}{figures}{row.what} : {row.against}"


def as_markdown(measured: Sequence[Measured]) -> str:
    """Format the results as the table in docs/performance.md, followed by a line on the machine."""
    lines = ["| what | against | ratio | reach | limit |", "|---|---|---|---|---|"]
    for each in measured:
        what, ratio = f"{each.row.what} (`{each.row.name}`)", f"{_short(each.ratio)} ± {_short(each.spread)}"
        lines.append(
            f"| {what} | {each.row.against} | {ratio} | {each.row.reach} | {each.row.limit or '–'} |"
        )
    about = machine()
    lines += [
        "",
        f"{about['cpu']}, {about['cores']} cores, {about['threads']} threads, torch {about['torch']}, "
        f"Python {about['python']}.",
    ]
    return "\n".join(lines)


def _short(value: float) -> str:
    """Format a number with three significant digits and without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}" if value >= 1e-4 else f"{value:.1f}"


def _cpu() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
