"""The picture of the home page: `python -m tests.docs.home_picture` writes it.

A synthetic ECG, always the same, and the concepts that the shipped encoder puts it next to.
"""

from pathlib import Path

import numpy as np

import marecg
from ecg_ontology import load
from ecg_records.signal.leads import LEADS
from ecg_synth.record import record
from marecg.report import tracing
from marecg.report.svg import ACCENT, element, picture, standalone, words
from marecg.report.tracing import INK, MARGIN, SECONDS

PICTURE = Path(__file__).parents[2] / "docs" / "ecg-read.svg"
SHOWN = ("II", "V1", "V5")
TRUTH = "AF"
CONCEPTS = 5
ROW, HEAD, LINE = 25.0, 8.0, 8.0
"""mm per lead, above the list, and per concept."""
BAR = 110.0
"""mm of a concept with all of the share."""


def svg() -> str:
    """The text of the picture."""
    made = record(TRUTH, rng=np.random.default_rng(4))
    x_CL = made.leads_mv.astype(np.float32)
    q_N = marecg.predict("marecg-small", x_CL[None], fs=made.fs)[0]
    width, sheet = MARGIN + SECONDS * tracing.MM_PER_SECOND, ROW * len(SHOWN) + 5
    strips = [tracing.Strip(lead, 0, SECONDS, MARGIN, ROW * (n + 0.5)) for n, lead in enumerate(SHOWN)]
    drawn = tracing.lines(x_CL, made.fs, LEADS, strips, width=0.4)
    pulses = "".join(tracing.pulse(strip.y) for strip in strips)
    listed, onto = [], load()
    for place, index in enumerate(np.argsort(-q_N)[:CONCEPTS].tolist()):
        y, share = sheet + HEAD + LINE * (place + 1), float(q_N[index])
        concept = onto.nodes[index]
        listed += [
            words(concept.label, 4, y, 5, fill=INK),
            element("rect", x=90, y=y - 4, width=max(0.5, BAR * share), height=4.6, fill=ACCENT),
            words(f"{100 * share:.1f} %", 92 + max(0.5, BAR * share), y, 5, fill=INK),
        ]
    height = sheet + HEAD + LINE * CONCEPTS + 5
    head = words("What marecg-small puts this ECG next to", 4, sheet + HEAD, 4, fill=INK, font_weight="600")
    ground = element("rect", width=width, height=height, fill=tracing.PAPER)
    label = f"Ten seconds of leads {', '.join(SHOWN)} of a synthetic ECG, and the concepts nearest to it"
    body = (ground, tracing.paper(width, sheet), pulses, drawn, tracing.scale(sheet - 1), head, *listed)
    return standalone(picture(width, height, *body, label=label)) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
