"""`marecg report RECORD`: one record on a page of its own, as whoever reads ECGs wants to read it.

Shapes: K leads as found, C leads, L samples, N concepts, D width.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ecg_ontology import Concept, Ontology, label_in, load, replacing
from marecg.base.config import LEADS
from marecg.base.errors import CorpusError
from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.ecg.electrodes import doubts
from marecg.ecg.intervals import Measurements, measure
from marecg.ecg.signal import order_leads, resample
from marecg.ecg.windows import arranged
from marecg.evaluate.table import read_report
from marecg.model.card_figures import Score
from marecg.model.installed import installed
from marecg.model.mar_ecg import MarEcg
from marecg.report.day import day_sections
from marecg.report.neighbours import LEAD, SECONDS, cosines_to
from marecg.report.page import Figure, Section, facts, folded, page, paragraph, table
from marecg.report.probes import trust
from marecg.report.records import Shown, attention_figure, concept_graph, from_file
from marecg.report.texts import (
    Say,
    electrode_quality,
    machine_facts,
    measurement_facts,
    missing_reasons,
    number,
    recording_facts,
    texts,
)
from marecg.report.tracing import stacked, strip, tracing
from marecg.report.training import origin_table
from marecg.use.classifier import EcgClassifier
from marecg.use.classifier_folder import is_classifier
from marecg.use.embed import embed
from marecg.use.predict import concepts

FINDINGS = 8
"""Findings that are listed; those that are coded are listed wherever they rank."""
AMONG = 1024
"""Labelled records of the corpus among which the most similar ones are looked for."""
SIMILAR = 3


def write_record(
    run: str | Path,
    record: str | Path,
    out: str | Path,
    *,
    data: str | Path | None = None,
    language: str = "en",
) -> Path:
    """Write the page of one record; nothing else of the run is touched.

    Args:
        run: a finished run, a folder of a model or a classifier, or the name of an installed model.
        record: a record on disk in any format that is read; any of the twelve leads.
        data: a prepared corpus, for the most similar labelled records.

    Raises:
        CheckpointError: the folder holds no model, or its graph is another than the corpus'.
        InputError: the record can't be read.
        CorpusError: `data` isn't a prepared corpus, or one without labels.
        UsageError: the page is not written in that language.
        OutputError: the page can't be written.
    """
    corpus = None if data is None else Corpus.open(data)
    say, out = texts(language), Path(out)
    weights = Path(run) / "model" if is_classifier(run) else run
    model = MarEcg.from_pretrained(str(weights), ontology=None if corpus is None else corpus.ontology())
    shipped = installed(str(run))
    classifier = EcgClassifier.load(run) if is_classifier(run) else None
    name, run = str(run) if shipped else Path(run).resolve().name, shipped or Path(run)
    packaged = load()
    named = packaged if packaged.sha256 == model.ontology.sha256 else model.ontology
    shown = from_file(record, model.ontology)
    sections = list(_sections(run, model, named, shown, corpus, say, language))
    sections[1:1] = day_sections(model, record, named, say, language)
    if classifier is not None:
        sections.insert(1, _called(classifier, shown, say, language))
    with replacing(out) as temporary:
        lead = say("lead", run=name)
        text = page(shown.name, lead, sections, language=language, contents=say("contents"))
        temporary.write_text(text, encoding="utf-8")
    return out


def _sections(
    run: Path,
    model: MarEcg,
    ontology: Ontology,
    shown: Shown,
    corpus: Corpus | None,
    say: Say,
    language: str,
) -> Iterator[Section]:
    """`ontology` names the concepts; that of an older model may lack a language."""
    rhythm_D = embed(model, shown.x_KL[None], fs=shown.fs, leads=shown.leads).rhythm[0]
    measured = measure(shown.x_KL, shown.fs, shown.leads)
    yield _ecg(run, model.scores, ontology, shown, measured, say, language)
    q_N = concepts(model, rhythm_D[None])[0] if model.prototypes.any() else None
    if corpus is not None:
        yield _similar(model, ontology, shown, measured, rhythm_D, corpus, say, language)
    nearest = _findings(ontology, q_N, shown.coded, say, language)
    yield _technical(model, shown, q_N, nearest, say)


def _ecg(
    run: Path,
    scores: Sequence[Score],
    ontology: Ontology,
    shown: Shown,
    measured: Measurements,
    say: Say,
    language: str,
) -> Section:
    named = ", ".join(_name(ontology.nodes[index], language) for index in shown.coded)
    codes = say("codes", named=named) if named else say("no_codes")
    found = trust([read_report(path) for path in sorted((run / "probe").glob("*.json"))], scores)
    electrodes = doubts(shown.x_KL, shown.fs, shown.leads)
    doubt = [say("leak_unknown")] if found.leak_unknown else []
    theirs = machine_facts(shown.machine, say, language)
    parts: list[Figure | Markup] = [
        paragraph(" ".join([say(f"trust_{found.verdict}", **found._asdict()), *doubt]), "warning"),
        facts(recording_facts(shown, say)),
        Figure("ecg", [tracing(shown.x_KL, shown.fs, shown.leads, shown.name)], "", kind="sheet wide-only"),
        Figure(
            "leads", [stacked(shown.x_KL, shown.fs, shown.leads, shown.name)], "", kind="along narrow-only"
        ),
        facts(measurement_facts(measured, say, language)),
        paragraph(electrode_quality(electrodes, say), "warning" if any(electrodes) else ""),
        paragraph(f"{codes} {say('seen')}" if _seen(run, shown) else codes),
        paragraph(f"{say('measured')} {missing_reasons(measured, say)}"),
        *([paragraph(say("theirs")), facts(theirs)] if theirs else []),
    ]
    return Section(say("ecg"), parts)


def _seen(run: Path, shown: Shown) -> bool:
    """Whether the encoder was trained on the same samples; False where the run or the leads don't tell."""
    trained = trained_on.read(run)
    if trained is None or len(shown.leads) < len(LEADS):
        return False
    x_CL = resample(order_leads(shown.x_KL, shown.leads), shown.fs, trained.fs)
    return trained.saw(x_CL)


