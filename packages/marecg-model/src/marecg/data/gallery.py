"""`marecg gallery`: what was quarantined, with pictures, so that a person can judge the rules.

One HTML file without scripts or network: for each reason, how many records it took and some examples.

Shapes: C leads, L samples.
"""

import base64
import io
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ecg_ontology.files import replacing
from marecg.config import LEADS
from marecg.data.candidates import Candidate
from marecg.data.dataset import read_about
from marecg.data.discovery import find
from marecg.data.folder import read_json
from marecg.data.layout import Layout
from marecg.data.records import Record
from marecg.errors import RecordError

EXAMPLES = 3
"""Pictures per reason."""

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Quarantined records</title>
<style>body{{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto}}img{{width:100%}}</style>
<h1>Quarantined records</h1>
<p>{found} records found, {kept} kept, {out} quarantined.</p>
{sections}
</html>
"""


def gallery(folder: str | Path, sources: Sequence[str | Path], out: str | Path) -> int:
    """Write the page; returns how many pictures it has.

    Args:
        folder: the corpus, for its report.
        sources: the folders it was prepared from, for the signals.
        out: the HTML file.

    Raises:
        CorpusError: no corpus, or no records in the sources.
        OutputError: the page can't be written.
    """
    about, report = read_about(Path(folder)), read_json(Path(folder) / "report.json")
    window = about["config"]["window"] / about["config"]["fs"]
    layout = Layout.from_dict(about["arrays"]) if about.get("arrays") else None
    found = find([Path(each).resolve() for each in sources], layout=layout)
    candidates = {(each.root.name, each.path): each for each in found}
    examples: dict[str, list[str]] = defaultdict(list)
    for entry in report["records"]:
        if len(examples[entry["reason"]]) < EXAMPLES:
            candidate = candidates.get((entry["root"], entry["path"]))
            examples[entry["reason"]].append(_example(entry, candidate, window))
    sections = [
        f"<h2>{reason}: {report['quarantined'][reason]}</h2>\n" + "\n".join(shown)
        for reason, shown in sorted(examples.items())
    ]
    page = _PAGE.format(
        found=report["found"],
        kept=report["kept"],
        out=len(report["records"]),
        sections="\n".join(sections),
    )
    with replacing(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return page.count("<img")


def draw(record: Record, seconds: float) -> bytes:
    """The twelve leads of a record, one below the other and each on its own scale, as PNG."""
    x_CL = record.x_CL[:, : round(seconds * record.fs)]
    time_L = np.arange(x_CL.shape[1]) / record.fs
    figure = Figure(figsize=(10, 9), layout="constrained")
    for axis, lead, x_L in zip(figure.subplots(len(LEADS), sharex=True), LEADS, x_CL, strict=True):
        axis.plot(time_L, x_L, linewidth=0.6, color="black")
        axis.set_ylabel(f"{lead}\nmV", rotation=0, labelpad=18, va="center")
        axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlabel("s")
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=80, metadata={"Software": None})
    return image.getvalue()


def _example(entry: dict[str, str], candidate: Candidate | None, seconds: float) -> str:
    """The record's name and message, and its picture where it can be read at all."""
    text = f"<p><b>{escape(entry['root'])}/{escape(entry['path'])}</b>: {escape(entry['message'])}</p>"
    if candidate is None:
        return text
    try:
        image = base64.b64encode(draw(candidate.read(seconds=seconds), seconds)).decode()
    except RecordError:
        return text
    return f'{text}\n<img alt="{escape(entry["path"])}" src="data:image/png;base64,{image}">'
