"""Read the records that pages show, and draw them: the ECG on paper, and its concepts on the graph.

q is a record's shares over the concepts of the graph. The nearest concepts have the largest shares.

Shapes: K leads of the record, C standard leads, L samples, N concepts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ecg_ontology import Concept, Ontology
from ecg_ontology.views.draw import graph_figure
from ecg_ontology.views.figures import inline_svg
from ecg_records import read
from ecg_records.machine import MachineReport
from ecg_records.notes import Note, NoteKind
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.datasets import ptbxl
from ecg_records.readers.inputs import mended_record
from ecg_records.record import Record
from ecg_records.signal.leads import LEADS
from marecg.corpus.prepared import Corpus
from marecg.corpus.trained_on import TrainedOn
from marecg.model.mar_ecg import MarEcg
from marecg.model.stored_signal import signal_hash
from marecg.report.page import Figure, Section, heading, paragraph, table
from marecg.report.texts import caption
from marecg.report.tracing import SECONDS, stacked, tracing, tracing_gain
from marecg.use.predict import predict

FROM_CORPUS = 3
"""Maximum number of corpus records on a page. The records belong to different families."""
_DATE = re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)")
TABLED = ("id", "source", "codes", "age", "sex", "patient", "acquired", "device", "machine")
"""Fields of a PTB-XL record that come from the dataset's table."""
TOP = 10
"""Number of concepts in the list next to the graph."""


class Shown(NamedTuple):
    """Record on a page: the first 10 s of its signal, and metadata from the file or the dataset's table.

    Attributes:
        x_KL: signal for the model, in mV.
        coded: leaves of the record's codes, by their number in the graph.
        leaked: whether the encoder was trained on the record.
        age, sex: age in years, and F or M.
        machine: measurements and statements of the device.
        patient: id of the patient within the source.
        filters: filters applied by the device.
        length: samples of the whole recording.
        drawn_KL: signal for drawing, in mV; None if `x_KL` is drawn.
    """

    name: str
    x_KL: NDArray[np.float32]
    fs: float
    leads: Sequence[str]
    coded: tuple[int, ...]
    leaked: bool = False
    age: float | None = None
    sex: str | None = None
    date: str = ""
    device: str = ""
    machine: MachineReport = MachineReport()
    source: str = ""
    patient: str = ""
    filters: str = ""
    length: int = 0
    drawn_KL: NDArray[np.float32] | None = None
    notes: tuple[Note, ...] = ()


def from_file(path: str | Path, ontology: Ontology, layout: Layout | None = None) -> Shown:
    """Read the first 10 s of a record. If the file holds a plain array, `layout` describes it."""
    record = _read(path, layout)
    record = replace(record, x_KL=record.x_KL[:, : round(SECONDS * record.fs)])
    usable = mended_record(replace(record, length=record.x_KL.shape[1]))
    coded = np.flatnonzero(ontology.leaf_multi_hot([record.codes], strict=None)[0])
    return Shown(
        record.id,
        usable.x_KL,
        record.fs,
        record.leads,
        tuple(coded.tolist()),
        age=record.age,
        sex=record.sex,
        date=(record.acquired or "").replace("T", " ") or _date(record.path),
        device=record.device or "",
        machine=record.machine,
        source=record.source,
        patient=record.patient or "",
        filters="; ".join(note for note in map(Note, record.notes) if note.kind == NoteKind.filters),
        length=record.length,
        drawn_KL=record.x_KL,
        notes=tuple(note if isinstance(note, Note) else Note(note) for note in usable.notes),
    )


def _read(path: str | Path, layout: Layout | None) -> Record:
    """Read a record from disk. For a record of PTB-XL, add the fields of the dataset's table."""
    record = read(path, layout, seconds=SECONDS)
    for root in filter(ptbxl.is_root, record.path.resolve().parents):
        for entry in ptbxl.database(root):
            copies = [(root / f"{file}.hea").resolve() for file in (entry.file, entry.slow_file)]
            if record.path.resolve() in copies:
                tabled = ptbxl.read(root, entry)
                return replace(record, **{name: getattr(tabled, name) for name in TABLED})
    return record


