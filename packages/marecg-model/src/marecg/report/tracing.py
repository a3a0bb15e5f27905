"""Draw an ECG on standard paper, in true millimetres: 25 mm/s, 10 mm/mV, squares of 1 mm and 5 mm.

If waves are too high for the paper, the gain is halved or lowered further, as on an electrocardiograph. The
gain is printed. Limb leads and chest leads have separate gains. Each lead is centred on its median, similar
to a high-pass filter. A short artefact doesn't lower the gain, because the gain must suit most seconds of a
lead, not all. Artefacts are clipped at the paper's edge.

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
"""Gains in mm/mV, in the order in which they are tried. The first is the standard gain."""
SECONDS = 10.0
MARGIN = 10.0
"""Width in mm of the margin for the calibration pulse, before the first second."""
WIDTH = MARGIN + SECONDS * MM_PER_SECOND
PAPER, MINOR, MAJOR, INK = "#fffaf8", "#f7dcd9", "#e9aaa5", "#161616"
NAME_SIZE, LETTER_WIDTH = 3.4, 2.6
"""Height of a lead's name and maximum width of a letter, in mm."""
NAME_HEIGHTS = (-8.0, -5.0, -2.5)
NAME_OFFSETS = tuple((right, below) for right in (1.0, 4.5, 8.0, 11.5) for below in NAME_HEIGHTS)
"""Possible positions of a lead's name: mm right of the lead's beginning, and mm below its baseline.

The first position is preferred.
"""
USUAL = 0.8
"""Share of a lead's seconds that must fit on the paper at its gain."""
COLUMN = 2.5
"""Seconds per column of the layout 3 × 4."""
ROW = 30.0
"""Height in mm of a row of the layout 3 × 4."""
STACK_ABOVE, STACK_BELOW, STACK_ROOM = 11.0, 5.0, 1.5
"""Minimum mm above and below the baseline of a stacked lead, and between the waves of two leads."""
TOP = 10.0
"""Height in mm of the paper above the first row. High waves of the chest leads need it."""
REACH = TOP + ROW / 2
"""Distance in mm from the first row's baseline to the paper's edge."""
FINEST = 500.0
"""Maximum samples drawn per second. More samples would be closer than the line is wide."""
TICK = 2.5
"""Height in mm, above and below the baseline, of the mark between two leads of a row."""
THIN = 0.25
"""Line width in mm, as from the stylus of an electrocardiograph."""


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
    """Part of a lead on the paper.

    Attributes:
        start, stop: seconds of the record that are drawn.
        x, y: left end and baseline of the drawing, in mm.
    """

    lead: str
    start: float
    stop: float
    x: float
    y: float


def tracing(x_CL: NDArray[np.float32], fs: float, leads: Sequence[str] = LEADS, label: str = "ECG") -> str:
    """Draw a record in the usual printed layout: four consecutive columns of 2.5 s, and lead II below.

    Args:
        x_CL: leads in mV. Values that aren't finite and samples after 10 s are not drawn.
        fs: sampling rate in Hz.
        leads: names of the rows of `x_CL`. Any other of the twelve leads is labelled as not recorded.
        label: text for screen readers.
    """
    gains, height = tracing_gain(x_CL, fs, leads), TOP + 4 * ROW + 5
    pulses = "".join(pulse(TOP + ROW * (row + 0.5), gains.limb) for row in range(4))
    traces = lines(x_CL, fs, leads, _columns(), gains, height=height)
    ticks = "".join(
        f"M{column.x:g} {column.y - TICK:g}v{2 * TICK:g}" for column in _columns() if column.start
    )
    changes = element("path", d=ticks, stroke=INK, stroke_width=0.3)
    sheet = paper(WIDTH, height), pulses, traces, changes, scale(height - 1.5, gains)
    return picture(WIDTH, height, *sheet, label=label, unit="mm")


def tracing_gain(x_CL: NDArray[np.float32], fs: float, leads: Sequence[str] = LEADS) -> Gains:
    """Return the largest gains at which the share `USUAL` of each lead's seconds stays on the paper."""
    names = [name.lower() for name in leads]
    chest = np.array([name.startswith("v") for name in names], bool)
    usual_C = _usual_heights(x_CL, fs)
    return Gains(*(_largest(float(usual_C[part].max(initial=0))) for part in (~chest, chest)))


def _usual_heights(x_CL: NDArray[np.float32], fs: float) -> NDArray[np.float64]:
    """Return the height in mV that the share `USUAL` of a lead's seconds doesn't exceed, for each lead."""
    return _usual(np.abs(_centred(x_CL)), fs)


def _centred(x_CL: NDArray[np.float32]) -> NDArray[np.float32]:
    """Centre the leads on their medians. Values that aren't finite become zero."""
    finite_CL = np.isfinite(x_CL)
    pairs = zip(x_CL, finite_CL, strict=True)
    middle_C = [np.median(x_L[finite_L]) if finite_L.any() else 0 for x_L, finite_L in pairs]
    return np.where(finite_CL, x_CL - np.array(middle_C, np.float32)[:, None], 0)


