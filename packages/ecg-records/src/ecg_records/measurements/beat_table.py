"""Make a table of a record's beats: R-peak, boundaries of the waves, RR interval and shape.

Shapes: K leads, L samples, N beats, B samples of a beat.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_base import InputError
from ecg_records.measurements.delineation import Boundaries, delineate, qrs_shifts
from ecg_records.measurements.intervals import aligned_beats, measure_aligned
from ecg_records.measurements.median_beat import AFTER, BEFORE, FS, AlignedBeats, median_beat

COLUMNS = ("r", "p_on", "p_off", "qrs_on", "qrs_off", "t_off", "rr")
HIDDEN = {"p_on": "pr", "p_off": "pr", "qrs_on": "qrs", "qrs_off": "qrs", "t_off": "qt"}
"""The interval that each boundary belongs to. If `measure` returns None for the interval, the boundary is NaN
for every beat."""

MARKS = (("p_on", "(", 0), ("p_off", ")", 0), ("qrs_on", "(", 1), ("qrs_off", ")", 1), ("t_off", ")", 2))
"""Boundaries as WFDB annotations: column, symbol, and `num` (0 for P, 1 for QRS, 2 for T)."""


def beat_table(x_KL: NDArray[np.floating], fs: float, leads: Sequence[str]) -> pd.DataFrame:
    """Return a table of a record's beats, one row per beat. `ecg_records.delineate` explains the columns."""
    aligned, names = aligned_beats(x_KL, fs, leads)
    found_N, samples = aligned.found_N, aligned.x_KL.shape[1]
    table = pd.DataFrame(np.nan, index=range(len(found_N)), columns=COLUMNS)
    table["r"] = found_N
    table.loc[1:, "rr"] = np.diff(found_N)
    table["shape"] = "other"
    measured = measure_aligned(aligned, names)
    if measured.rate is not None:
        rows = np.searchsorted(found_N, _untouched(aligned))
        table.loc[rows[aligned.alike_N], "shape"] = "usual"
        table.loc[rows[aligned.others_N], "shape"] = "second"
        for beat, row in enumerate(rows.tolist()):
            for name, boundary in _ends(aligned, beat, samples)._asdict().items():
                table.loc[row, name] = boundary
        usual = table["shape"] == "usual"
        later, earlier = qrs_shifts(aligned.median_KB)
        table.loc[usual, "qrs_on"] += later
        table.loc[usual, "qrs_off"] -= earlier
        for column, interval in HIDDEN.items():
            if getattr(measured, interval) is None:
                table[column] = np.nan
        table.loc[~usual, ["p_on", "p_off"]] = np.nan
    table[list(COLUMNS)] *= 1000 / FS
    table["p_safe"] = False
    return table


def _untouched(aligned: AlignedBeats) -> NDArray[np.int64]:
    """Return the R-peaks of the aligned beats as they were detected, before the alignment moved them.

    Beats near an end of the record are not aligned and have no entry.
    """
    first = int(np.argmin(abs(aligned.found_N - aligned.peaks_N[0])))
    return aligned.found_N[first : first + len(aligned.peaks_N)]


def _ends(aligned: AlignedBeats, beat: int, samples: int) -> Boundaries:
    """Return the boundaries of a beat as samples of the record, NaN for waves beyond the record's ends."""
    only_N = np.arange(len(aligned.peaks_N)) == beat
    peak = int(aligned.peaks_N[beat])
    ends = delineate(median_beat(aligned.windows(only_N)), aligned.rr)
    if peak < BEFORE:
        ends = ends._replace(p_on=np.nan, p_off=np.nan)
    if peak + AFTER > samples and not peak + ends.t_off < samples - AFTER // 10:
        ends = ends._replace(t_off=np.nan)
    return Boundaries(*(peak + boundary for boundary in ends))


def write_annotations(table: pd.DataFrame, fs: float, out: Path) -> None:
    """Write a table of beats as a WFDB annotation file, which `wfdb.rdann` reads.

    The symbol at the R-peak is `N` for beats of the usual shape and `Q` for other beats. `MARKS` lists the
    symbols of the boundaries. Raise `InputError` if the table has no beats.
    """
    if table.empty:
        raise InputError("can't be written: no beat was found", where=out, remedy="Write a .csv file instead")
    import wfdb  # noqa: PLC0415 (slow to import)

    beats = ["N" if shape == "usual" else "Q" for shape in table["shape"]]
    marks = [(time, symbol, 0) for time, symbol in zip(table["r"], beats, strict=True)]
    for column, symbol, wave in MARKS:
        marks += [(time, symbol, wave) for time in table[column].dropna()]
    marks.sort(key=lambda mark: mark[0])
    times, symbols, waves = zip(*marks, strict=True)
    samples = np.rint(np.array(times) * fs / 1000).astype(np.int64)
    with TemporaryDirectory() as folder:
        wfdb.wrann("beats", "ecgann", samples, list(symbols), num=np.array(waves), fs=fs, write_dir=folder)
        shutil.copyfile(Path(folder) / "beats.ecgann", out)
