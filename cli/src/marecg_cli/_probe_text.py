"""A probe's report for the terminal, a hundred columns wide, in percent as the field prints it."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from marecg.evaluate.leak import describe_leak
from marecg.evaluate.scores.results import AucDifference, Cell, ClassScore, Report, Spread
from marecg.evaluate.scores.summary import OWN
from marecg.evaluate.table import ROW, names_of, of_reports, share, tasks_of, title
from marecg.evaluate.table_print import LEAKED, Style, notes

WIDTH = 100
TEXT = Style({1: "▲ {}", 2: "△ {}"}, " ± ", "†", str)
MARKED = "▲ best, △ second best among the rows of a task that stand on the same records."


def probe_text(report: Report) -> str:
    """Macro AUC per method and share, then per class at the largest share, then what the numbers rest on."""
    largest = share(max(cell.fraction for cell in report.cells))
    return printed(
        [
            f"{report.task}: macro AUC on test [95 % interval], protocol {report.protocol}",
            _overview(report),
            f"AUC / average precision per class, at {largest}",
            _per_class(report),
            *_notes(report),
        ]
    )


def many_text(probed: Sequence[tuple[Path, Report]]) -> str:
    """One table, with intervals, of several reports and the folders in which they are kept."""
    head = f"Macro AUC on test [95 % interval], protocol {probed[0][1].protocol}"
    return scores_text(head, of_reports(probed), [report for _, report in probed])


def scores_text(head: str, scores: pd.DataFrame, reports: Sequence[Report]) -> str:
    """One table of a frame and the reports that it comes from, with what must be known of them."""
    scores = scores.assign(text=TEXT.figures(scores, intervals=True), name=names_of(scores))
    shares = sorted(scores["fraction"].unique())
    table = rich_table(["features", *map(share, shares)], [])
    for task in tasks_of(scores):
        first = next(report for report in reports if report.task == task)
        drawn = {cell.fraction: _drawn(cell.records) for cell in first.cells if cell.fraction}
        table.add_section()
        table.add_row(f"{title(task)}, {first.records.test} test", *(drawn.get(at, "") for at in shares))
        table.add_section()
        for _, row in scores[scores["task"] == task].groupby(ROW, sort=False):
            texts = dict(zip(row["fraction"], row["text"].str.replace(" [", "\n["), strict=True))
            table.add_row(row["name"].iloc[0], *(texts.get(at, "") for at in shares))
    leaked = (scores["leaked_records"].fillna(0) > 0).any()
    return printed([head, table, MARKED, *notes(scores), *([LEAKED.format(TEXT.dagger)] if leaked else [])])


def rich_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is text and whose others are numbers."""
    table = Table()
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left", no_wrap=not number and head == "recipe")
    for line in lines:
        table.add_row(*line)
    return table


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


def printed(parts: Iterable[Table | str]) -> str:
    """Tables and sentences as plain lines."""
    console = Console(file=io.StringIO(), width=WIDTH, record=True)
    for part in parts:
        console.print(part, highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def _named(names: Sequence[str], at_most: int = 5) -> str:
    rest = ", … (all in --format json)" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + rest


def _overview(report: Report) -> Table:
    records = {cell.fraction: cell.records for cell in report.cells}
    shares = sorted(records)
    heads = [f"{share(at)}\n{_drawn(records[at]) if at else ''}" for at in shares]
    table = rich_table(["features", *heads, f"minus {report.reference}\nat {share(max(records))}"], [])
    for method, cells in _by_method(report).items():
        dagger = TEXT.dagger if report.leak and report.leak.records and method in OWN else ""
        texts = {cell.fraction: _macro(cell) + dagger for cell in cells}
        shown = [texts.get(at, "") for at in shares]
        table.add_row(f"{method}\n({cells[0].dimension})", *shown, _difference(cells[-1].versus_encoder))
    return table


def _per_class(report: Report) -> Table:
    last = {method: cells[-1] for method, cells in _by_method(report).items()}
    per_class = zip(*(cell.classes for cell in last.values()), strict=True)
    lines = ([scores[0].name, str(scores[0].support), *map(_score, scores)] for scores in per_class)
    return rich_table(["class", "positives", *last], lines)


def _notes(report: Report) -> list[str]:
    records = report.records
    pooled = (
        f" (pooled from {report.rotations} rotations, the others on average)" if report.rotations > 1 else ""
    )
    lines = [
        f"Records: {records.train} train, {records.val} val, {records.test} test{pooled}; "
        f"{records.unlabelled} without a class, {len(records.missing)} missing, "
        f"{len(records.unreadable)} unusable.",
        f"Split: {report.folds}. Window: {report.window}. Scaling: {report.normalisation}.",
        f"Model {report.model} {report.model_sha256[:12]}"
        + (f", ontology {report.ontology_sha256[:12]}" if report.ontology_sha256 else "")
        + f", data {report.data_sha256[:12]}, task {report.task_sha256[:12]}.",
        f"Macro AUC: {report.policy}.",
        describe_leak(report.leak),
    ]
    if left_out := report.cells[0].left_out:
        lines.append(f"Left out, without positives or negatives in test: {', '.join(left_out)}.")
    by_method = _by_method(report)
    for cell in (*next(iter(by_method.values())), *by_method.get("zero-shot", ())):
        scored = {score.name for score in cell.classes}
        unshown = sorted(scored & {name for names in cell.untrained for name in names})
        if unshown:
            lack = "not shown by every draw" if cell.fraction else "no concept stands for it, so AUC ½"
            lines.append(f"{share(cell.fraction)}: {lack}: {', '.join(unshown)}.")
    seconds = {method: sum(cell.seconds for cell in cells) for method, cells in by_method.items()}
    lines.append(f"Seconds of fitting: {', '.join(f'{method} {s:.1f}' for method, s in seconds.items())}.")
    lines += [f"The encoder: {remark}." for remark in report.remarks]
    return lines + [f"Otherwise than in MERL's code: {note}." for note in report.notes]


def _by_method(report: Report) -> dict[str, list[Cell]]:
    cells: dict[str, list[Cell]] = {}
    for cell in report.cells:
        cells.setdefault(cell.method, []).append(cell)
    return cells


def _drawn(records: int) -> str:
    return "1 record" if records == 1 else f"{records:,} records"


def _macro(cell: Cell) -> str:
    return f"{_spread(cell.macro_auc)}\n[{100 * cell.interval.low:.1f}, {100 * cell.interval.high:.1f}]"


def _score(score: ClassScore) -> str:
    return f"{100 * score.auc.mean:.1f} / {100 * score.ap.mean:.1f}"


def _spread(spread: Spread) -> str:
    """`77.5 ± 1.2`, or `77.5` from one seed."""
    return f"{100 * spread.mean:.1f}" + (f" ± {100 * spread.sd:.1f}" if spread.sd is not None else "")


def _difference(found: AucDifference | None) -> str:
    if found is None:
        return ""
    return f"{100 * found.mean:+.1f}\n[{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
