"""`marecg report RECORD`: write the page of a record for readers of ECGs.

q is a record's shares over the concepts of the graph. The nearest findings are the findings with the largest
shares. h_rhythm is the encoder's vector of the record, by which similar records are found.

Shapes: K leads of the record, C standard leads, L samples, N concepts, D width, M records of a corpus.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ecg_base import replacing
from ecg_ontology import Concept, Ontology, load
from ecg_records.measurements.electrodes import doubts
from ecg_records.measurements.intervals import AGREE_MS, Measurements, Reason, measure
from ecg_records.notes import reported
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.inputs import find_one, read_mended
from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import order_leads, resample
from marecg.classify.classifier import EcgClassifier
from marecg.classify.classifier_folder import is_classifier
from marecg.classify.classifier_scores import EVALUATION, FEW_POSITIVES, read_evaluation
from marecg.corpus import index, trained_on
from marecg.corpus.prepared import Corpus
from marecg.embedding.embed import encode
from marecg.embedding.recordings import read_recording
from marecg.errors import CorpusError
from marecg.evaluate.table import read_report
from marecg.model.mar_ecg import MarEcg
from marecg.model.names import installed
from marecg.model.windows import Recording
from marecg.report.day import day_sections
from marecg.report.neighbours import LEAD, SECONDS, cosines_to
from marecg.report.page import Figure, Section, facts, folded, page, paragraph, table
from marecg.report.probes import Trust, Verdict, trust
from marecg.report.record_facts import (
    electrode_quality,
    machine_facts,
    measurement_facts,
    measurement_remarks,
    missing_reasons,
    recording_facts,
)
from marecg.report.records import Shown, concept_graph, from_file
from marecg.report.run_page import origin_table
from marecg.report.texts import Texts
from marecg.report.tracing import stacked, strip, tracing
from marecg.use.answers import RISK, answers_of
from marecg.use.predict import concepts

logger = logging.getLogger(__name__)


def classifier_evidence(folder: str | Path, say: Texts) -> str:
    """Return a sentence with a classifier's AUC on the test records of `classify fit`."""
    file = Path(folder) / EVALUATION
    if not file.is_file():
        return say("trust_classifier_untested")
    evaluation = read_evaluation(Path(folder))
    overall = [score for score in evaluation.scores if not score.group]
    figures = (
        f"{score.name} {say.number(100 * score.auc, 1)} ({say.number(100 * score.low, 1)}–"
        f"{say.number(100 * score.high, 1)}, n = {score.positives})"
        for score in overall
    )
    records = max(score.records for score in overall)
    few = ", ".join(f"{score.name} ({score.chosen_by})" for score in overall if score.uncertain)
    evidence = say("trust_classifier", task=evaluation.task, records=records, figures="; ".join(figures))
    return f"{evidence} {say('trust_few', least=FEW_POSITIVES, named=few)}" if few else evidence


Call = tuple[str, str, str]
"""Name of a class that a classifier assigns, and its probability and threshold as texts in percent."""
FINDINGS = 8
"""Number of nearest findings in the list. Coded findings are listed in addition."""
SEARCHED = 1024
"""Maximum number of labelled corpus records that are searched for similar records."""
SIMILAR = 3
"""Number of similar records, and number of nearest findings above the ECG."""


def write_record(
    run: str | Path,
    record: str | Path,
    out: str | Path,
    *,
    data: str | Path | None = None,
    language: str = "en",
    age: float | None = None,
    layout: Layout | None = None,
) -> Path:
    """Write the page of a record. The run isn't changed.

    Args:
        run: finished run, folder of a model or a classifier, or name of an installed model.
        record: file of the record, in any supported format and with any of the standard leads.
        out: HTML file to write.
        data: prepared corpus whose most similar labelled records are shown; None to leave them out.
        language: language of the page; see `texts.languages`.
        age: age in years, instead of the age in the file.
        layout: sampling rate, leads and units, if the record is a plain array.
    """
    corpus, say = None if data is None else Corpus.open(data), Texts(language)
    classifier = EcgClassifier.load(run) if is_classifier(run) else None
    weights = str(run) if classifier is None else str(Path(run) / "model")
    model = MarEcg.from_pretrained(weights, ontology=None if corpus is None else corpus.ontology())
    shipped, packaged = installed(str(run)), load()
    name, run = str(run) if shipped else Path(run).resolve().name, shipped or Path(run)
    ontology = packaged if packaged.sha256 == model.ontology.sha256 else model.ontology
    shown = from_file(record, model.ontology, layout)
    if age is not None:
        shown = shown._replace(age=age)
    for note in reported(shown.notes):
        logger.warning("%s: %s", record, note)
    measured = measure(shown.x_KL, shown.fs, shown.leads)
    # If pacing spikes aren't found, a spike may have been measured as the beginning or end of a wave.
    if not measured.paced and "Paced" in {model.ontology.nodes[leaf].abbr for leaf in shown.coded}:
        reasons: dict[str, Reason] = {**measured.reasons, **dict.fromkeys(AGREE_MS, "no_spike")}
        measured = measured._replace(
            p=None, pr=None, qrs=None, qt=None, p_axis=None, t_axis=None, reasons=reasons
        )
    of_record = _RecordPage(run, model, ontology, shown, measured, say, classifier, record, layout)
    first, *further = of_record.sections(corpus)
    sections = [first, *day_sections(model, record, ontology, say, layout), *further]
    with replacing(Path(out), private=True) as temporary:
        text = page(
            shown.name,
            say("lead", run=name),
            sections,
            language=language,
            contents=say("contents"),
            kind="record",
        )
        temporary.write_text(text, encoding="utf-8")
    return Path(out)


