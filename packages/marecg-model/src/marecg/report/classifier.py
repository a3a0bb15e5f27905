"""Write the page and the model card of a classifier: scores on test records, charts, and the worst errors.

Shapes: C leads, L samples, M test records, K classes.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from ecg_base import plain_markdown, write_text
from ecg_records.signal.leads import LEADS
from ecg_records.storage.documents import read_model
from marecg.base.markdown import table as markdown_table
from marecg.classify.calibration import called_classes
from marecg.classify.classifier_folder import MARK, Description
from marecg.classify.classifier_scores import FEW_POSITIVES, Evaluation, GroupScore, read_evaluation
from marecg.classify.fit_classifier import CARD, PAGE, read_predictions
from marecg.corpus.prepared import Corpus
from marecg.report.page import TEMPLATES, Figure, Section, heading, page, paragraph, table
from marecg.report.score_charts import confusion, precision_recall, reliability_chart, roc
from marecg.report.texts import caption
from marecg.report.tracing import tracing

WORST = 2
"""Number of records shown for each class and type of error."""
CLASSES_WITH_ERRORS = 6
"""Number of classes whose worst errors are shown. They are the classes with the most positives."""


def write_classifier_report(folder: Path, corpus: Corpus) -> Path:
    """Write the page and the model card of a classifier into its folder, and return the path of the page.

    `corpus` is the prepared corpus that contains the test records.
    """
    evaluation = read_evaluation(folder)
    classifier = read_model(Description, folder / MARK, "isn't a classifier", "Fit the classifier again")
    frame = read_predictions(folder)
    trained = "a new head" if classifier.layers == "head" else f"layers {classifier.layers} trained"
    lead = (
        f"{evaluation.model} with {trained}, {len(classifier.classes)} classes, evaluated on {len(frame)} "
        "test records. For research only. Not a medical device."
    )
    overall = [score for score in evaluation.scores if not score.group]
    sections = list(_sections(evaluation, classifier, frame, corpus))
    card = TEMPLATES.get_template("classifier.md.j2").render(
        evaluation=evaluation,
        classifier=classifier,
        classes=list(zip(classifier.classes, classifier.calibrations, classifier.thresholds, strict=True)),
        figures=_markdown(overall),
        few=few_positives(evaluation.scores),
        test=len(frame),
        folder=folder.name,
    )
    for file, text in ((CARD, card), (PAGE, page(f"Classifier: {evaluation.task}", lead, sections))):
        write_text(folder / file, text, private=True)
    return folder / PAGE


def _sections(
    evaluation: Evaluation, classifier: Description, frame: pd.DataFrame, corpus: Corpus
) -> Iterator[Section]:
    order = {node.abbr: node.index for node in corpus.ontology().nodes}
    names = sorted(map(str, classifier.classes), key=lambda name: order.get(name, -1))
    cut_of = dict(zip(map(str, classifier.classes), classifier.thresholds, strict=True))
    calls = calls_of(frame, {name: cut_of[name] for name in names}, exclusive=evaluation.exclusive)
    leaked = ""
    if evaluation.seen:
        leaked = f" {evaluation.seen} of the {len(frame)} test records are affected; they are marked below."
    yield Section(
        "Figures",
        [
            _scores([score for score in evaluation.scores if not score.group], "class"),
            *([paragraph(few, "warning")] if (few := few_positives(evaluation.scores)) else []),
            paragraph(_figures_text(classifier)),
            paragraph(evaluation.leak + leaked, "warning" if leaked else ""),
        ],
    )
    curves = [roc(frame, calls), precision_recall(frame, calls)]
    yield Section("Curves", [Figure("curves", curves, caption("classifier_curves"), kind="row")])
    reliability = [reliability_chart(frame, name) for name in names]
    calibrations = [
        (
            str(name),
            curve.kind,
            ", ".join(f"{kind} {loss:.4f}" for kind, loss in curve.log_loss.items()) or "not compared",
            _percent(cut if classifier.several else None),
        )
        for name, curve, cut in zip(
            classifier.classes, classifier.calibrations, classifier.thresholds, strict=True
        )
    ]
    yield Section(
        "Calibration",
        [
            Figure("reliability", reliability, caption("reliability"), kind="row"),
            table(("class", "calibration", "log loss", "threshold, %"), calibrations, numeric=[3]),
            paragraph(caption("calibration")),
        ],
    )
    matrix = confusion(frame, calls)
    yield Section("Confusion", [Figure("confusion", [matrix], caption("classifier_confusion"), kind="row")])
    groups = [score for score in evaluation.scores if score.group]
    none = paragraph("No group has at least five records with a class and five records without it.")
    yield Section("Groups", [_scores(groups, "class, group") if groups else none])
    yield Section(
        "Worst errors", [part for parts in _worst(frame, evaluation, calls, cut_of, corpus) for part in parts]
    )


def calls_of(frame: pd.DataFrame, cut_of: Mapping[str, float], *, exclusive: bool) -> pd.DataFrame:
    """Return whether each class is called for each test record, with a column per class.

    A class is called if its probability reaches its threshold. If classes are `exclusive`, the class with the
    highest probability is called instead.

    Args:
        frame: predictions on the test records, with a column `p CLASS` per class.
        cut_of: threshold of each class.
        exclusive: whether a record has exactly one class.
    """
    p_MK = frame[[f"p {name}" for name in cut_of]].to_numpy(np.float64)
    called_MK = called_classes(p_MK, np.array([*cut_of.values()]), several=not exclusive)
    return pd.DataFrame(called_MK, frame.index, list(cut_of))


def heads_and_rows(
    scores: Sequence[GroupScore], head: str = "class", *, at_prevalence: bool = False
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads and rows of a table of scores, with a row per class and group.

    `head` is the head of the first column. With `at_prevalence`, the last column is the positive predictive
    value (PPV) at the expected prevalence.
    """
    rows = [
        (
            score.name + (f", {score.group}" if score.group else "") + " *" * score.uncertain,
            f"{score.records:,}",
            f"{score.positives:,}",
            _percent(score.auc),
            f"{_percent(score.low)}–{_percent(score.high)}",
            _percent(score.average_precision),
            *(f"{error:.3f}" for error in (score.ece_before, score.ece, score.ece_chance)),
            *(_percent(share) for share in (score.sensitivity, score.specificity, score.ppv)),
            *([_at_prevalence(score)] if at_prevalence else []),
        )
        for score in scores
    ]
    ece = ("ECE before", "after", "by chance")
    called = ("sensitivity", "specificity", "PPV", *["PPV at prevalence"] * at_prevalence)
    return (head, "records", "positive", "AUC", "95 %", "AP", *ece, *called), rows