def _findings(
    ontology: Ontology, q_N: NDArray[np.float32] | None, coded: Sequence[int], say: Say, language: str
) -> Markup:
    """Findings and families apart: a family is a heading, and competes with what stands under it."""
    if q_N is None:
        return paragraph(say("no_concepts"))
    order = np.argsort(-q_N, kind="stable").tolist()

    def rows(listed: Sequence[int]) -> list[tuple[str]]:
        return [(_name(ontology.nodes[index], language) + "\u00a0●" * (index in coded),) for index in listed]

    leaves = [index for index in order if not ontology.nodes[index].root]
    roots = [index for index in order if ontology.nodes[index].root]
    listed = [index for rank, index in enumerate(leaves) if rank < FINDINGS or index in coded]
    tables = (
        table((say("finding"),), rows(listed)),
        table((say("family"),), rows(roots)),
    )
    how = paragraph(say("findings_how", count=len(leaves)))
    return how + Markup('<div class="two">{}{}</div>').format(*tables)


def _called(classifier: EcgClassifier, shown: Shown, say: Say, language: str) -> Section:
    """The classes of a classifier whose calibrated probability reaches their thresholds, likeliest first."""
    record = arranged(shown.x_KL, shown.fs, shown.leads, classifier.encoder.config)
    each = zip(
        classifier.classes_, classifier.predict_recordings([record])[0], classifier.thresholds_, strict=True
    )
    called = sorted(((p, str(name), cut) for name, p, cut in each if p >= cut), reverse=True)
    rows = [
        (name, number(100 * float(p), 1, language), number(100 * float(cut), 1, language))
        for p, name, cut in called
    ]
    head = (say("finding"), say("probability"), say("threshold"))
    body = table(head, rows, numeric=(1, 2)) if rows else paragraph(say("none_called"))
    return Section(say("probabilities"), [body, paragraph(say("probabilities_how"))])