@dataclass(frozen=True)
class _RecordPage:
    """Record with its measurements, and the model that reads it.

    Attributes:
        ontology: ontology with the labels in the page's language. An older model's ontology may lack them.
        shown: first 10 s of the record.
        measured: measurements of these 10 s.
        classifier: classifier that reads the record, or None.
        file: file of the record. Model and classifier read the whole recording, as in `marecg predict`.
        layout: layout of the file, if it holds a plain array.
    """

    run: Path
    model: MarEcg
    ontology: Ontology
    shown: Shown
    measured: Measurements
    say: Texts
    classifier: EcgClassifier | None = None
    file: str | Path = ""
    layout: Layout | None = None

    def sections(self, corpus: Corpus | None) -> Iterator[Section]:
        """Yield the page's sections, except the sections of a long recording."""
        model = self.model
        # The model reads the whole recording, although the page shows only 10 s.
        _, recording = read_recording(partial(read_mended, find_one(self.file, self.layout)), model.config)
        rhythm_D = next(encode(model, [recording], patches=False)).rhythm
        q_N = concepts(model, rhythm_D[None])[0] if model.prototypes.any() else None
        called = None if self.classifier is None else self._called(self.classifier, recording)
        del recording  # it may last a day
        yield self._ecg(self._makes(q_N, called))
        if called is not None:
            yield self._probabilities(called)
        if corpus is not None:
            yield from self._previous(corpus)
            yield self._similar(rhythm_D, corpus)
        yield self._technical(q_N)

    def _makes(self, q_N: NDArray[np.float32] | None, called: Sequence[Call] | None) -> Markup:
        """Return the results of classifier and encoder: called classes, answers and the nearest findings."""
        say = self.say
        calls = []
        if called is not None:
            named = ", ".join(f"{name} ({share} %)" for name, share, _ in called)
            calls = [paragraph(say("calls", what=named) if named else say("none_called"))]
        if q_N is None:
            return Markup().join([*calls, paragraph(say("no_concepts"))])
        nearest = [node for node in self._by_similarity(q_N) if not node.root][:SIMILAR]
        what = ", ".join(map(say.concept, nearest))
        return Markup().join([*calls, self._answers_text(q_N), paragraph(say("makes", what=what))])

    def _called(self, classifier: EcgClassifier, recording: Recording) -> list[Call]:
        """Return the called classes, the likeliest first."""
        say = self.say
        p_K = classifier.predict_recordings([recording])[0]
        called_K = classifier.calls(p_K[None])[0].tolist()
        cuts_K = [say.number(100 * cut, 1) for cut in classifier.thresholds_.tolist()]
        cuts_K = cuts_K if classifier.several_ else ["–"] * len(cuts_K)
        answers = zip(p_K.tolist(), map(str, classifier.classes_), cuts_K, called_K, strict=True)
        return [
            (name, say.number(100 * p, 1), cut)
            for p, name, cut, is_called in sorted(answers, reverse=True)
            if is_called
        ]

    def _probabilities(self, called: Sequence[Call]) -> Section:
        """Return a section with the called classes, and how the classifier was tested."""
        say = self.say
        head = (say("finding"), say("probability"), say("threshold"))
        body = table(head, called, numeric=(1, 2)) if called else paragraph(say("none_called"))
        tested = paragraph(classifier_evidence(self.run, say))
        return Section(say("probabilities"), [body, paragraph(say("probabilities_how")), tested])

    def _ecg(self, makes: Markup) -> Section:
        """Return a section with facts, measurements, results (`makes`), the ECG, and remarks."""
        shown, say, measured = self.shown, self.say, self.measured
        drawn_KL = shown.x_KL if shown.drawn_KL is None else shown.drawn_KL
        drawn = drawn_KL, shown.fs, shown.leads, shown.name
        labels = ", ".join(say.concept(self.ontology.nodes[index]) for index in shown.coded)
        codes = say("codes", named=labels) if labels else say("no_codes")
        judged = self._trust
        doubtful = judged.verdict in (Verdict.leaking, Verdict.untested) and self.classifier is None
        banner = f"{say('banner')} {self._trust_text(judged)}" if doubtful else say("banner")
        electrodes = doubts(*drawn[:3])
        machine = machine_facts(shown.machine, say)
        coded = [self.model.ontology.nodes[index].abbr for index in shown.coded]
        remarks = measurement_remarks(measured, say, shown.age, shown.sex, coded)
        parts: list[Figure | Markup] = [
            facts(recording_facts(shown, say)),
            facts(measurement_facts(measured, say, shown.age)),
            makes,
            paragraph(banner, "warning"),
            Figure("ecg", [tracing(*drawn)], "", kind="sheet wide-only"),
            Figure("leads", [stacked(*drawn)], "", kind="along narrow-only"),
            paragraph(*electrode_quality(electrodes, shown, say)),
            paragraph(f"{codes} {say('seen')}" if self._in_training() else codes),
            *([paragraph(remarks)] if remarks else []),
            *([paragraph(say("no_age"))] if shown.age is None else []),
            paragraph(f"{say('measured')} {missing_reasons(measured, say)}"),
            *([paragraph(say("theirs")), facts(machine)] if machine else []),
        ]
        return Section(say("ecg"), parts)

    @cached_property
    def _trust(self) -> Trust:
        reports = [read_report(path) for path in sorted((self.run / "probe").glob("*.json"))]
        return trust(reports, self.model.scores)

    def _trust_text(self, judged: Trust) -> str:
        doubt = f" {self.say('leak_unknown')}" if judged.leak_unknown else ""
        return self.say(f"trust_{judged.verdict}", **judged._asdict()) + doubt

    def _in_training(self) -> bool:
        """Return whether the encoder was trained on this record's samples. If unknown, return False."""
        trained, shown = trained_on.read(self.run), self.shown
        if trained is None or len(shown.leads) < len(LEADS):
            return False
        return trained.saw(resample(order_leads(shown.x_KL, shown.leads), shown.fs, trained.fs))

    def _previous(self, corpus: Corpus) -> Iterator[Section]:
        """Yield a section that compares the record with the patient's previous ECG, if the corpus has it."""
        shown, say = self.shown, self.say
        same_M = corpus.patients.among({shown.patient} if shown.patient else ())
        same_M &= corpus.sources.among({shown.source})  # another source may use the same ids
        rows = np.flatnonzero(same_M)
        dates = index.of(corpus.folder, ["acquired"])["acquired"].take(rows).to_pylist()
        now, pairs = shown.date.replace(" ", "T"), zip(dates, rows.tolist(), strict=True)
        earlier = [(date, row) for date, row in pairs if date and date < now]
        if not earlier:
            return
        date, row = max(earlier)
        x_CL = corpus.signals([row])[0, :, : corpus.n_valid[row]]
        before = measurement_facts(measure(x_CL, corpus.config.fs, LEADS), say, shown.age)
        measured = measurement_facts(self.measured, say, shown.age)
        cells = [(name, measured.get(name, "–"), before.get(name, "–")) for name in {**measured, **before}]
        title = say("previous_of", name=corpus.ids[row], date=date.replace("T", " "))
        drawn = tracing(x_CL, corpus.config.fs, LEADS, title)
        compared = table(("", say("this"), title), cells)
        yield Section(say("previous"), [compared, Figure("previous", [drawn], title)])

    def _similar(self, rhythm_D: NDArray[np.float32], corpus: Corpus) -> Section:
        """Return a section with the most similar labelled records, their findings and measurements."""
        shown, say = self.shown, self.say
        labelled = np.flatnonzero(corpus.y.any(1))
        if not len(labelled):
            problem = "must have labelled records, got none"
            raise CorpusError(problem, where=corpus.folder, remedy="Give another corpus, or leave out --data")
        searched = np.linspace(0, len(labelled) - 1, min(len(labelled), SEARCHED)).astype(int)
        labelled = labelled[np.unique(searched)]
        nearest = cosines_to(self.model, corpus, labelled, rhythm_D)
        itself = [row for row, _ in nearest if corpus.ids[row] == shown.name]
        if len(itself) == 1:  # several hits mean that the name isn't unique, for example ecg.hea
            nearest = [pair for pair in nearest if pair[0] not in itself]
        row_of = {name.lower(): row for row, name in enumerate(shown.leads)}
        pictures = [strip(shown.x_KL[row_of.get(LEAD.lower(), 0)], shown.fs, SECONDS, shown.name)]
        notes = [self._note(say("this"), shown.coded, self.measured)]
        for row, cosine in nearest[:SIMILAR]:
            x_CL = corpus.signals([row])[0, :, : corpus.n_valid[row]]
            coded = tuple(np.flatnonzero(corpus.y[row]).tolist())
            pictures.append(strip(x_CL[LEADS.index(LEAD)], corpus.config.fs, SECONDS, corpus.ids[row]))
            title = f"{corpus.ids[row]} · {say('similarity', cosine=cosine)}"
            notes.append(self._note(title, coded, measure(x_CL, corpus.config.fs, LEADS)))
        how = say("nearest_how", records=len(labelled))
        return Section(say("nearest"), [Figure("similar", pictures, how, notes=notes, kind="four")])

    def _note(self, title: str, coded: Sequence[int], measured: Measurements) -> str:
        """Return the note below a strip: name, findings and measurements. Differences are bold."""
        say = self.say

        def marked(text: str, differs: bool) -> str:
            return Markup("<b>{}</b>").format(text) if differs else text

        findings = [
            marked(say.concept(self.ontology.nodes[index]), index not in self.shown.coded) for index in coded
        ]
        values = []
        for name, tolerance, unit in (("rate", 10, say("bpm")), ("qrs", 20, "ms")):
            value, own_value = getattr(measured, name), getattr(self.measured, name)
            if value is not None:
                differs = own_value is not None and abs(value - own_value) > tolerance
                values.append(marked(f"{say(name)} {say.number(value)} {unit}", differs))
        codes = Markup(", ").join(findings) or say("nothing_coded")
        return Markup("<br>").join([title, codes, Markup(" · ").join(values)])

    def _technical(self, q_N: NDArray[np.float32] | None) -> Section:
        """Return the technical details. Shares of concepts are here, because similarity isn't a finding."""
        model, shown, say = self.model, self.shown, self.say
        parts: list[Figure | Markup] = [folded(say("findings"), self._findings(q_N))]
        if q_N is not None:
            graph = concept_graph(model.ontology, q_N, shown, say("graph"))
            parts.append(folded(say("graph"), Figure("graph", [graph], "")))
        tested = paragraph(self._trust_text(self._trust))
        parts.append(folded(say("origin"), tested + origin_table(model)))
        return Section(say("technical"), parts)

    def _answers_text(self, q_N: NDArray[np.float32]) -> Markup:
        """Return a sentence with the answers at the default risk, or "" for a model without answers."""
        model, say = self.model, self.say
        answers = answers_of(self.run, model)
        if answers is None:
            return Markup()
        [answered] = answers.select(model.ontology, q_N[None])
        nodes = [model.ontology.nodes[answer.concept] for answer in answered]
        names = [
            say("answers_family", family=say.concept(node)) if node.root else say.concept(node)
            for node in nodes
        ]
        what = "; ".join(names) or say("answers_nothing")
        return paragraph(say("answers", risk=f"{100 * RISK:g} %", records=answers.records, what=what))

    def _by_similarity(self, q_N: NDArray[np.float32]) -> list[Concept]:
        return [self.ontology.nodes[index] for index in np.argsort(-q_N, kind="stable").tolist()]

    def _findings(self, q_N: NDArray[np.float32] | None) -> Markup:
        """Return a table of findings and a table of families, because a finding and its family share q."""
        say, coded = self.say, self.shown.coded
        if q_N is None:
            return paragraph(say("no_concepts"))
        order = self._by_similarity(q_N)
        leaves = [node for node in order if not node.root]
        listed = [node for rank, node in enumerate(leaves) if rank < FINDINGS or node.index in coded]
        tables = [
            table((say(head),), [(say.concept(node) + "\u00a0●" * (node.index in coded),) for node in nodes])
            for head, nodes in (("finding", listed), ("family", [node for node in order if node.root]))
        ]
        how = paragraph(say("findings_how", count=len(leaves)))
        return how + Markup('<div class="two">{}{}</div>').format(*tables)
