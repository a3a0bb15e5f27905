"""The paper's Table tab:linear_probe with measured rows under the published ones, each marked as what it is.

`published.tsv` holds the rows as the paper prints them. Measured rows come from the reports in run folders.
"""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from marecg.errors import InputError, UsageError
from marecg.evaluate.results import Cell, Report

PUBLISHED = Path(__file__).with_name("published.tsv")
TITLES = {
    "ptbxl-super": "PTB-XL super",
    "ptbxl-sub": "PTB-XL sub",
    "ptbxl-form": "PTB-XL form",
    "ptbxl-rhythm": "PTB-XL rhythm",
    "cpsc2018": "CPSC2018",
}
"""The table's tasks in the paper's order; others follow under their own names."""
Column = tuple[str, float]
"""A task and a share of its training records."""


@dataclass(frozen=True)
class Value:
    """A macro AUC in percent; a measured one has an interval, and a spread where there were several seeds."""

    mean: float
    sd: float | None = None
    interval: tuple[float, float] | None = None
    records: int | None = None


@dataclass(frozen=True)
class Row:
    """One method: `source` is `published` or `measured`."""

    source: str
    group: str
    method: str
    values: dict[Column, Value]


def published() -> list[Row]:
    """The rows of the paper's table, as it prints them."""
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    return [
        Row(
            source="published",
            group=row["group"],
            method=row["method"],
            values={
                (task, float(share)): Value(float(row[f"{task} {share}"]))
                for task, _, share in (name.partition(" ") for name in row if " " in name)
            },
        )
        for row in table
    ]


def measured(run: Path, protocol: str = "strict") -> list[Row]:
    """One row per method that was probed in a run, from `run/probe/*-PROTOCOL.json`.

    Raises:
        UsageError: the run was never probed by that protocol.
        InputError: a report is damaged.
    """
    paths = sorted((run / "probe").glob(f"*-{protocol}.json"))
    if not paths:
        raise UsageError(
            f"has no probe by protocol {protocol}", where=run, remedy="Run `marecg probe` on it first"
        )
    values: dict[str, dict[Column, Value]] = {}
    for path in paths:
        report = read_report(path)
        for cell in report.cells:
            values.setdefault(cell.method, {})[report.task, cell.fraction] = _value(cell, report)
    return [Row("measured", run.name, method, found) for method, found in values.items()]


def read_report(path: Path) -> Report:
    """Read a probe's report. Raises `InputError` when it can't be read or is none."""
    try:
        return Report.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())[:200]
        raise InputError(
            f"is no probe report ({problem})", where=path, remedy="Probe the run again"
        ) from error


def columns(rows: Sequence[Row]) -> list[Column]:
    """Every task and share that a row has a value for: the paper's tasks first, shares in ascending order."""
    found = {column for row in rows for column in row.values}
    order = list(TITLES)
    return sorted(found, key=lambda column: (order.index(column[0]) if column[0] in order else 99, *column))


def ranks(rows: Sequence[Row], column: Column) -> dict[int, int]:
    """Row number → 1 or 2 for the best and second-best mean of a column, among rows of the same source."""
    found: dict[int, int] = {}
    for source in dict.fromkeys(row.source for row in rows):
        means = {
            number: round(row.values[column].mean, 2)
            for number, row in enumerate(rows)
            if row.source == source and column in row.values
        }
        for rank, mean in enumerate(sorted(set(means.values()), reverse=True)[:2], start=1):
            found |= {number: rank for number, value in means.items() if value == mean}
    return found


def markdown(rows: Sequence[Row]) -> str:
    """A Markdown table: **best**, _second best_ within each source."""
    head = ["source", "method", *(f"{title(task)} {share(fraction)}" for task, fraction in columns(rows))]
    body = _cells(rows, {1: "**{}**", 2: "_{}_"}, " ± ")
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 2), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{NOTE}\n"


def latex(rows: Sequence[Row]) -> str:
    r"""A LaTeX table (booktabs): \textbf{best}, \underline{second best} within each source."""
    found = columns(rows)
    head = ["Source", "Method", *(rf"{title(task)} {share(fraction)}" for task, fraction in found)]
    body = _cells(rows, {1: r"\textbf{{{}}}", 2: r"\underline{{{}}}"}, r" $\pm$ ")
    lines = [rf"\begin{{tabular}}{{ll{'r' * len(found)}}}", r"\toprule", _line(head), r"\midrule"]
    for number, cells in enumerate(body):
        if number and rows[number].source != rows[number - 1].source:
            lines.append(r"\midrule")
        lines.append(_line(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", f"% {NOTE}"]) + "\n"


def long_csv(rows: Sequence[Row]) -> str:
    """One line per number, with everything that is known of it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(
        ["source", "group", "method", "task", "fraction", "macro_auc", "sd", "low", "high", "test_records"]
    )
    for row in rows:
        for (task, fraction), value in row.values.items():
            low, high = value.interval or ("", "")
            sd = "" if value.sd is None else value.sd
            records = "" if value.records is None else value.records
            table.writerow(
                [row.source, row.group, row.method, task, fraction, value.mean, sd, low, high, records]
            )
    return text.getvalue()


FORMATS: dict[str, Callable[[Sequence[Row]], str]] = {"markdown": markdown, "latex": latex, "csv": long_csv}
NOTE = (
    "Macro AUC in percent. Published rows are copied from the paper; measured ones are this run's, on the "
    "records that were on disk. Best and second best are marked within each source."
)


def title(task: str) -> str:
    """A task's name in the table's head."""
    return TITLES.get(task, task)


def share(fraction: float) -> str:
    """A share of the training records, such as `1%`."""
    return f"{100 * fraction:g}%" if fraction else "no labels"


def _cells(rows: Sequence[Row], marks: dict[int, str], plus_minus: str) -> list[list[str]]:
    found = columns(rows)
    rank = {column: ranks(rows, column) for column in found}

    def text(number: int, column: Column) -> str:
        value = rows[number].values.get(column)
        if value is None:
            return "–"
        shown = f"{value.mean:.2f}" + (f"{plus_minus}{value.sd:.2f}" if value.sd is not None else "")
        return marks.get(rank[column].get(number, 0), "{}").format(shown)

    return [
        [row.source, _name(row), *(text(number, column) for column in found)]
        for number, row in enumerate(rows)
    ]


def _name(row: Row) -> str:
    return f"{row.group}: {row.method}" if row.source == "measured" else row.method


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("%", r"\%").replace("_", r"\_").replace("–", "--") for cell in cells)
    return " & ".join(escaped) + r" \\"


def _value(cell: Cell, report: Report) -> Value:
    low, high = 100 * cell.interval.low, 100 * cell.interval.high
    sd = None if cell.macro_auc.sd is None else 100 * cell.macro_auc.sd
    return Value(100 * cell.macro_auc.mean, sd, (low, high), report.records.test)
