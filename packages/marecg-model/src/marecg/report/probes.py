"""Show the scores of probes in a report, and derive a verdict on the encoder."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup

from ecg_ontology import Ontology
from marecg.evaluate.scores.predictions import load
from marecg.evaluate.scores.results import Report, basis, describe_leak
from marecg.evaluate.scores.summary import BEATS, CONCEPTS, ENCODER, ENCODER_METHODS, FULL, WIDE
from marecg.evaluate.table import as_dicts, by_class, lines, read_report, share, tidy, title
from marecg.model.card_figures import Score
from marecg.report.charts import by_share
from marecg.report.page import TEMPLATES, Figure, Section, code, heading, paragraph, slug, table
from marecg.report.score_charts import class_rocs, confusions, method_rocs
from marecg.report.texts import caption

Part = Figure | Markup


def probes(run: Path, ontology: Ontology) -> Section:
    """Return a section with the reports of all probes of a run."""
    paths = sorted((run / "probe").glob("*.json"))
    if not paths:
        return Section(
            "Probes", [paragraph(caption("no_probe")), code("marecg probe RUN --task TASK --root DATA")]
        )
    parts = [part for path in paths for part in _probe(path, ontology)]
    return Section("Probes", [paragraph(caption("probe")), *parts])


def _probe(path: Path, ontology: Ontology) -> Iterator[Part]:
    report, predictions = read_report(path), load(path.with_suffix(".npz"))
    leaked = bool(report.leak and report.leak.records)
    yield heading(f"{title(report.task)}, protocol {report.protocol}")
    yield paragraph(describe_leak(report.leak), "warning" if leaked else "")
    scores = tidy(lines("", report))
    curves = {
        str(name): [(share(row.fraction), row.macro_auc, row.low, row.high) for row in rows.itertuples()]
        for name, rows in scores.groupby("method", sort=False)
    }
    largest = scores.loc[scores["method"] == report.reference, "fraction"].max()
    charts = [
        by_share(curves, "Macro AUC by share"),
        method_rocs(predictions, largest),
        class_rocs(predictions, largest),
    ]
    name, largest_share = slug(f"probe {report.task} {report.protocol}"), share(largest)
    yield Figure(name, charts, caption("curves", share=largest_share), kind="row")
    matrices = list(confusions(predictions, largest, report.task, ontology))
    yield Figure(f"{name}-confusion", matrices, caption("confusion", share=largest_share), kind="row")
    yield _tables(report, scores)


def _tables(report: Report, scores: pd.DataFrame) -> Markup:
    """Return three tables: methods and shares, classes at the largest share, and the probe's conditions."""
    unusable = ", ".join(f"{name}: {reason}" for name, reason in report.records.unreadable.items())
    text = TEMPLATES.get_template("probe.html.j2").render(
        report=report,
        rows=as_dicts(scores),
        classes=[as_dicts(rows) for _, rows in by_class(report).groupby("class", sort=False)],
        basis=[*basis(report), ("unusable", unusable or "none")],
        **{"share": share, "points": _in_points, "table": table},
    )
    return Markup(text)  # noqa: S704 (the template escapes)


def _in_points(value: float, sign: str = "") -> str:
    return f"{value:{sign}.1f}".replace("-", "−")


class Verdict(StrEnum):
    """Possible verdicts on an encoder by its probes, from best to worst.

    An encoder is `better`, `even` or `worse` in comparison with the best other method of the report, such as
    hand-crafted measurements. `leaking` means that test records were in training. `untested` means that no
    report compares the encoder with another method.
    """

    better = "better"
    even = "even"
    worse = "worse"
    leaking = "leaking"
    untested = "untested"


class Trust(NamedTuple):
    """Verdict on an encoder, and the task on which it is based.

    Attributes:
        verdict: the verdict.
        task: title of the task.
        records: number of test records.
        leak_unknown: whether the verdict is `better` or `even`, but may be too good, because test records may
            have been in training.
    """

    verdict: Verdict
    task: str = ""
    records: int = 0
    leak_unknown: bool = False


def trust(reports: Sequence[Report], scores: Sequence[Score] = ()) -> Trust:
    """Return the worst verdict over the probes of a run.

    Args:
        reports: reports of the probes.
        scores: scores on the model card. They are used if no report gives a verdict.
    """
    order = list(Verdict)
    verdicts = [_of(tidy(lines("", report)), report.reference) for report in reports]
    judged = list(filter(None, verdicts)) or list(filter(None, _carded(scores)))
    return max(judged, key=lambda row: order.index(row.verdict), default=Trust(Verdict.untested))


def _carded(scores: Sequence[Score]) -> Iterator[Trust | None]:
    """Yield a verdict for each task of a model card.

    A card has no paired differences. So the verdict is `even` if the intervals of the two scores overlap.
    """
    frame = pd.DataFrame([score.model_dump() for score in scores], columns=list(Score.model_fields))
    largest = frame.groupby("task")["fraction"].transform("max")
    for _, rows in frame[frame["fraction"] == largest].groupby("task", sort=False):
        reference = next(
            (name for name in (FULL, CONCEPTS, BEATS, WIDE) if name in set(rows["method"])), ENCODER
        )
        row = rows[rows["method"] == reference].iloc[:1]
        low, high = (row[name].max() for name in ("low", "high"))  # missing values if there are no rivals
        table = rows.rename(columns={"tested": "test_records", "auc": "macro_auc", "leaks": "leaked_records"})
        yield _of(table.assign(versus_low=rows["low"] - high, versus_high=rows["high"] - low), reference)


def _of(scores: pd.DataFrame, reference: str) -> Trust | None:
    """Return the verdict at the largest share of training records, or None if only the encoder was probed."""
    rows = scores[scores["fraction"] == scores["fraction"].max()]
    reference_rows, rivals = rows[rows["method"] == reference], rows[~rows["method"].isin(ENCODER_METHODS)]
    if reference_rows.empty or rivals.empty:
        return None
    encoder, best = reference_rows.iloc[0], rivals.loc[rivals["macro_auc"].idxmax()]
    verdict = Verdict.even
    if not pd.isna(encoder["leaked_records"]) and encoder["leaked_records"]:
        verdict = Verdict.leaking
    elif best["versus_high"] < 0 or best["versus_low"] > 0:  # the paired interval excludes zero
        verdict = Verdict.better if best["versus_high"] < 0 else Verdict.worse
    doubt = pd.isna(encoder["leaked_records"]) and verdict in (Verdict.better, Verdict.even)
    return Trust(verdict, title(encoder["task"]), int(encoder["test_records"]), bool(doubt))
