"""Intervals against people: LUDB's onsets and offsets by cardiologists, and PTB-XL's conduction disorders.

Of a LUDB record, people marked each wave in each lead. The record's own interval is, per beat, from the
second-earliest onset to the second-latest offset over leads (one lead's slip doesn't count), and then the
median over beats; with `rank` 0 it is from the earliest to the latest.

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
"""Between which waves' ends; a PR ends where the QRS complex begins."""
REACH_MS = {"p": 30, "pr": 25, "qrs": 20, "qt": 40}
BEATS_APART, LEAST_LEADS = 100, 4
CLASSES = {"CLBBB": ("qrs", 118), "CRBBB": ("qrs", 118), "1AVB": ("pr", 200), "AFIB": ("pr", 0)}
"""PTB-XL's statements that an interval should show, and from how many milliseconds; 0: by having none."""

LAST_FOLD = 8
"""Folds 9 and 10 of PTB-XL are kept for the evaluation of encoders."""

Floats = NDArray[np.float64]
Wave = tuple[float, int, float]


def ludb(folder: Path, rank: int, measured: Callable[..., Measurements] = measure) -> Iterator[str]:
    """Per interval how many records have it, the bias, the median error, and the share within reach."""
    errors: dict[str, list[float]] = {name: [] for name in INTERVALS}
    for header in sorted(folder.glob("*.hea"), key=lambda path: int(path.stem)):
        record = wfdb.rdrecord(str(header.with_suffix("")))
        own, truth = measured(record.p_signal.T, record.fs, record.sig_name), reference(header, rank)
        for name, list_ in errors.items():
            list_.append((getattr(own, name) or np.nan) - 1000 / record.fs * truth[name])
    for name, list_ in errors.items():
        error = np.array(list_)[np.isfinite(list_)]
        yield (
            f"LUDB {name:<4} {len(error):>3} of {len(list_)} records, bias {np.median(error):+.1f} ms, "
            f"median |error| {np.median(abs(error)):.1f}, 90 % within {np.percentile(abs(error), 90):.1f}, "
            f"{np.mean(abs(error) <= REACH_MS[name]):.0%} within {REACH_MS[name]}"
        )


def reference(header: Path, rank: int) -> dict[str, float]:
    """A record's intervals in samples as people marked them; NaN where fewer than two beats have them."""
    leads, beats = [_waves(header, lead) for lead in LEADS], marked_beats(header)
    ends = [
        _ends(leads, *around, rank)
        for around in zip([None, *beats[:-1]], beats, [*beats[1:], None], strict=True)
    ]
    lengths = {}
    for name, (first, last) in INTERVALS.items():
        stop = 0 if name == "pr" else 1
        found = [end[last][stop] - end[first][0] for end in ends]
        there = [length for length in found if np.isfinite(length)]
        lengths[name] = float(np.median(there)) if len(there) >= 2 else np.nan
    return lengths


def marked_beats(header: Path) -> list[int]:
    """The samples of the QRS complexes that at least `LEAST_LEADS` leads mark."""
    peaks = np.sort([peak for lead in LEADS for _, peak, _ in _waves(header, lead)["qrs"]])
    groups = np.split(peaks, np.flatnonzero(np.diff(peaks) > BEATS_APART) + 1)
    return [int(np.median(group)) for group in groups if len(group) >= LEAST_LEADS]


def _waves(header: Path, lead: str) -> dict[str, list[Wave]]:
    """Onset, peak and offset of each wave of a lead."""
    marks = wfdb.rdann(str(header.with_suffix("")), lead)
    symbols, samples = ["", *marks.symbol, ""], [np.nan, *marks.sample, np.nan]
    waves: dict[str, list[Wave]] = {name: [] for name in SYMBOLS}
    for name, symbol in SYMBOLS.items():
        for place in np.flatnonzero(np.array(symbols) == symbol):
            onset = samples[place - 1] if symbols[place - 1] == "(" else np.nan
            offset = samples[place + 1] if symbols[place + 1] == ")" else np.nan
            waves[name].append((onset, int(samples[place]), offset))
    return waves


def _ends(
    leads: list[dict[str, list[Wave]]], before: int | None, beat: int, after: int | None, rank: int
) -> dict[str, tuple[float, float]]:
    """Per wave its onset and offset over leads; NaN where fewer than `LEAST_LEADS` leads have one."""
    early = max(-225, before - beat + 50) if before is not None else -225
    late = min(330, after - beat - 40) if after is not None else 330
    places = {"p": (early, -10), "qrs": (-60, 60), "t": (30, late)}
    ends = {}
    for name, (low, high) in places.items():
        near = [[wave for wave in waves[name] if low <= wave[1] - beat <= high] for waves in leads]
        chosen = [max(each) if name == "p" else min(each) for each in near if each]
        onsets = sorted(onset for onset, _, _ in chosen if np.isfinite(onset))
        offsets = sorted(offset for _, _, offset in chosen if np.isfinite(offset))
        first = onsets[rank] if len(onsets) >= LEAST_LEADS else np.nan
        ends[name] = (first, offsets[-1 - rank] if len(offsets) >= LEAST_LEADS else np.nan)
    return ends


def machines(folder: Path) -> Iterator[str]:
    """Per interval how far ours lies from that in the files of hospitals."""
    differences: dict[str, list[float]] = {name: [] for name in (*INTERVALS, "axis")}
    for name, candidate in sorted(find_inputs([folder]).items()):
        record = candidate.read()
        own, theirs = measure(record.x_KL, record.fs, record.leads), record.machine
        cells = []
        for interval, list_ in differences.items():
            said, measured = getattr(theirs, interval), getattr(own, interval)
            if said is not None:
                cells.append(f"{interval} {said:.0f} → {'–' if measured is None else f'{measured:.0f}'}")
            if said is not None and measured is not None:
                list_.append((measured - said + 180) % 360 - 180 if interval == "axis" else measured - said)
        yield f"{name}: {', '.join(cells) or 'says nothing'}"
    for interval, list_ in differences.items():
        if list_:
            yield (
                f"{interval:<4} {len(list_)} files, ours longer by {np.median(list_):+.0f} (median), "
                f"median |difference| {np.median(np.abs(list_)):.0f}, largest {np.max(np.abs(list_)):.0f}"
            )


def ptbxl(folder: Path, limit: int) -> Iterator[str]:
    """Per statement at likelihood 100 the share whose interval shows it, beside that of normal records."""
    table = pd.read_csv(folder / "ptbxl_database.csv")
    table = table[table.strat_fold <= LAST_FOLD]
    there = table[[(folder / f"{name}.hea").exists() for name in table.filename_hr]]
    codes = there.scp_codes.map(ast.literal_eval)
    for statement in (*CLASSES, "NORM"):
        names = there.filename_hr[[code.get(statement, 0) == 100 for code in codes]][:limit]
        records = [wfdb.rdrecord(str(folder / name)) for name in names]
        measured = [measure(record.p_signal.T, record.fs, record.sig_name) for record in records]
        limits = [pair for pair in (*dict.fromkeys(CLASSES.values()), ("qtc", 470)) if pair[1]]
        for interval, least in limits if statement == "NORM" else [CLASSES[statement]]:
            lengths = [one.qtc() if interval == "qtc" else getattr(one, interval) for one in measured]
            values = np.array([length for length in lengths if length is not None])
            share = (
                f"; {np.mean(values >= least):.1%} of these are ≥ {least} ms" if least and len(values) else ""
            )
            yield f"PTB-XL {statement:<6} {len(values)} of {len(measured)} have a {interval}{share}"
