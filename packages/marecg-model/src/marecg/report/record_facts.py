"""What stands beside a tracing: who and when, what was measured, and whether the electrodes are in place.

Shapes: K leads, L samples.
"""

from marecg.ecg.electrodes import Doubts
from marecg.ecg.intervals import Measurements
from marecg.read.machine import MachineReport
from marecg.report.records import Shown
from marecg.report.texts import Say, number


def about(shown: Shown, say: Say) -> dict[str, str]:
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


def quality(found: Doubts, say: Say) -> str:
    """What may be wrong with the electrodes, in sentences."""
    lines = [
        say(f"quality_{name}", leads=", ".join(leads))
        for name, leads in (("off", found.off), ("noisy", found.noisy))
        if leads
    ]
    return " ".join([*lines, *[say("quality_swapped_arms")] * found.swapped_arms]) or say("quality_good")


def measured(found: Measurements, say: Say, language: str) -> dict[str, str]:
    """Rate, intervals and axis with their units; a dash for what can't be told."""
    cells = {}
    for name, value in _values(found).items():
        unit = {"rate": say("bpm"), "axis": "°"}.get(name, "ms")
        cells[say(name)] = number(value, 0, language) + (f" {unit}" if value is not None else "")
    return cells


def theirs(machine: MachineReport, say: Say, language: str) -> dict[str, str]:
    """What the electrocardiograph measured and stated; nothing where the file doesn't say."""
    units = {"rate": say("bpm"), "axis": "°"}
    cells = {
        say(name): f"{number(value, 0, language)} {units.get(name, 'ms')}"
        for name in ("rate", "pr", "qrs", "qt", "qtc", "axis")
        if (value := getattr(machine, name)) is not None
    }
    return cells | ({say("statements"): "; ".join(machine.statements)} if machine.statements else {})


def _values(measured: Measurements) -> dict[str, float | None]:
    """What is printed of a record, by its text's key; PR isn't yet near enough to PTB-XL's statements."""
    values = {name: getattr(measured, name) for name in ("rate", "qrs", "qt")}
    return values | {f"qtc_{measured.qtc_formula}": measured.qtc(), "axis": measured.axis}


def reasons(measured: Measurements, say: Say) -> str:
    """Why there is a dash, a sentence for each interval that has one."""
    reasons = {name: measured.reasons.get(name) for name in ("qrs", "qt", "axis")}
    return " ".join(f"{say(name)}: {say(reason)}" for name, reason in reasons.items() if reason)