def _has_prevalence(scores: Sequence[GroupScore]) -> bool:
    return any(score.prevalence is not None for score in scores)


def _at_prevalence(score: GroupScore) -> str:
    if score.prevalence is None:
        return "–"
    return f"{_percent(score.ppv_at_prevalence)} at {100 * score.prevalence:.3g} %"


def _markdown(scores: Sequence[GroupScore]) -> str:
    heads, rows = heads_and_rows(scores, at_prevalence=_has_prevalence(scores))
    plain = [(plain_markdown(name), *figures) for name, *figures in rows]
    return "".join(f"{line}\n" for line in markdown_table(heads, plain, aligned=True))


def few_positives(scores: Sequence[GroupScore]) -> str | None:
    """Return a sentence on thresholds chosen on too few positives, or None if there are none."""
    names = [f"{score.name} ({score.chosen_by})" for score in scores if score.uncertain and not score.group]
    if not names:
        return None
    return (
        f"* Thresholds chosen on fewer than {FEW_POSITIVES} positives of validation: {', '.join(names)}. "
        "On other records their sensitivity may be very different."
    )


def _figures_text(classifier: Description) -> str:
    called = "classifier_several" if classifier.several else "classifier_one"
    return f"{caption('classifier')} {caption(called, rule=classifier.rule)}"


def _scores(scores: Sequence[GroupScore], head: str) -> Markup:
    heads, rows = heads_and_rows(scores, head, at_prevalence=_has_prevalence(scores))
    return table(heads, rows, numeric=range(1, len(heads)))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _worst(
    frame: pd.DataFrame,
    evaluation: Evaluation,
    calls: pd.DataFrame,
    cut_of: Mapping[str, float],
    corpus: Corpus,
) -> Iterator[tuple[Markup, Figure]]:
    """Yield the errors with the most wrong probabilities: heading and ECG of each record."""
    overall = sorted(
        (score for score in evaluation.scores if not score.group), key=lambda score: -score.positives
    )
    for name in [score.name for score in overall[:CLASSES_WITH_ERRORS]]:
        y_M, called_M = frame[f"label {name}"], calls[name]
        threshold = "" if evaluation.exclusive else f", threshold {cut_of[name]:.1%}"
        missed = frame[(y_M == 1) & ~called_M].nsmallest(WORST, f"p {name}")
        false = frame[(y_M == 0) & called_M].nlargest(WORST, f"p {name}")
        for error, rows in (("missed", missed), ("called, but not labelled", false)):
            for row in rows.to_dict("records"):
                x_CL = corpus.signals([row["row"]])[0][:, : corpus.n_valid[row["row"]]]
                leaves = [corpus.ontology().nodes[leaf].abbr for leaf in np.flatnonzero(corpus.y[row["row"]])]
                text = (
                    f"Probability {row[f'p {name}']:.1%}{threshold}; codes in the corpus: "
                    f"{', '.join(leaves) or 'none'}{'; in the encoder’s training' if row['seen'] else ''}"
                )
                picture = tracing(x_CL, corpus.config.fs, LEADS, f"12-lead ECG of {row['name']}")
                yield heading(f"{name} {error}: {row['name']}"), Figure("error", [picture], text)
