"""Compare measured intervals with cardiologists' marks in LUDB, and with conduction disorders in PTB-XL.

In LUDB, cardiologists marked the onset and offset of each wave in each lead. The reference interval of a beat
lasts from the second-earliest onset to the second-latest offset over the leads, so that a mistake in one lead
has no effect. The reference of a record is the median over its beats. `rank` is the number of leads that are
ignored at either end, by default 1.

Shapes: N beats, K leads.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import wfdb
from numpy.typing import NDArray

from ecg_records.measurements.intervals import Measurements, measure
from ecg_records.readers.inputs import find_inputs

LEADS = ("i", "ii", "iii", "avr", "avl", "avf", "v1", "v2", "v3", "v4", "v5", "v6")
SYMBOLS = {"p": "p", "qrs": "N", "t": "t"}
INTERVALS = {"p": ("p", "p"), "pr": ("p", "qrs"), "qrs": ("qrs", "qrs"), "qt": ("qrs", "t")}
"""First and last wave of each interval. The last wave of PR is QRS, but PR ends at its onset."""
REACH_MS = {"p": 30, "pr": 25, "qrs": 20, "qt": 40}
BEATS_APART, LEAST_LEADS = 100, 4
CLASSES = {"CLBBB": ("qrs", 118), "CRBBB": ("qrs", 118), "1AVB": ("pr", 200), "AFIB": ("pr", 0)}
"""Interval that a statement of PTB-XL affects, and its minimum in ms.

The minimum is 0 if the interval should be missing.
"""
LAST_FOLD = 8
"""Last fold of PTB-XL that is used. Folds 9 and 10 are kept for the evaluation of encoders."""

Floats = NDArray[np.float64]
Wave = tuple[float, int, float]
"""Samples of onset, peak and offset."""


def ludb(folder: Path, rank: int, measured: Callable[..., Measurements] = measure) -> Iterator[str]:
    """Yield a line per interval: number of records, bias, median error, and share of small errors.

    Args:
        folder: LUDB's data folder.
        rank: number of leads that are ignored at either end.
        measured: function that measures a record.
    """
    errors: dict[str, list[float]] = {name: [] for name in INTERVALS}
    for header in sorted(folder.glob("*.hea"), key=lambda path: int(path.stem)):
        record = wfdb.rdrecord(str(header.with_suffix("")))
        values, truth = measured(record.p_signal.T, record.fs, record.sig_name), reference(header, rank)
        for name, of_interval in errors.items():
            of_interval.append((getattr(values, name) or np.nan) - 1000 / record.fs * truth[name])
    for name, of_interval in errors.items():
        error = np.array(of_interval)[np.isfinite(of_interval)]
        yield (
            f"LUDB {name:<4} {len(error):>3} of {len(of_interval)} records, bias {np.median(error):+.1f} ms, "
            f"median |error| {np.median(abs(error)):.1f}, 90 % within {np.percentile(abs(error), 90):.1f}, "
            f"{np.mean(abs(error) <= REACH_MS[name]):.0%} within {REACH_MS[name]}"
        )


def reference(header: Path, rank: int) -> dict[str, float]:
    """Return a record's reference intervals in samples. An interval of fewer than two beats is NaN."""
    leads, beats = [_waves(header, lead) for lead in LEADS], marked_beats(header)
    ends = [
        _ends(leads, *around, rank)
        for around in zip([None, *beats[:-1]], beats, [*beats[1:], None], strict=True)
    ]
    lengths = {}
    for name, (first, last) in INTERVALS.items():
        stop = 0 if name == "pr" else 1
        found = [end[last][stop] - end[first][0] for end in ends]
        known = [length for length in found if np.isfinite(length)]
        lengths[name] = float(np.median(known)) if len(known) >= 2 else np.nan
    return lengths


def marked_beats(header: Path) -> list[int]:
    """Return the samples of the QRS complexes that are marked in at least `LEAST_LEADS` leads."""
    peaks = np.sort([peak for lead in LEADS for _, peak, _ in _waves(header, lead)["qrs"]])
    groups = np.split(peaks, np.flatnonzero(np.diff(peaks) > BEATS_APART) + 1)
    return [int(np.median(group)) for group in groups if len(group) >= LEAST_LEADS]