def _date(header: Path) -> str:
    """Return the date in the first line of a WFDB header in ISO format, or "" if it is missing or invalid."""
    if header.suffix != ".hea":
        return ""
    match = _DATE.search(header.read_text(encoding="utf-8", errors="replace").partition("\n")[0])
    if match is None:
        return ""
    day, month, year = map(int, match.groups())
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def from_corpus(corpus: Corpus, ontology: Ontology, trained: TrainedOn | None) -> list[Shown]:
    """Choose records of different families from a corpus. Records outside of training are preferred."""
    family = np.array(ontology.families)
    labelled = np.flatnonzero(corpus.primary >= 0)
    _, first = np.unique(family[corpus.primary[labelled]], return_index=True)
    shown = []
    for row in sorted(labelled[first].tolist()):
        x_CL = corpus.signals([row])[0, :, : corpus.n_valid[row]]
        coded = tuple(np.flatnonzero(corpus.y[row]).tolist())
        leaked = trained is not None and signal_hash(corpus.stored([row])[0]) in trained.hashes
        name = f"{corpus.ids[row]}, {corpus.sources[row]}"
        shown.append(Shown(name, x_CL, corpus.config.fs, LEADS, coded, leaked))
    return sorted(shown, key=lambda record: record.leaked)[:FROM_CORPUS]


def record_section(model: MarEcg, shown: Shown, number: int) -> Section:
    """Return the section of a record. `number` is its position on the page."""
    coded = [model.ontology.nodes[index] for index in shown.coded]
    leaves = ", ".join(map(_title, coded)) or "no leaf of the graph"
    return Section(
        f"Record {number}: {shown.name}",
        [
            paragraph(f"Coded findings: {leaves}." + f" {caption('seen')}" * shown.leaked),
            *_paper(shown, number),
            *_concepts(model, shown, number),
        ],
    )


def _paper(shown: Shown, number: int) -> list[Figure]:
    """Return the drawings of an ECG: a sheet for wide windows, and stacked leads for narrow windows."""
    seconds = min(shown.x_KL.shape[1] / shown.fs, SECONDS)
    gains = tracing_gain(shown.x_KL, shown.fs, shown.leads)
    squares = {"square": 1 / gains.limb, "large": 5 / gains.limb}
    text = caption("ecg", seconds=seconds, gain=gains, **squares)
    drawn = shown.x_KL, shown.fs, shown.leads, f"12-lead ECG of record {shown.name}"
    text += f" {caption('layout')}" if number == 1 else ""
    return [
        Figure(f"record-{number}-ecg", [tracing(*drawn)], text, kind="sheet wide-only"),
        Figure(f"record-{number}-leads", [stacked(*drawn)], "", kind="along narrow-only"),
    ]


def _concepts(model: MarEcg, shown: Shown, number: int) -> Iterator[Figure | Markup]:
    yield heading("Concepts")
    if not model.prototypes.any():
        yield paragraph(caption("no_concepts"))
        return
    q_N = predict(model, shown.x_KL[None], fs=shown.fs, leads=shown.leads)[0]
    yield Figure(
        f"record-{number}-concepts",
        [concept_graph(model.ontology, q_N, shown, f"Concept probabilities of {shown.name} on the graph")],
        caption("concepts", count=len(q_N)) if number == 1 else caption("again"),
        kind="beside",
        aside=_ranking(model.ontology, q_N, shown.coded),
    )


def concept_graph(ontology: Ontology, q_N: NDArray[np.float32], shown: Shown, label: str) -> Markup:
    """Draw the concept graph with a record's q. Concepts that the record is coded with have a ring."""
    return Markup(inline_svg(graph_figure(ontology, q_N, shown.coded), label))  # noqa: S704 (drawn here)


def _ranking(ontology: Ontology, q_N: NDArray[np.float32], coded: Sequence[int]) -> Markup:
    """Return a table of the nearest concepts and of all coded concepts, with their ranks."""
    order = np.argsort(-q_N, kind="stable").tolist()
    rows = [
        (f"{rank}", _title(ontology.nodes[index]) + "\u00a0●" * (index in coded), f"{100 * q_N[index]:.1f}")
        for rank, index in enumerate(order, start=1)
        if rank <= TOP or index in coded
    ]
    ranked = table(("", "concept", "q, %"), rows, numeric=(0, 2))
    marked = paragraph("● coded in the record") if coded else ""
    return Markup("<div>{}{}</div>").format(ranked, marked)


def _title(concept: Concept) -> str:
    return concept.label if concept.label == concept.abbr else f"{concept.label} ({concept.abbr})"
