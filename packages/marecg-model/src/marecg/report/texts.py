"""What the page of a record says in the reader's language, and what stands beside its tracing.

Shapes: K leads, L samples.
"""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from marecg.base.errors import UsageError
from marecg.ecg.electrodes import Doubts
from marecg.ecg.intervals import Measurements
from marecg.read.machine import MachineReport
from marecg.report.records import Shown

Say = Callable[..., str]
"""Fills in the text of a key."""


def languages() -> list[str]:
    """The languages that every text is written in, English first."""
    return list(next(iter(_read().values())))


def texts(language: str) -> Say:
    """A function from a key and what is to be filled in to the text.

    Raises:
        UsageError: nothing is written in that language.
    """
    if language not in languages():
        raise UsageError(
            f"the page of a record is not written in {language!r}",
            remedy=f"Choose one of {', '.join(languages())}",
        )

    def say(key: str, **values: object) -> str:
        text = _read()[key][language].format(**values)
        return text if language == "en" else _decimal_commas(text)

    return say


def number(value: float | None, digits: int, language: str) -> str:
    """A number as it is written in a language; a dash where there is none."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return (text if language == "en" else text.replace(".", ",")).replace("-", "−")


@cache
def _read() -> dict[str, dict[str, str]]:
    with Path(__file__).with_name("texts.toml").open("rb") as file:
        return tomllib.load(file)


def _decimal_commas(text: str) -> str:
    """Points between digits as commas."""
    return re.sub(r"(?<=\d)\.(?=\d)", ",", text)


def recording_facts(shown: Shown, say: Say) -> dict[str, str]:
    """Who, when and by what, as far as the file or the dataset's table says it."""
    sexes = {"F": say("female"), "M": say("male")}
    seconds = f"{shown.x_KL.shape[1] / shown.fs:.1f}"
    cells = {
        say("age"): f"{shown.age:g}" if shown.age is not None else "",
        say("sex"): sexes.get(shown.sex or "", ""),
        say("date"): shown.date,
        say("device"): " ".join(shown.device.split()),
        say("sampling"): say("sampled", seconds=seconds, fs=f"{shown.fs:g}", leads=len(shown.leads)),
    }
    return {name: text for name, text in cells.items() if text}


def electrode_quality(suspected: Doubts, say: Say) -> str:
    """What may be wrong with the electrodes, in sentences."""
    lines = [
        say(f"quality_{name}", leads=", ".join(leads))
        for name, leads in (("off", suspected.off), ("noisy", suspected.noisy))
        if leads
    ]
    lines += [say("quality_swapped_arms")] * suspected.swapped_arms
    return " ".join(lines) or say("quality_good")


def measurement_facts(measured: Measurements, say: Say, language: str) -> dict[str, str]:
    """Rate, intervals and axis with their units; a dash for what can't be told.

    PR isn't yet near enough to PTB-XL's statements.
    """
    values = {name: getattr(measured, name) for name in ("rate", "qrs", "qt")}
    values |= {f"qtc_{measured.qtc_formula}": measured.qtc(), "axis": measured.axis}
    return {say(name): _with_unit(name, value, say, language) for name, value in values.items()}


def machine_facts(machine: MachineReport, say: Say, language: str) -> dict[str, str]:
    """What the electrocardiograph measured and stated; nothing where the file doesn't say."""
    values = {name: getattr(machine, name) for name in ("rate", "pr", "qrs", "qt", "qtc", "axis")}
    cells = {
        say(name): _with_unit(name, value, say, language)
        for name, value in values.items()
        if value is not None
    }
    return cells | ({say("statements"): "; ".join(machine.statements)} if machine.statements else {})


def missing_reasons(measured: Measurements, say: Say) -> str:
    """Why there is a dash, a sentence for each interval that has one."""
    reasons = {name: measured.reasons.get(name) for name in ("qrs", "qt", "axis")}
    return " ".join(f"{say(name)}: {say(reason)}" for name, reason in reasons.items() if reason)


def _with_unit(name: str, value: float | None, say: Say, language: str) -> str:
    unit = {"rate": say("bpm"), "axis": "°"}.get(name, "ms")
    return number(value, 0, language) + (f" {unit}" if value is not None else "")
