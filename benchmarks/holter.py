"""Measure the memory that a recording of a day needs, relative to a recording of an hour."""

import os
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.corpora import records, workspace
from benchmarks.ratio import Effort, Reach, Row
from ecg_records.readers.inputs import find_inputs
from ecg_records.signal.leads import LEADS
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import tiny

FS, HOURS = 250, 24


def peaks(command: str, options: tuple[str, ...], effort: Effort) -> list[float]:
    """Return a command's peak memory for a recording of a day, divided by its peak for an hour."""
    model = [str(_model())] if command != "prepare" else []
    day, hour = (_peak([command, *model, str(_holter(hours)), *options]) for hours in (effort.of(HOURS), 1))
    return [day / hour]


def _peak(argv: list[str]) -> int:
    tool, out = str(Path(sys.executable).with_name("marecg")), workspace() / "holter-out"
    arguments = [argument.format(out=f"{out}-{os.urandom(4).hex()}") for argument in argv]
    process = subprocess.Popen([tool, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 — ours
    with process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return usage.ru_maxrss


@cache
def _holter(hours: int) -> Path:
    """Return the folder of a recording of `hours` hours, which repeats ten synthetic seconds."""
    folder = workspace() / f"holter-{hours}"
    folder.mkdir()
    record = next(iter(find_inputs([records(1)]).values())).read()
    x_LC = (1000 * record.x_CL.T[:: round(record.fs / FS)]).astype("<i2")
    with (folder / "h.dat").open("wb") as file:
        for _ in range(hours * 6):
            file.write(np.tile(x_LC, (60, 1)).tobytes())
        samples = file.tell() // (2 * len(LEADS))
    lines = [f"h.dat 16 1000/mV 16 0 0 0 0 {lead}" for lead in LEADS]
    (folder / "h.hea").write_text("\n".join([f"h 12 {FS} {samples}", *lines, "#Dx: 426783006", ""]))
    return folder


@cache
def _model() -> Path:
    """Return the folder of a small untrained model."""
    torch.manual_seed(0)
    model = MarEcg(tiny().model)
    model.save_pretrained(workspace() / "holter-model")
    return workspace() / "holter-model"


def _row(command: str, *options: str) -> Row:
    what, against = f"peak memory of `{command}` of a 24-h recording", f"`{command}` of a 1-h recording"
    return Row(f"holter-{command}", what, against, Reach("≤", 1.1), "1", partial(peaks, command, options))


ROWS = (
    _row("prepare", "--out", "{out}", "--jobs", "1", "--set", "windows=every 1h"),
    _row("embed", "--out", "{out}.parquet", "--jobs", "1"),
)
