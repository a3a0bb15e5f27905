"""Read time columns in tables of samples. They give the order of rows, gaps, and the sampling rate.

Shapes: K leads of the file, L samples.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.notes import Note, NoteKind

TIME = ("time", "time_s", "time_ms", "seconds", "timestamp", "sample", "t")
"""Names of time columns. If a table has no time column, its rows are taken in order."""
RECORD = ("record", "record_id", "ecg_id", "study_id")
"""Names of columns that hold the record of a row."""
_SECONDS = {"time_s": (1.0,), "seconds": (1.0,), "time_ms": (1e-3,), "sample": ()}
_ANY = (1.0, 1e-3, 1e-6, 1e-9)
"""Possible units of a column named `time`, in seconds. The column may also count samples."""
AGREES = 0.01
"""Maximum relative difference between the sampling rates in the layout and in the time column."""


class Clock(NamedTuple):
    """Content of a time column.

    Attributes:
        name: Name of the column.
        order: Row numbers sorted by time, or None if the rows are sorted.
        places: Sample number of each row, after sorting. None if no samples are missing.
        length: Number of samples, including missing samples.
        steps: Time step between two rows in seconds, once for each unit that the column may have. Empty if
            the column counts samples.
    """

    name: str
    order: NDArray[np.intp] | None
    places: NDArray[np.intp] | None
    length: int
    steps: tuple[float, ...]

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on sorted rows and missing samples."""
        texts = [f"rows sorted by the column {self.name}"] if self.order is not None else []
        if self.places is not None:
            texts.append(f"{self.length - len(self.places)} samples missing in the column {self.name}")
        return tuple(Note(text, NoteKind.timing) for text in texts)

    def refuse_other(self, fs: float) -> None:
        """Raise `RecordError` if the sampling rate `fs` contradicts the times in the column."""
        if not self.steps or any(abs(step * fs - 1) <= AGREES for step in self.steps):
            return
        step = self.steps[0]
        steps = f"steps of {step:.6g} s ({1 / step:.6g} Hz)"
        problem = f"fs must match the column {self.name} with {steps}, got {fs:g} Hz"
        raise RecordError(Reason.sampling_rate, problem, remedy=f"Set fs to {1 / step:.6g}")

    def arranged(self, x_LK: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sort the rows by time, and insert NaN for missing samples."""
        x_LK = x_LK if self.order is None else x_LK[self.order]
        if self.places is None:
            return x_LK
        complete_LK = np.full((self.length, *x_LK.shape[1:]), np.nan)
        complete_LK[self.places] = x_LK
        return complete_LK


def clock_of(name: str, cells: "pd.Series[str] | NDArray[np.float64]", most: int) -> Clock | None:
    """Read a time column. Returns None if the cells aren't times, or most cells are equal.

    Args:
        name: Name of the column.
        cells: Cells of the column, as numbers or strings.
        most: Maximum number of samples, including missing samples.

    Raises:
        ValueError: If two rows have the same time, or there are more than `most` samples.
    """
    times_L, is_date = _numbers(cells)
    if times_L is None or len(times_L) < 3:
        return None
    order = None
    if (np.diff(times_L) < 0).any():
        order = np.argsort(times_L, kind="stable")
        times_L = times_L[order]
    steps_L = np.diff(times_L)
    middle = float(np.median(steps_L))
    if not middle > 0:
        return None
    if not steps_L.all():
        raise ValueError(f"has two rows with the same time in the column {name}")
    step = float(steps_L[steps_L < 1.5 * middle].mean())
    counts_L = np.maximum(np.rint(steps_L / step), 1)
    length = int(min(counts_L.sum(), 2**62)) + 1
    if length > most:
        raise ValueError(
            f"must have at most {most:,} samples, got {length:,} including gaps in the column {name}"
        )
    places = None
    if length > len(times_L):
        places = np.concatenate([[0], counts_L.cumsum()]).astype(np.intp)
    units: Sequence[float] = (1.0,) if is_date else _SECONDS.get(name, _ANY)
    steps = tuple(step * unit for unit in units)
    if not is_date and name not in _SECONDS and step == 1:
        steps = ()  # the column counts samples
    return Clock(name, order, places, length, steps)


def _numbers(cells: "pd.Series[str] | NDArray[np.float64]") -> tuple[NDArray[np.float64] | None, bool]:
    """Return the cells as numbers, or dates as seconds, and whether the cells are dates."""
    numbers_L = np.asarray(pd.to_numeric(cells, errors="coerce"), np.float64)
    if np.isfinite(numbers_L).all():
        return numbers_L, False
    dates = pd.to_datetime(cells, errors="coerce", format="ISO8601")
    if dates.isna().any():
        return None, False
    first = dates.min()
    return np.asarray((dates - first).dt.total_seconds(), np.float64), True
