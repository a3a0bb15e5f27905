"""What a report says of the probes in `RUN/probe`: charts, a table each, and the run beside others."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from ecg_ontology import Ontology
from marecg.evaluate.leak import describe_leak
from marecg.evaluate.scores.predictions import load
from marecg.evaluate.scores.results import Report
from marecg.evaluate.table import lines, read_report, share, tidy, title
from marecg.report import captions
from marecg.report.charts import NAMED, by_share
from marecg.report.page import TEMPLATES, Figure, Section, heading, paragraph, slug, table
from marecg.report.probe_charts import class_rocs, confusions, method_rocs

Part = Figure | Markup


def probes(run: Path, ontology: Ontology) -> Section:
    """Every probe of a run.

    Raises:
        InputError: a report is damaged.
    """
    paths = sorted((run / "probe").glob("*.json"))
    if not paths:
        return Section("Probes", [paragraph(captions.NO_PROBE)])
    parts = [part for path in paths for part in _probe(path, ontology)]
    return Section("Probes", [paragraph(captions.PROBE), *parts])


def beside_others(run: Path) -> Iterator[Section]:
    """The run beside those of its folder that were probed on the same tasks, if there are any."""
    run = run.resolve()
    reports = [(path.parent.parent, read_report(path)) for path in sorted(run.parent.glob("*/probe/*.json"))]
    asked = {(each.task_sha256, each.protocol) for folder, each in reports if folder == run}
    alike = [(folder, each) for folder, each in reports if (each.task_sha256, each.protocol) in asked]
    if len({folder for folder, _ in alike}) < 2:
        return
    figures = []
    for task, protocol in dict.fromkeys((each.task, each.protocol) for _, each in alike):
        curves = {
            folder.name: tidy(line for line in lines("", each) if line["method"] == each.reference)
            for folder, each in alike
            if (each.task, each.protocol) == (task, protocol)
        }
        best = sorted(curves, key=lambda name: (name != run.name, -curves[name]["macro_auc"].mean()))[:NAMED]
        figures.append(by_share({name: _points(curves[name]) for name in best}, f"{title(task)}, {protocol}"))
    caption = captions.BESIDE.format(count=NAMED - 1)
    yield Section("Beside other runs", [Figure("beside", figures, caption, kind="row")])


def _probe(path: Path, ontology: Ontology) -> Iterator[Part]:
    report, predictions = read_report(path), load(path.with_suffix(".npz"))
    leaked = bool(report.leak and report.leak.records)
    yield heading(f"{title(report.task)}, protocol {report.protocol}")
    yield paragraph(describe_leak(report.leak), "warning" if leaked else "")
    scores = tidy(lines("", report))
    curves = {str(name): _points(rows) for name, rows in scores.groupby("method", sort=False)}
    largest = scores.loc[scores["method"] == report.reference, "fraction"].max()
    charts = [
        by_share(curves, "Macro AUC by share"),
        method_rocs(predictions, largest),
        class_rocs(predictions, largest),
    ]
    name, at = slug(f"probe {report.task} {report.protocol}"), share(largest)
    yield Figure(name, charts, captions.CURVES.format(share=at), kind="row")
    mistaken = list(confusions(predictions, largest, report.task, ontology))
    yield Figure(f"{name}-confusion", mistaken, captions.CONFUSION.format(share=at), kind="row")
    yield _tables(report, scores)


def _points(rows: pd.DataFrame) -> list[tuple[str, float, float, float]]:
    return [(share(row.fraction), row.macro_auc, row.low, row.high) for row in rows.itertuples()]


def _tables(report: Report, scores: pd.DataFrame) -> Markup:
    """Each method at each share; every class for every method at its largest share; what it all rests on."""
    largest = {cell.method: cell for cell in report.cells}  # the shares ascend
    scored = {score.name for score in report.cells[0].classes}
    lacking = {
        "Without positives or negatives in test, so without an AUC": report.cells[0].left_out,
        "Without positives in a draw of the training records": sorted(scored & _untrained(report, True)),
        "Without a concept that stands for it, so with AUC 50 in zero-shot": sorted(
            scored & _untrained(report, False)
        ),
    }
    template = TEMPLATES.get_template("probe.html.j2")
    text = template.render(
        report=report,
        rows=scores.astype(object).where(scores.notna(), None).to_dict("records"),
        largest=largest,
        classes=list(zip(*(cell.classes for cell in largest.values()), strict=True)),
        lacking=lacking,
        basis=list(_basis(report)),
        **{"share": share, "points": _in_points, "table": table},
    )
    return Markup(text)  # noqa: S704 (the template escapes)


def _untrained(report: Report, labelled: bool) -> set[str]:
    """Classes that a draw of any share did not show; or, without labels, that no concept stands for."""
    cells = [cell for cell in report.cells if bool(cell.fraction) is labelled]
    return {name for cell in cells for draw in cell.untrained for name in draw}


def _basis(report: Report) -> Iterator[tuple[str, str]]:
    """Everything that a number depends on."""
    records = report.records
    yield "records", f"{records.train} train, {records.val} val, {records.test} test"
    yield "not used", f"{records.unlabelled} without a class, {len(records.missing)} missing"
    yield "unusable", ", ".join(f"{name}: {why}" for name, why in records.unreadable.items()) or "none"
    yield from (("split", report.folds), ("window", report.window), ("normalisation", report.normalisation))
    yield "classes", report.policy
    for name in ("model", "data", "task", "ontology"):
        if sha256 := getattr(report, f"{name}_sha256"):
            yield f"SHA-256 of the {name}", sha256
    yield from (("the encoder", remark) for remark in report.remarks)
    yield from (("otherwise than in MERL's code", note) for note in report.notes)


def _in_points(value: float, sign: str = "") -> str:
    return f"{value:{sign}.1f}".replace("-", "−")
