"""`marecg gallery`: what was quarantined, with pictures, so that a person can judge the rules.

One HTML file without scripts or network: for each reason, how many records it took and some examples.

Shapes: C leads, L samples.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ecg_ontology import replacing
from marecg.base.errors import RecordError
from marecg.corpus.account import Quarantined, read_report
from marecg.corpus.prepared import read_about
from marecg.read.array_layout import Layout
from marecg.read.discovery import find
from marecg.read.record import Candidate
from marecg.report.page import Figure, Section, page
from marecg.report.tracing import rows
from marecg.storage.copies import ensure_local

EXAMPLES = 3
"""Pictures per reason."""


def gallery(folder: str | Path, sources: Sequence[str | Path], out: str | Path) -> int:
    """Write the page, signals from the folders it was prepared from; returns how many pictures it has."""
    corpus = ensure_local(folder)
    about, report = read_about(corpus), read_report(corpus)
    window = about["config"]["window"] / about["config"]["fs"]
    layout = Layout.from_dict(about["arrays"]) if about.get("arrays") else None
    roots = [ensure_local(each).resolve() for each in sources]
    candidates = {(each.root_name, each.path): each for each in find(roots, layout=layout)}
    examples: dict[str, list[Figure]] = defaultdict(list)
    for entry in report.records:
        if len(examples[entry.reason]) < EXAMPLES:
            candidate = candidates.get((entry.root, entry.path))
            examples[entry.reason].append(_example(entry, candidate, window))
    sections = [
        Section(f"{reason}: {report.quarantined[reason]}", shown)
        for reason, shown in sorted(examples.items())
    ]
    counts = (
        f"{report.found} records found, {report.kept} kept, {len(report.records)} quarantined. "
        f"At most {EXAMPLES} of each reason are shown, each at the largest gain at which it fits its rows; "
        "the gain is written at its foot."
    )
    with replacing(out) as temporary:
        temporary.write_text(page("Quarantined records", counts, sections), encoding="utf-8")
    return sum(len(example.pictures) for shown in examples.values() for example in shown)


def _example(entry: Quarantined, candidate: Candidate | None, seconds: float) -> Figure:
    """The record's name and message, and its picture where it can be read at all."""
    name = f"{entry.root}/{entry.path}"
    pictures = []
    if candidate is not None:
        with suppress(RecordError):
            record = candidate.read(seconds=seconds)
            pictures = [rows(record.x_CL, record.fs, label=f"12 leads of {name}")]
    return Figure(entry.path, pictures, f"{name}: {entry.message}")
