"""What a report says of the probes: a table per file in `RUN/probe`."""

from pathlib import Path

from markupsafe import Markup

from marecg.evaluate.leak import describe_leak
from marecg.evaluate.scores.results import Cell, Report, Spread
from marecg.evaluate.scores.summary import OWN
from marecg.evaluate.table import read_report, share, title
from marecg.report import captions
from marecg.report.charts import interval
from marecg.report.page import Section, folded, heading, paragraph, table


def probes(run: Path) -> Section:
    """Every probe of a run.

    Raises:
        InputError: a report is damaged.
    """
    found = [read_report(path) for path in sorted((run / "probe").glob("*.json"))]
    if not found:
        return Section("Probes", [paragraph(captions.NO_PROBE)])
    return Section("Probes", [paragraph(captions.PROBE), *(part for each in found for part in _probe(each))])


def _probe(report: Report) -> list[Markup]:
    return [
        heading(f"{title(report.task)}, protocol {report.protocol}"),
        paragraph(describe_leak(report.leak), "warning" if report.leak and report.leak.records else ""),
        _cells(report),
        folded("Every class, with its support", _classes(report)),
        folded("What the numbers rest on", table(("", ""), _basis(report))),
    ]


def _basis(report: Report) -> list[tuple[str, str]]:
    """Everything that a number depends on."""
    records = report.records
    hashes = {
        "model": report.model_sha256,
        "data": report.data_sha256,
        "task": report.task_sha256,
        "ontology": report.ontology_sha256,
    }
    return [
        ("records", f"{records.train} train, {records.val} val, {records.test} test"),
        ("not used", f"{records.unlabelled} without a class, {len(records.missing)} missing"),
        ("unusable", ", ".join(f"{name}: {why}" for name, why in records.unreadable.items()) or "none"),
        ("split", report.folds),
        ("window", report.window),
        ("normalisation", report.normalisation),
        ("classes", report.policy),
        *((f"SHA-256 of the {name}", sha256) for name, sha256 in hashes.items() if sha256),
        *(("the encoder", remark) for remark in report.remarks),
        *(("otherwise than in MERL's code", note) for note in report.notes),
    ]


def _cells(report: Report) -> Markup:
    head = (
        "features",
        "share",
        "records",
        "seeds",
        "macro AUC",
        "95 % interval",
        "40 to 100 %",
        f"minus {report.reference}",
    )
    dagger = " †" if report.leak and report.leak.records else ""
    rows = [
        (
            cell.method + dagger * (cell.method in OWN),
            share(cell.fraction),
            f"{cell.records:,}" if cell.fraction else "–",
            str(cell.seeds) if cell.fraction else "–",
            _percent(cell.macro_auc),
            _range(cell.interval.low, cell.interval.high),
            interval(cell.macro_auc.mean, cell.interval.low, cell.interval.high),
            _difference(cell),
        )
        for cell in report.cells
    ]
    return table(head, rows, numeric=(2, 3, 4, 5, 7))


def _classes(report: Report) -> Markup:
    """AUC and AP of each class, for every method at the largest share that it was probed at."""
    largest = {cell.method: cell for cell in report.cells}  # the shares ascend
    head = ["class", "positives", *(f"{name} {score}" for name in largest for score in ("AUC", "AP"))]
    rows = [
        [
            scores[0].name,
            str(scores[0].support),
            *(_percent(spread) for score in scores for spread in (score.auc, score.ap)),
        ]
        for scores in zip(*(cell.classes for cell in largest.values()), strict=True)
    ]
    scored = {score.name for score in report.cells[0].classes}
    lacking = {
        "Without positives or negatives in test, so without an AUC": set(report.cells[0].left_out),
        "Without positives in a draw of the training records": scored & _untrained(report, True),
        "Without a concept that stands for it, so with AUC 50 in zero-shot": scored
        & _untrained(report, False),
    }
    said = [paragraph(f"{what}: {', '.join(sorted(names))}.") for what, names in lacking.items() if names]
    return table(head, rows, numeric=range(1, len(head))) + "".join(said)


def _untrained(report: Report, labelled: bool) -> set[str]:
    """Classes that a draw of any share did not show; or, without labels, that no concept stands for."""
    cells = [cell for cell in report.cells if bool(cell.fraction) is labelled]
    return {name for cell in cells for draw in cell.untrained for name in draw}


def _percent(spread: Spread) -> str:
    return f"{100 * spread.mean:.1f}" + ("" if spread.sd is None else f" ± {100 * spread.sd:.1f}")


def _range(low: float, high: float, sign: str = "") -> str:
    return f"{100 * low:{sign}.1f} to {100 * high:{sign}.1f}".replace("-", "−")


def _difference(cell: Cell) -> str:
    versus = cell.versus_encoder
    return (
        ""
        if versus is None
        else f"{100 * versus.mean:+.1f}".replace("-", "−") + f" ({_range(versus.low, versus.high, '+')})"
    )
