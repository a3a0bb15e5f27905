"""Where the rhythm pool reads: its weight over leads and time, and both under the ECG on one time axis.

Shapes: B windows, K leads as named, L samples, T patches, C leads.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from marecg.base.config import LEADS
from marecg.ecg.windows import overlapped, recording, stacked, windows
from marecg.model.mar_ecg import MarEcg
from marecg.report.svg import ACCENT, cells, element, picture, words
from marecg.report.tracing import (
    INK,
    MARGIN,
    MM_PER_SECOND,
    SECONDS,
    WIDTH,
    fitting,
    lines,
    paper,
    row_strips,
    scale,
)

PITCH = 11.0
"""mm per lead."""
BAND = 2.6
"""mm of it that aren't paper, but show where the pool reads."""
FOOT = 18.0
"""mm below the leads, for the sum over leads and the scale."""
LEAST_TOP = 3.0
"""Times the even share at which a cell is fully dark, at the least: an even pool stays pale everywhere."""


def attention(model: MarEcg, x_KL: ArrayLike, fs: float, leads: Sequence[str]) -> NDArray[np.float32]:
    """The rhythm pool's weights over a record, float32 [T, 12], at least 0 and 1 in all.

    They are those of eq. rhythm-pool, attention over time times attention over leads, averaged over the
    pool's queries; where the windows of a long record overlap, their mean. Patch i begins at sample i·S_t
    of the resampled record. An absent lead has its share as well: what is read there was filled in from
    the other leads.
    """
    config, device = model.config, model.prototypes.device
    cut = windows(recording(x_KL, fs, leads, config), config)
    with torch.no_grad():
        weights_BTC = model.attention(*stacked(cut, config, device))
    starts = [window.start for window in cut]
    mean_TC = overlapped(starts, list(weights_BTC.float().cpu().numpy()), config)
    share_TC: NDArray[np.float32] = mean_TC / mean_TC.sum()
    return share_TC


def attention_map(
    x_CL: NDArray[np.float32],
    fs: float,
    share_TC: NDArray[np.float32],
    start: float,
    step: float,
    leads: Sequence[str] = LEADS,
    label: str = "Attention of the rhythm pool",
) -> str:
    """A record with the share of attention under each stretch of each lead, and the sum over leads below.

    `share_TC` is 1 in all, the leads in `LEADS` order; its cells begin at `start` seconds, `step` apart.
    """
    drawn_TC = share_TC[: int((SECONDS - start) / step)]
    relative_TC = drawn_TC * share_TC.size
    top = max(LEAST_TOP, float(relative_TC.max(initial=0)))
    left, width = MARGIN + start * MM_PER_SECOND, step * MM_PER_SECOND
    height = len(LEADS) * PITCH + FOOT
    gain = min(5.0, fitting(x_CL, 1.5 * PITCH))
    return picture(
        WIDTH,
        height,
        paper(WIDTH, height, minor=False),
        *_bands(relative_TC.T / top, left, width),
        lines(x_CL, fs, leads, row_strips(PITCH), gain, named=False),
        *_lead_shares(share_TC),
        _over_time(drawn_TC.sum(1), left, width, len(LEADS) * PITCH),
        scale(height - 1.5, gain),
        _legend(top, height - 1.5),
        label=label,
        unit="mm",
    )


def _bands(level_CT: NDArray[np.float32], left: float, width: float) -> list[str]:
    """A band on white under each lead: what is dark there is no part of the paper."""
    drawn = []
    for place, level_T in enumerate(level_CT):
        y = (place + 1) * PITCH - BAND
        drawn.append(element("rect", x=0, y=y, width=WIDTH, height=BAND, fill="#ffffff"))
        drawn.append(cells(level_T[None], left, y + 0.2, width, BAND - 0.4))
    return drawn


def _lead_shares(share_TC: NDArray[np.float32]) -> list[str]:
    """Each lead's name and its part of all attention, before its row."""
    return [
        words(lead, 1, PITCH * (place + 0.5) - 0.5, 3.4, fill=INK, font_weight="600")
        + words(f"{100 * share:.0f} %", 1, PITCH * (place + 0.5) + 3.2, 2.8, fill=INK)
        for place, (lead, share) in enumerate(zip(LEADS, share_TC.sum(0), strict=True))
    ]


def _over_time(share_T: NDArray[np.float32], x: float, width: float, y: float) -> str:
    """Bars of the sum over leads, the highest 11 mm high."""
    tall_T = 11 * share_T / max(float(share_T.max(initial=0)), 1e-12)
    bars = "".join(
        f"M{x + place * width:.2f} {y + 12.5:g}v{-tall:.2f}h{width:.2f}v{tall:.2f}z"
        for place, tall in enumerate(tall_T)
    )
    return words("all", 1, y + 10, 3.4, fill=INK, font_weight="600") + element(
        "path", d=bars, fill=ACCENT, fill_opacity=0.75
    )


def _legend(top: float, y: float) -> str:
    """From an even share's shade to the darkest."""
    x = WIDTH - 86
    levels = np.array([[1 / top, *np.linspace(1 / top, 1, 8)[1:]]])
    return (
        words("even share", x, y, 3, fill=INK)
        + cells(levels, x + 18, y - 3, 3, 3.5)
        + words(f"{top:.1f} times an even share", x + 44, y, 3, fill=INK)
    )