def _waves(header: Path, lead: str) -> dict[str, list[Wave]]:
    """Return the marked waves of a lead."""
    marks = wfdb.rdann(str(header.with_suffix("")), lead)
    symbols, samples = ["", *marks.symbol, ""], [np.nan, *marks.sample, np.nan]
    waves: dict[str, list[Wave]] = {name: [] for name in SYMBOLS}
    for name, symbol in SYMBOLS.items():
        for mark in np.flatnonzero(np.array(symbols) == symbol):
            onset = samples[mark - 1] if symbols[mark - 1] == "(" else np.nan
            offset = samples[mark + 1] if symbols[mark + 1] == ")" else np.nan
            waves[name].append((onset, int(samples[mark]), offset))
    return waves


def _ends(
    leads: list[dict[str, list[Wave]]], before: int | None, beat: int, after: int | None, rank: int
) -> dict[str, tuple[float, float]]:
    """Return the onset and offset of each wave of a beat, combined over the leads.

    They are NaN if fewer than `LEAST_LEADS` leads have a mark.

    Args:
        leads: marked waves of each lead.
        before: sample of the previous beat, if any.
        beat: sample of the beat.
        after: sample of the next beat, if any.
        rank: number of leads that are ignored at either end.
    """
    early = max(-225, before - beat + 50) if before is not None else -225
    late = min(330, after - beat - 40) if after is not None else 330
    ranges = {"p": (early, -10), "qrs": (-60, 60), "t": (30, late)}
    ends = {}
    for name, (low, high) in ranges.items():
        in_range = [[wave for wave in waves[name] if low <= wave[1] - beat <= high] for waves in leads]
        chosen = [max(waves) if name == "p" else min(waves) for waves in in_range if waves]
        onsets = sorted(onset for onset, _, _ in chosen if np.isfinite(onset))
        offsets = sorted(offset for _, _, offset in chosen if np.isfinite(offset))
        first = onsets[rank] if len(onsets) >= LEAST_LEADS else np.nan
        ends[name] = (first, offsets[-1 - rank] if len(offsets) >= LEAST_LEADS else np.nan)
    return ends


def machines(folder: Path) -> Iterator[str]:
    """Yield lines that compare our measurements with the devices' measurements in hospital files."""
    differences: dict[str, list[float]] = {name: [] for name in (*INTERVALS, "axis")}
    for name, candidate in sorted(find_inputs([folder]).items()):
        record = candidate.read()
        measurements, machine = measure(record.x_KL, record.fs, record.leads), record.machine
        cells = []
        for interval, of_interval in differences.items():
            by_device, by_us = getattr(machine, interval), getattr(measurements, interval)
            if by_device is not None:
                cells.append(f"{interval} {by_device:.0f} → {'–' if by_us is None else f'{by_us:.0f}'}")
            if by_device is not None and by_us is not None:
                longer = by_us - by_device
                of_interval.append((longer + 180) % 360 - 180 if interval == "axis" else longer)
        yield f"{name}: {', '.join(cells) or 'no measurements in the file'}"
    for interval, of_interval in differences.items():
        if of_interval:
            yield (
                f"{interval:<4} {len(of_interval)} files, "
                f"ours longer by {np.median(of_interval):+.0f} (median), "
                f"median |difference| {np.median(np.abs(of_interval)):.0f}, "
                f"largest {np.max(np.abs(of_interval)):.0f}"
            )


def ptbxl(folder: Path, limit: int) -> Iterator[str]:
    """Yield a line per statement with likelihood 100: the share of records whose interval agrees with it.

    Lines for normal records show how often their intervals would wrongly agree.
    """
    table = pd.read_csv(folder / "ptbxl_database.csv")
    table = table[table.strat_fold <= LAST_FOLD]
    on_disk = table[[(folder / f"{name}.hea").exists() for name in table.filename_hr]]
    codes = on_disk.scp_codes.map(ast.literal_eval)
    for statement in (*CLASSES, "NORM"):
        names = on_disk.filename_hr[[code.get(statement, 0) == 100 for code in codes]][:limit]
        records = [wfdb.rdrecord(str(folder / name)) for name in names]
        measured = [measure(record.p_signal.T, record.fs, record.sig_name) for record in records]
        limits = [pair for pair in (*dict.fromkeys(CLASSES.values()), ("qtc", 470)) if pair[1]]
        for interval, least in limits if statement == "NORM" else [CLASSES[statement]]:
            lengths = [
                values.qtc() if interval == "qtc" else getattr(values, interval) for values in measured
            ]
            values = np.array([length for length in lengths if length is not None])
            share = (
                f"; {np.mean(values >= least):.1%} of these are ≥ {least} ms" if least and len(values) else ""
            )
            yield f"PTB-XL {statement:<6} {len(values)} of {len(measured)} have a {interval}{share}"
