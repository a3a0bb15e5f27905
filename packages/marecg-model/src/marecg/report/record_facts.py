"""Write facts and remarks for a record's page: patient, electrodes, measurements, and the device's report.

Shapes: K leads, L samples.
"""

from collections.abc import Collection

from ecg_records.machine import MachineReport
from ecg_records.measurements.childhood import FAST, is_child, limits_of, qtc_at
from ecg_records.measurements.electrodes import Doubts
from ecg_records.measurements.intervals import Measurements
from ecg_records.notes import DOUBTS, MENDED, reported
from marecg.report.records import Shown
from marecg.report.texts import Texts

LONG_PR_MS, WIDE_QRS_MS, LONG_QTC_MS = 220, 120, 500
"""Minimum values for a remark on the page. PR has a high limit, because normal records also have 200 ms."""

NO_SINGLE_P = {"AF", "AFL"}
"""Findings in which a QRS complex has no P wave of its own."""

INFANT = 2
"""Age in years below which an age is written in months or days."""

RATES_APART, PAUSE_MS = 0.15, 2000
"""Minimum relative difference between mean and median rate, and duration of a pause, for a remark."""


def recording_facts(shown: Shown, say: Texts) -> dict[str, str]:
    """Return facts of a recording by name: patient, time, device, duration and filters."""
    sexes = {"F": say("female"), "M": say("male")}
    seconds, total = (f"{samples / shown.fs:.1f}" for samples in (shown.x_KL.shape[1], shown.length))
    seconds = (
        say("beginning", seconds=seconds, total=total) if shown.length > shown.x_KL.shape[1] else seconds
    )
    cells = {
        say("patient"): shown.patient,
        say("age"): _age(shown.age, say),
        say("sex"): sexes.get(shown.sex or "", ""),
        say("date"): shown.date,
        say("device"): " ".join(shown.device.split()),
        say("sampling"): say("sampled", seconds=seconds, fs=f"{shown.fs:g}", leads=len(shown.leads)),
        say("filters"): shown.filters.removeprefix("filtered "),
    }
    return {name: text for name, text in cells.items() if text}


def _age(age: float | None, say: Texts) -> str:
    """Return an age in years, or an infant's age in months or days."""
    if age is None:
        return ""
    if 0 < age < 1 / 12:
        return say("age_days", number=round(age * 365.25))
    return say("age_months", number=round(age * 12)) if 0 < age < INFANT else f"{age:g}"


def electrode_quality(suspected: Doubts, shown: Shown, say: Texts) -> tuple[str, str]:
    """Return sentences on electrode faults, repaired leads and notes on the file, and their CSS class.

    Without leads I and V6, swapped arm electrodes can't be detected.
    """
    faults = suspected._asdict()
    lines = [say("quality_swapped_arms")] * faults.pop("swapped_arms")
    for repair in MENDED:
        faults[repair] = [lead for note in shown.notes if note.kind == repair for lead in note.leads]
    lines += [say(f"quality_{name}", leads=", ".join(bad)) for name, bad in faults.items() if bad]
    good = "quality_good" if {"I", "V6"} <= {*shown.leads} else "quality_good_but_arms"
    notes = [note for note in reported(shown.notes) if note.kind not in MENDED]
    doubtful = bool(lines) or any(note.kind in DOUBTS for note in notes)
    sentences = lines if doubtful else [say(good)]
    if notes:
        sentences = [*sentences, say("quality_noted", notes="; ".join(notes).removesuffix("?"))]
    return " ".join(sentences), "warning" if doubtful else ""


def measurement_facts(measured: Measurements, say: Texts, age: float | None = None) -> dict[str, str]:
    """Return rate, intervals and axes by name, with units. A missing value is a dash."""
    values = {name: getattr(measured, name) for name in ("rate", "p", "pr", "qrs", "qt")}
    values |= {f"qtc_{formula}": qtc_at(age, measured, formula) for formula in ("bazett", "fridericia")}
    values |= {name: getattr(measured, name) for name in ("axis", "p_axis", "t_axis")}
    return {say(name): _with_unit(name, value, say) for name, value in values.items()}