def _similar(
    model: MarEcg,
    ontology: Ontology,
    shown: Shown,
    measured: Measurements,
    rhythm_D: NDArray[np.float32],
    corpus: Corpus,
    say: Say,
    language: str,
) -> Section:
    """The nearest labelled records, with what is coded in them and what differs."""
    labelled = np.flatnonzero(corpus.y.any(1))
    if not len(labelled):
        raise CorpusError("has no labelled record", where=corpus.folder, remedy="Leave out --data")
    labelled = labelled[np.unique(np.linspace(0, len(labelled) - 1, min(len(labelled), AMONG)).astype(int))]
    nearest = cosines_to(model, corpus, labelled, rhythm_D)
    itself = [row for row, _ in nearest if corpus.ids[row] == shown.name]
    if len(itself) == 1:  # where every patient's file is called ecg.hea, a name says nothing
        nearest = [pair for pair in nearest if pair[0] not in itself]
    nearest = nearest[:SIMILAR]
    own = {name.lower(): place for place, name in enumerate(shown.leads)}
    row_L = shown.x_KL[own.get(LEAD.lower(), 0)]
    pictures = [strip(row_L, shown.fs, SECONDS, shown.name)]
    notes = [_note(say("this"), shown.coded, measured, None, ontology, say, language)]
    for row, cosine in nearest:
        x_CL = corpus.signals([row])[0, :, : corpus.n_valid[row]]
        coded = tuple(np.flatnonzero(corpus.y[row]).tolist())
        theirs = measure(x_CL, corpus.config.fs, LEADS)
        pictures.append(strip(x_CL[LEADS.index(LEAD)], corpus.config.fs, SECONDS, corpus.ids[row]))
        title = f"{corpus.ids[row]} · {say('similarity', cosine=cosine)}"
        notes.append(_note(title, coded, theirs, (shown.coded, measured), ontology, say, language))
    how = say("nearest_how", records=len(labelled))
    return Section(say("nearest"), [Figure("similar", pictures, how, notes=notes, kind="four")])


def _note(
    title: str,
    coded: Sequence[int],
    measured: Measurements,
    other: tuple[Sequence[int], Measurements] | None,
    ontology: Ontology,
    say: Say,
    language: str,
) -> str:
    """Under a strip: its name, its findings and measurements, bold where they are other than in `other`."""

    def marked(text: str, differs: bool) -> str:
        return Markup("<b>{}</b>").format(text) if differs else text

    findings = [
        marked(_name(ontology.nodes[index], language), other is not None and index not in other[0])
        for index in coded
    ]
    values = []
    for name, far, unit in (("rate", 10, say("bpm")), ("qrs", 20, "ms")):
        value = getattr(measured, name)
        if value is not None:
            before = getattr(other[1], name) if other is not None else None
            differs = before is not None and abs(value - before) > far
            values.append(marked(f"{say(name)} {number(value, 0, language)} {unit}", differs))
    named = Markup(", ").join(findings) or say("nothing_coded")
    return Markup("<br>").join([title, named, Markup(" · ").join(values)])


def _technical(
    model: MarEcg, shown: Shown, q_N: NDArray[np.float32] | None, nearest: Markup, say: Say
) -> Section:
    """What a reader of ECGs need not unfold; resemblance is no finding, so it stands here."""
    parts: list[Figure | Markup] = [folded(say("findings"), nearest)]
    if q_N is not None:
        graph = concept_graph(model.ontology, q_N, shown, say("graph"))
        parts.append(folded(say("graph"), Figure("graph", [graph], "")))
    parts.append(folded(say("attention"), attention_figure(model, shown, "attention")))
    parts.append(folded(say("origin"), origin_table(model)))
    return Section(say("technical"), parts)


def _name(concept: Concept, language: str) -> str:
    label = label_in(concept, language).text
    return label if label == concept.abbr else f"{label} ({concept.abbr})"