def _usual(x_CL: NDArray[np.float32], fs: float) -> NDArray[np.float64]:
    """Return each lead's quantile `USUAL` over the maxima of its seconds."""
    second = max(1, round(fs))
    starts = range(0, max(1, x_CL.shape[1]), second)
    parts = [x_CL[:, start : start + second].max(axis=1) for start in starts]
    return np.asarray(np.quantile(np.stack(parts), USUAL, axis=0, method="inverted_cdf"))


def stacked(x_CL: NDArray[np.float32], fs: float, leads: Sequence[str] = LEADS, label: str = "ECG") -> str:
    """Draw 10 s of each lead, one below the other.

    The drawing is for narrow windows, in which it is scrolled.
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
    """Draw the beginning of a lead on a strip of paper. The strip scales to any size."""
    width, height = seconds * MM_PER_SECOND, ROW
    body = lines(x_L[None], fs, ("",), [Strip("", 0, seconds, 0, height / 2)], labelled=False, width=2 * THIN)
    return picture(width, height, paper(width, height, minor=False), body, label=label)


def _columns() -> list[Strip]:
    """Return the strips of the layout 3 × 4: four columns of three leads, and lead II below."""
    strips = [
        Strip(lead, COLUMN * column, COLUMN * (column + 1), MARGIN + COLUMN * column * MM_PER_SECOND, y)
        for number, lead in enumerate(LEADS)
        for column, y in [(number // 3, TOP + ROW * (number % 3 + 0.5))]
    ]
    return [*strips, Strip("II", 0, SECONDS, MARGIN, TOP + 3.5 * ROW)]


def _largest(height: float) -> float:
    """Return the largest gain at which a height in mV stays within `REACH` mm."""
    return next((gain for gain in GAINS if height * gain <= REACH), GAINS[-1])


def paper(width: float, height: float, minor: bool = True) -> str:
    """Draw paper of a size in mm, with squares of 5 mm and, with `minor`, of 1 mm."""
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
    """Draw the strips of a record with the names of their leads. Waves are clipped at the paper's edges.

    Args:
        x_CL: leads in mV.
        fs: sampling rate in Hz.
        leads: names of the rows of `x_CL`.
        strips: parts of leads, and their positions.
        gain: mm per mV, for all leads or for each group of leads.
        labelled: whether to write the names of the leads.
        width: width of the lines in mm.
        height: height of the paper in mm.
    """
    gains = gain if isinstance(gain, Gains) else Gains(gain, gain)
    step = max(1, int(fs / FINEST))
    row_of = {name.lower(): row for row, name in enumerate(leads)}
    names, traces = [], []
    for lead, start, stop, x, y in strips:
        row = row_of.get(lead.lower())
        x_L = np.zeros(0, np.float32) if row is None else x_CL[row]
        is_drawn = np.isfinite(x_L).any()
        level = np.nanmedian(x_L) if is_drawn else 0.0
        down_L = -gains.of(lead) * (x_L[round(start * fs) : round(stop * fs)] - level)
        if labelled:
            name = lead if row is not None else f"{lead}: not recorded"
            halo: dict[str, Any] = {"stroke": PAPER, "stroke_width": 0.9, "paint_order": "stroke"}
            right, below = _clear(down_L, fs, name)
            names.append(words(name, x + right, y + below, NAME_SIZE, fill=INK, font_weight="600", **halo))
        if not is_drawn:
            continue
        right_L = np.arange(0, len(down_L), step) / fs * MM_PER_SECOND
        path = polyline(right_L, np.clip(down_L[::step], -y, height - y))
        transform = f"translate({x:g} {y:g}) scale({1 / UNITS:g})"
        traces.append(element("path", d=path, data_lead=lead, transform=transform))
    line = {"fill": "none", "stroke": INK, "stroke_width": width * UNITS, "stroke_linejoin": "round"}
    return "".join(names) + element("g", *traces, **line)  # waves are drawn over names


def _clear(down_L: NDArray[np.floating], fs: float, name: str) -> tuple[float, float]:
    """Return the position of `NAME_OFFSETS` at which the fewest samples cross a lead's name.

    `down_L` are the samples in mm below the baseline.
    """
    crossed = []
    for right, below in NAME_OFFSETS:
        begin, end = ((right + width) / MM_PER_SECOND * fs for width in (-1, len(name) * LETTER_WIDTH))
        behind_L = down_L[round(begin) : round(end)]
        crossed.append(((behind_L > below - NAME_SIZE - 0.6) & (behind_L < below + 1)).sum())
    return NAME_OFFSETS[int(np.argmin(crossed))]


def pulse(y: float, gain: float = MM_PER_MV) -> str:
    """Draw the calibration pulse: 1 mV for 200 ms."""
    path = f"M2 {y:g}h1.5v{-gain:g}h5v{gain:g}h1.5"
    return element("path", d=path, fill="none", stroke=INK, stroke_width=0.3)


def scale(y: float, gain: float | Gains = MM_PER_MV) -> str:
    """Write the paper's scale at its foot."""
    gains = gain if isinstance(gain, Gains) else Gains(gain, gain)
    return words(f"25 mm/s    {gains}", 2, y, 3, fill=INK)


def _grid(width: float, height: float, every: int) -> str:
    across = "".join(f"M0 {y}h{width:g}" for y in range(0, int(height) + 1, every))
    return across + "".join(f"M{x} 0v{height:g}" for x in range(0, int(width) + 1, every))