def measurement_remarks(
    measured: Measurements,
    say: Texts,
    age: float | None = None,
    sex: str | None = None,
    codes: Collection[str] = (),
) -> str:
    """Return remarks on the measurements, for example on pacing, a long PR, or a QTc that isn't reliable.

    A child's rate, PR, QRS and QTc are also compared with limits of the age. The remark on a long PR, which
    uses a limit of adults, is left out for a child.

    Args:
        measured: measurements of the record.
        say: texts of the page.
        age: age in years.
        sex: F or M.
        codes: abbreviations of the coded findings.
    """
    child, fast = is_child(age), measured.qt is not None and (measured.rate or 0) > FAST
    qtcs = [qtc_at(age, measured, formula) for formula in ("bazett", "fridericia")]
    remarks = {
        "paced": measured.paced,
        "qtc_long": max(qtc or 0 for qtc in qtcs) >= LONG_QTC_MS,
        "pr_long": (measured.pr or 0) >= LONG_PR_MS and not child,
        "pr_in_af": measured.pr is not None and not NO_SINGLE_P.isdisjoint(codes),
        "qtc_wide": (measured.qrs or 0) >= WIDE_QRS_MS and measured.qt is not None,
        "child_fast" if child else "qtc_fast": fast,
    }
    lines = [say(name) for name, holds in remarks.items() if holds]
    lines = [*_rate_changes(measured, say), *lines]
    return " ".join([*lines, _by_age(measured, say, age, sex)] if age is not None and child else lines)


def _rate_changes(measured: Measurements, say: Texts) -> list[str]:
    """Return a remark if mean and median rate differ, or if there is a pause."""
    rate, usual, longest = measured.rate, measured.usual_rate, measured.longest_cycle
    if rate is None or usual is None or longest is None:
        return []
    if abs(rate - usual) < RATES_APART * min(rate, usual) and longest <= PAUSE_MS:
        return []
    numbers = {"mean": say.number(rate), "usual": say.number(usual), "longest": say.number(longest / 1000, 1)}
    return [say("rate_changes", **numbers)]


def _by_age(measured: Measurements, say: Texts, age: float, sex: str | None) -> str:
    """Return a sentence that compares a child's values with the limits of the age, if there are limits."""
    limits = limits_of(age, sex)
    if not limits:
        return say("child_no_limits")
    values = {name: getattr(measured, name) for name in ("rate", "pr", "qrs")}
    values["qtc"] = qtc_at(age, measured, "bazett")
    beyond = [
        f"{say(name)} {say.number(value)} ({low}–{high})"
        for name, (low, high) in limits.items()
        if (value := values[name]) is not None and not low <= round(value) <= high
    ]
    return say("child_beyond", what=", ".join(beyond)) if beyond else say("child_within")


def machine_facts(machine: MachineReport, say: Texts) -> dict[str, str]:
    """Return the measurements and statements of the device by name, or {} if the file has none."""
    names = ("rate", "atrial_rate", "pr", "qrs", "qt", "qtc", "axis", "p_axis", "t_axis")
    values = {name: getattr(machine, name) for name in names}
    cells = {say(name): _with_unit(name, value, say) for name, value in values.items() if value is not None}
    return cells | ({say("statements"): "; ".join(machine.statements)} if machine.statements else {})


def missing_reasons(measured: Measurements, say: Texts) -> str:
    """Return sentences that explain missing values. Values with the same reason share a sentence."""
    names: dict[str, list[str]] = {}
    reasons = {"axis": "axis_leads"} if measured.axis is None and measured.rate is not None else {}
    reasons |= measured.reasons
    for name in ("rate", "p", "pr", "qrs", "qt", "axis"):
        if reason := reasons.get(name):
            names.setdefault(reason, []).append(say(name))
    return " ".join(f"{', '.join(values)}: {say(reason)}" for reason, values in names.items())


def _with_unit(name: str, value: float | None, say: Texts) -> str:
    unit = say("bpm") if name.endswith("rate") else "°" if name.endswith("axis") else "ms"
    return say.number(value) + (f" {unit}" if value is not None else "")
