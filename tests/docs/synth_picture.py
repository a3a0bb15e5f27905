"""The picture of ecg-synth's README: `python -m tests.docs.synth_picture` writes it.

Ten seconds of atrial fibrillation with left bundle branch block, always the same, and its true R peaks.
"""

from pathlib import Path

import numpy as np

from ecg_synth import LEADS, r_samples, record
from marecg.report import tracing
from marecg.report.svg import ACCENT, element, picture, standalone
from marecg.report.tracing import MARGIN, SECONDS

PICTURE = Path(__file__).parents[2] / "packages" / "ecg-synth" / "ecg-synth.svg"
SHOWN = ("II", "V1", "V6")
ROW = 25.0
"""mm per lead."""


def svg() -> str:
    """The text of the picture."""
    made = record("AF", "LBBB", rng=np.random.default_rng(0))
    width, sheet = MARGIN + SECONDS * tracing.MM_PER_SECOND, ROW * len(SHOWN) + 5
    strips = [tracing.Strip(lead, 0, SECONDS, MARGIN, ROW * (n + 0.5)) for n, lead in enumerate(SHOWN)]
    drawn = tracing.lines(made.leads_mv.astype(np.float32), made.fs, LEADS, strips, width=0.4)
    peaks = "".join(
        element("circle", cx=round(x, 2), cy=2, r=1, fill=ACCENT)
        for x in (MARGIN + r_samples(made) / made.fs * tracing.MM_PER_SECOND).tolist()
        if x < width
    )
    ground = element("rect", width=width, height=sheet, fill=tracing.PAPER)
    label = f"Leads {', '.join(SHOWN)} of a synthetic ECG; a dot above each true R peak"
    body = (ground, tracing.paper(width, sheet), drawn, peaks, tracing.scale(sheet - 1))
    return standalone(picture(width, sheet, *body, label=label)) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
