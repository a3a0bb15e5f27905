"""ECG on standard paper, in true millimetres: 25 mm/s, 10 mm/mV, squares of 1 mm and 5 mm.

As on an electrocardiograph, waves that are too high for the paper are drawn at half the gain or less, and the
gain is printed. Limb leads and chest leads have separate gains. Each lead is centred on its median, which
resembles the effect of a high-pass filter. The gain depends on most seconds of a lead, so that an artefact
doesn't lower it. Artefacts are clipped at the paper's edge.

Shapes: C leads, L samples.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_records.signal.leads import LEADS
from marecg.report.svg import UNITS, element, picture, polyline, words

MM_PER_SECOND = 25.0
MM_PER_MV = 10.0
GAINS = (10.0, 5.0, 2.5, 1.0, 0.5, 0.1)
"""Gains in mm/mV, the standard gain first. A record that is too high for its rows gets the next gain."""
SECONDS = 10.0
MARGIN = 10.0
"""mm before the first second, for the calibration pulse or the label of a row."""
WIDTH = MARGIN + SECONDS * MM_PER_SECOND
PAPER, MINOR, MAJOR, INK = "#fffaf8", "#f7dcd9", "#e9aaa5", "#161616"
NAME_SIZE, LETTER_WIDTH = 3.4, 2.6
"""Height of a lead's name and maximum width of a letter, in mm."""
NAME_HEIGHTS = (-8.0, -5.0, -2.5)
NAME_PLACES = tuple((right, below) for right in (1.0, 4.5, 8.0, 11.5) for below in NAME_HEIGHTS)
"""Possible places of a name, the usual place first: above the lead and within its row.

A place is given in mm right of the lead's beginning and below the baseline.
"""
USUAL = 0.8
"""Share of a lead's seconds that must fit at its gain."""
COLUMN = 2.5
"""Seconds per column of the layout 3 × 4."""
ROW = 30.0
"""mm per row of the layout 3 × 4."""
STACK_ABOVE, STACK_BELOW, STACK_ROOM = 11.0, 5.0, 1.5
"""Least mm above and below the baseline of a stacked lead, and between the waves of two leads.

A stacked sheet may have any length, so leads don't overlap.
"""
TOP = 10.0
"""mm above the first row, for high waves of the chest leads."""
REACH = TOP + ROW / 2
"""mm from the first row's baseline to the paper's edge."""
FINEST = 500.0
"""Hz up to which samples are drawn. At higher rates, samples are closer than the line is wide."""
TICK = 2.5
"""mm above and below the baseline of the mark between two leads of a row."""
THIN = 0.25
"""Width in mm of a line drawn by a stylus."""


class Gains(NamedTuple):
    """Gains of limb leads and of chest leads, in mm/mV."""

    limb: float
    chest: float

    def of(self, lead: str) -> float:
        """Return the gain of a lead."""
        return self.chest if lead.lower().startswith("v") else self.limb

    def __str__(self) -> str:
        limb = f"{self.limb:g} mm/mV"
        return limb if self.limb == self.chest else f"{limb}, V1–V6 {self.chest:g} mm/mV"


class Strip(NamedTuple):
    """Stretch of one lead: seconds `start` to `stop` from `x` on around the baseline `y`, in mm."""

    lead: str
    start: float
    stop: float
    x: float
    y: float


def tracing(x_CL: NDArray[np.float32], fs: float, leads: Sequence[str] = LEADS, label: str = "ECG") -> str:
    """Draw a record in the usual printed layout: four consecutive columns of 2.5 s, and lead II below.

    Args:
        x_CL: leads in mV. Values that aren't finite and samples after 10 s are not drawn.
        leads: names of the rows of `x_CL`. Missing leads of the twelve are labelled as not recorded.
    """
    gains, height = tracing_gain(x_CL, fs, leads), TOP + 4 * ROW + 5
    pulses = "".join(pulse(TOP + ROW * (row + 0.5), gains.limb) for row in range(4))
    traces = lines(x_CL, fs, leads, _columns(), gains, height=height)
    ticks = "".join(f"M{place.x:g} {place.y - TICK:g}v{2 * TICK:g}" for place in _columns() if place.start)
    changes = element("path", d=ticks, stroke=INK, stroke_width=0.3)
    sheet = paper(WIDTH, height), pulses, traces, changes, scale(height - 1.5, gains)
    return picture(WIDTH, height, *sheet, label=label, unit="mm")


