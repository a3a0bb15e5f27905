"""A probe's report for the terminal."""

import io

from rich.console import Console
from rich.table import Table

from marecg.evaluate.results import Cell, Report, Spread


def probe_text(report: Report) -> str:
    """Macro AUC per method and share, then per class at the largest share, then what the numbers rest on."""
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(_overview(report))
    console.print(_per_class(report))
    for line in _notes(report):
        console.print(line, highlight=False, soft_wrap=True)
    return console.export_text().rstrip()


def _overview(report: Report) -> Table:
    shares = {cell.fraction: cell.records for cell in report.cells}
    table = Table(title=f"{report.task}: macro AUC on test, protocol {report.protocol}", title_justify="left")
    table.add_column("features")
    table.add_column("dimension", justify="right")
    for fraction, records in shares.items():
        table.add_column(f"{fraction:.3g} of train\n{records} records", justify="right")
    for method, cells in _by_method(report).items():
        table.add_row(method, str(cells[0].dimension), *(_spread(cell.macro_auc) for cell in cells))
    return table


def _per_class(report: Report) -> Table:
    last = {method: cells[-1] for method, cells in _by_method(report).items()}
    fraction = report.cells[-1].fraction
    table = Table(title=f"AUC per class at {fraction:.3g} of train", title_justify="left")
    table.add_column("class")
    table.add_column("positives in test", justify="right")
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
        f"Model {report.model} {report.model_sha256[:12]}, ontology {report.ontology_sha256[:12]}.",
    ]
    if left_out := report.cells[0].left_out:
        notes.append(f"Left out, without positives or negatives in test: {', '.join(left_out)}.")
    for cell in next(iter(_by_method(report).values())):
        unseen = sorted({name for names in cell.untrained for name in names})
        if unseen:
            notes.append(
                f"In a draw of {cell.fraction:.3g} without training positives (AUC ½): {', '.join(unseen)}."
            )
    return notes


def _by_method(report: Report) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in report.cells:
        found.setdefault(cell.method, []).append(cell)
    return found


def _spread(spread: Spread) -> str:
    """Percent, as the field prints it: `77.5 ± 1.2`, or `77.5` from one seed."""
    return f"{100 * spread.mean:.1f}" + (f" ± {100 * spread.sd:.1f}" if spread.sd is not None else "")
