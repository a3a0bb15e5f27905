"""A probe's report for the terminal. Everything is in percent, as the field prints it."""

import io
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from marecg.evaluate.layout import MARKDOWN, markdown
from marecg.evaluate.results import Cell, Difference, Report, Spread
from marecg.evaluate.table import OWN, Row, measured_rows, merged

DAGGER = MARKDOWN.dagger


def probe_text(report: Report) -> str:
    """Macro AUC per method and share, then per class at the largest share, then what the numbers rest on."""
    console = Console(file=io.StringIO(), width=140, record=True)
    console.print(_overview(report))
    console.print(_per_class(report))
    for line in _notes(report):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def sweep_text(found: Sequence[tuple[Path, Report]]) -> str:
    """One table, with intervals, of several reports and the folders in which they are kept."""
    rows: list[Row] = []
    for place in dict.fromkeys(place for place, _ in found):
        rows += measured_rows(place.name, [report for at, report in found if at == place])
    return markdown(merged(rows), intervals=True).rstrip()


def remarks(report: Report) -> list[str]:
    """What a user should know before believing the numbers."""
    records, lines = report.records, []
    if report.leak and report.leak.records:
        named = _named((*report.leak.same_record, *report.leak.same_patient, *report.leak.same_signal))
        lines.append(
            f"{report.task}: the encoder was pretrained on {report.leak.records} of the {records.val} val "
            f"and {records.test} test records or on their patients: {named}"
        )
    if records.missing:
        lines.append(
            f"{report.task}: listed but not on disk ({len(records.missing)}): {_named(records.missing)}"
        )
    if records.unreadable:
        reasons = [f"{record} ({reason})" for record, reason in records.unreadable.items()]
        lines.append(f"{report.task}: can't be used ({len(reasons)}): {_named(reasons)}")
    return lines


def _named(names: Sequence[str], at_most: int = 5) -> str:
    rest = ", … (all in --format json)" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + rest


def _overview(report: Report) -> Table:
    records = {cell.fraction: cell.records for cell in report.cells}
    table = Table(
        title=f"{report.task}: macro AUC on test [95 % interval], protocol {report.protocol}",
        title_justify="left",
    )
    table.add_column("features")
    for fraction in sorted(records):
        table.add_column(f"{_share(fraction)}\n{records[fraction]} records", justify="right")
    table.add_column(f"minus {report.reference}", justify="right")
    for method, cells in _by_method(report).items():
        dagger = DAGGER if report.leak and report.leak.records and method in OWN else ""
        found = {cell.fraction: _macro(cell) + dagger for cell in cells}
        shown = [found.get(fraction, "") for fraction in sorted(records)]
        table.add_row(f"{method} ({cells[0].dimension})", *shown, _difference(cells[-1].versus_encoder))
    return table


def _per_class(report: Report) -> Table:
    last = {method: cells[-1] for method, cells in _by_method(report).items()}
    table = Table(title="AUC per class, at the largest share", title_justify="left")
    table.add_column("class")
    table.add_column("positives", justify="right")
    for method in last:
        table.add_column(method, justify="right")
    for scores in zip(*(cell.classes for cell in last.values()), strict=True):
        table.add_row(scores[0].name, str(scores[0].support), *(_spread(score.auc) for score in scores))
    return table


def _notes(report: Report) -> list[str]:
    records = report.records
    notes = [
        f"Records: {records.train} train, {records.val} val, {records.test} test; "
        f"{records.unlabelled} without a class, {len(records.missing)} missing, "
        f"{len(records.unreadable)} unusable.",
        f"Split: {report.folds}. Window: {report.window}.",
        f"Model {report.model} {report.model_sha256[:12]}"
        + (f", ontology {report.ontology_sha256[:12]}." if report.ontology_sha256 else "."),
        f"Macro AUC: {report.policy}.",
        _provenance(report),
    ]
    if left_out := report.cells[0].left_out:
        notes.append(f"Left out, without positives or negatives in test: {', '.join(left_out)}.")
    by_method = _by_method(report)
    for cell in (*next(iter(by_method.values())), *by_method.get("zero-shot", ())):
        scored = {score.name for score in cell.classes}
        unseen = sorted(scored & {name for names in cell.untrained for name in names})
        if unseen:
            lack = "with positives in every draw" if cell.fraction else "that a concept stands for"
            notes.append(f"{_share(cell.fraction)}: not {lack}, so AUC ½ there: {', '.join(unseen)}.")
    return notes + [f"Otherwise than in MERL's code: {note}." for note in report.notes]


def _provenance(report: Report) -> str:
    if report.leak is None:
        return "It is not known what the encoder was pretrained on: these records may have been among them."
    if not report.leak.records:
        return "None of the val and test records, nor their patients, were among those it was pretrained on."
    return f"{DAGGER} Pretrained on {report.leak.records} of the val and test records or on their patients."


def _by_method(report: Report) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in report.cells:
        found.setdefault(cell.method, []).append(cell)
    return found


def _share(fraction: float) -> str:
    return f"{100 * fraction:.3g} % of train" if fraction else "no labels"


def _macro(cell: Cell) -> str:
    return f"{_spread(cell.macro_auc)} [{100 * cell.interval.low:.1f}, {100 * cell.interval.high:.1f}]"


def _spread(spread: Spread) -> str:
    """`77.5 ± 1.2`, or `77.5` from one seed."""
    return f"{100 * spread.mean:.1f}" + (f" ± {100 * spread.sd:.1f}" if spread.sd is not None else "")


def _difference(found: Difference | None) -> str:
    if found is None:
        return ""
    return f"{100 * found.mean:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