def tracing_gain(x_CL: NDArray[np.float32], fs: float, leads: Sequence[str] = LEADS) -> Gains:
    """Return gains in mm/mV at which a share `USUAL` of a lead group's seconds stays within `REACH` mm."""
    names = [name.lower() for name in leads]
    chest = np.array([name.startswith("v") for name in names], bool)
    usual_C = _usual_heights(x_CL, fs)
    return Gains(*(_largest(float(usual_C[part].max(initial=0))) for part in (~chest, chest)))


def _usual_heights(x_CL: NDArray[np.float32], fs: float) -> NDArray[np.float64]:
    """Return each lead's distance from its median in mV: the quantile `USUAL` over its seconds."""
    return _usual(np.abs(_centred(x_CL)), fs)


def _centred(x_CL: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the leads centred on their medians, with zero for values that aren't finite."""
    finite_CL = np.isfinite(x_CL)
    pairs = zip(x_CL, finite_CL, strict=True)
    middle_C = [np.median(x_L[finite_L]) if finite_L.any() else 0 for x_L, finite_L in pairs]
    return np.where(finite_CL, x_CL - np.array(middle_C, np.float32)[:, None], 0)


def _usual(x_CL: NDArray[np.float32], fs: float) -> NDArray[np.float64]:
    """Return the quantile `USUAL` of the largest values of each second."""
    second = max(1, round(fs))
    parts = [x_CL[:, at : at + second].max(axis=1) for at in range(0, max(1, x_CL.shape[1]), second)]
    return np.asarray(np.quantile(np.stack(parts), USUAL, axis=0, method="inverted_cdf"))


def stacked(x_CL: NDArray[np.float32], fs: float, leads: Sequence[str] = LEADS, label: str = "ECG") -> str:
    """Draw the leads stacked over 10 s, for a narrow window.

    The drawing keeps its size and is scrolled.
    """
    gains, centred_CL = tracing_gain(x_CL, fs, leads), _centred(x_CL)
    strips, height = [], STACK_ROOM
    for lead, up, down in zip(leads, _usual(centred_CL, fs), _usual(-centred_CL, fs), strict=True):
        height += max(STACK_ABOVE, up * gains.of(lead) + STACK_ROOM)
        strips.append(Strip(lead, 0, SECONDS, MARGIN, height))
        height += max(STACK_BELOW, down * gains.of(lead) + STACK_ROOM)
    height = math.ceil(height) + 5.0
    pulses = "".join(pulse(strip.y, gains.of(strip.lead)) for strip in strips)
    traces = lines(x_CL, fs, leads, strips, gains, width=2 * THIN, height=height)
    sheet = paper(WIDTH, height), pulses, traces, scale(height - 1.5, gains)
    return picture(WIDTH, height, *sheet, label=label, unit="mm")


def strip(x_L: NDArray[np.float32], fs: float, seconds: float, label: str) -> str:
    """Draw the beginning of a lead on a strip of paper 30 mm high, which scales to any size."""
    width, height = seconds * MM_PER_SECOND, ROW
    body = lines(x_L[None], fs, ("",), [Strip("", 0, seconds, 0, height / 2)], labelled=False, width=2 * THIN)
    return picture(width, height, paper(width, height, minor=False), body, label=label)


def _columns() -> list[Strip]:
    """Return the strips of four columns of three leads, and of lead II below."""
    strips = [
        Strip(lead, COLUMN * column, COLUMN * (column + 1), MARGIN + COLUMN * column * MM_PER_SECOND, y)
        for place, lead in enumerate(LEADS)
        for column, y in [(place // 3, TOP + ROW * (place % 3 + 0.5))]
    ]
    return [*strips, Strip("II", 0, SECONDS, MARGIN, TOP + 3.5 * ROW)]


def _largest(height: float) -> float:
    """Return the largest gain at which a height in mV stays within `REACH` mm."""
    return next((gain for gain in GAINS if height * gain <= REACH), GAINS[-1])


def paper(width: float, height: float, minor: bool = True) -> str:
    """Draw squares of 1 mm and 5 mm."""
    fine = element("path", d=_grid(width, height, 1), stroke=MINOR, stroke_width=0.1) if minor else ""
    coarse = element("path", d=_grid(width, height, 5), stroke=MAJOR, stroke_width=0.15)
    return element("rect", width=width, height=height, fill=PAPER) + fine + coarse


def lines(
    x_CL: NDArray[np.float32],
    fs: float,
    leads: Sequence[str],
    strips: Sequence[Strip],
    gain: float | Gains = MM_PER_MV,
    labelled: bool = True,
    width: float = THIN,
    height: float = math.inf,
) -> str:
    """Draw the strips of a record with the names of their leads. Waves are clipped at the paper's edges."""
    gains = gain if isinstance(gain, Gains) else Gains(gain, gain)
    every = max(1, int(fs / FINEST))
    row_of = {name.lower(): place for place, name in enumerate(leads)}
    names, traces = [], []
    for lead, start, stop, x, y in strips:
        place = row_of.get(lead.lower())
        x_L = np.zeros(0, np.float32) if place is None else x_CL[place]
        is_drawn = np.isfinite(x_L).any()
        level = np.nanmedian(x_L) if is_drawn else 0.0
        down_L = -gains.of(lead) * (x_L[round(start * fs) : round(stop * fs)] - level)
        if labelled:
            name = lead if place is not None else f"{lead}: not recorded"
            halo: dict[str, Any] = {"stroke": PAPER, "stroke_width": 0.9, "paint_order": "stroke"}
            right, below = _clear(down_L, fs, name)
            names.append(words(name, x + right, y + below, NAME_SIZE, fill=INK, font_weight="600", **halo))
        if not is_drawn:
            continue
        at = np.arange(0, len(down_L), every) / fs * MM_PER_SECOND
        path = polyline(at, np.clip(down_L[::every], -y, height - y))
        where = f"translate({x:g} {y:g}) scale({1 / UNITS:g})"
        traces.append(element("path", d=path, data_lead=lead, transform=where))
    thin = {"fill": "none", "stroke": INK, "stroke_width": width * UNITS, "stroke_linejoin": "round"}
    return "".join(names) + element("g", *traces, **thin)  # waves are drawn over names


def _clear(down_L: NDArray[np.floating], fs: float, name: str) -> tuple[float, float]:
    """Return the place of `NAME_PLACES` that the fewest samples cross, given in mm below the baseline."""
    crossed = []
    for right, below in NAME_PLACES:
        begin, end = ((right + width) / MM_PER_SECOND * fs for width in (-1, len(name) * LETTER_WIDTH))
        near_L = down_L[round(begin) : round(end)]
        crossed.append(((near_L > below - NAME_SIZE - 0.6) & (near_L < below + 1)).sum())
    return NAME_PLACES[int(np.argmin(crossed))]


def pulse(y: float, gain: float = MM_PER_MV) -> str:
    """Return the calibration pulse: 1 mV for 200 ms."""
    path = f"M2 {y:g}h1.5v{-gain:g}h5v{gain:g}h1.5"
    return element("path", d=path, fill="none", stroke=INK, stroke_width=0.3)


def scale(y: float, gain: float | Gains = MM_PER_MV) -> str:
    """Return the paper's scale as text at its foot."""
    gains = gain if isinstance(gain, Gains) else Gains(gain, gain)
    return words(f"25 mm/s    {gains}", 2, y, 3, fill=INK)


def _grid(width: float, height: float, every: int) -> str:
    across = "".join(f"M0 {y}h{width:g}" for y in range(0, int(height) + 1, every))
    return across + "".join(f"M{x} 0v{height:g}" for x in range(0, int(width) + 1, every))
