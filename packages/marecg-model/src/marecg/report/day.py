"""Describe a long recording on its page: heart rate, a strip per hour, and changes of the nearest finding.

q is the model's shares over the concepts of the graph. The nearest finding is the finding (a concept that
isn't a family) with the largest share, averaged over `SMOOTH` minutes.

Shapes: M minutes, N concepts, L samples, K leads, D width.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ecg_ontology import Ontology
from ecg_ontology.views.languages import label_in
from ecg_records.measurements.rpeaks import detect_best
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.inputs import find_one
from ecg_records.record import Candidate
from marecg.errors import RecordError
from marecg.model.mar_ecg import MarEcg
from marecg.report.charts import canvas, svg
from marecg.report.neighbours import LEAD
from marecg.report.page import Figure, Section, paragraph, table
from marecg.report.svg import ACCENT
from marecg.report.texts import Texts
from marecg.report.tracing import SECONDS, strip
from marecg.use.predict import concepts, step_vectors

LONG = 600.0
"""Minimum duration, in seconds, of a recording with these sections."""
MINUTE, HOUR = 60, 60
"""Seconds per minute, and minutes per hour."""
SMOOTH = 5
"""Number of minutes over which shares are averaged, so that short changes aren't reported."""


def day_sections(
    model: MarEcg, record: str | Path, ontology: Ontology, say: Texts, layout: Layout | None = None
) -> Iterator[Section]:
    """Yield the sections of a long recording, or nothing for a recording shorter than `LONG`.

    Raises the errors of `ecg_records.readers.inputs.find_one`, for example if the file isn't a record.
    """
    candidate = find_one(record, layout)
    begin = candidate.read(seconds=SECONDS)
    if begin.length / begin.fs < LONG:
        return
    rates_M3, strips = _minutes(candidate, int(begin.length / begin.fs // MINUTE))
    notes = [_clock(MINUTE * HOUR * hour) for hour in range(len(strips))]
    pictures = [Figure("hours", strips, say("hours_how"), notes=notes, kind="four")]
    yield Section(say("day"), [Figure("rates", [_trend(rates_M3, say)], say("rates_how")), *pictures])
    if model.prototypes.any():
        yield Section(
            say("changes"), [paragraph(say("changes_how")), _changes(model, record, ontology, say, layout)]
        )


def _minutes(candidate: Candidate, count: int) -> tuple[NDArray[np.float64], list[str]]:
    """Return the 5th, 50th and 95th percentile of the rate in each minute [M, 3], and a strip per hour."""
    rates_M3, strips = np.full((count, 3), np.nan), []
    for minute in range(count):
        try:
            record = candidate.read(seconds=MINUTE, start=minute * MINUTE)
        except RecordError:  # leaves a gap in the trend
            continue
        x_L = record.x_KL[record.leads.index(LEAD) if LEAD in record.leads else 0]
        peaks = detect_best(record.x_KL, record.fs)
        if len(peaks) > 2:
            rates_M3[minute] = np.percentile(60 * record.fs / np.diff(peaks), (5, 50, 95))
        if minute % HOUR == 0:
            strips.append(strip(x_L, record.fs, SECONDS, _clock(minute * MINUTE)))
    return rates_M3, strips


def _trend(rates_M3: NDArray[np.float64], say: Texts) -> Markup:
    hours_M = np.arange(len(rates_M3)) / HOUR
    with canvas(6.5, 2) as axes:
        axes.fill_between(hours_M, rates_M3[:, 0], rates_M3[:, 2], color=ACCENT, alpha=0.2, linewidth=0)
        axes.plot(hours_M, rates_M3[:, 1], color=ACCENT, linewidth=1)
        axes.set(xlabel="h", ylabel=say("bpm"), xlim=(0, hours_M[-1]))
        axes.grid(axis="y")
        return svg(axes, say("rates_how"))


def _changes(
    model: MarEcg, record: str | Path, ontology: Ontology, say: Texts, layout: Layout | None
) -> Markup:
    """Return a table with a row for each stretch of time that has the same nearest finding."""
    starts, rhythm_MD = step_vectors(model, record, MINUTE, SECONDS, layout)
    leaves = [node.index for node in ontology.nodes if not node.root]
    q_MN = concepts(model, rhythm_MD)[:, leaves]
    window = np.ones(min(SMOOTH, len(q_MN)))
    smooth_MN = np.stack([np.convolve(q_M, window, "same") for q_M in q_MN.T], axis=1)
    nearest = zip(starts, smooth_MN.argmax(1).tolist(), strict=True)
    runs = [(leaf, [start for start, _ in run]) for leaf, run in groupby(nearest, key=lambda pair: pair[1])]
    rows = [
        (
            f"{_clock(run[0])}–{_clock(run[-1] + MINUTE)}",
            label_in(ontology.nodes[leaves[leaf]], say.language).text,
        )
        for leaf, run in runs
    ]
    return table((say("time"), say("finding")), rows)


def _clock(seconds: float) -> str:
    """Format the time since the beginning as hours and minutes."""
    minutes = round(seconds / MINUTE)
    return f"{minutes // HOUR}:{minutes % HOUR:02}"
