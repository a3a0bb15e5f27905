"""The table of linear probes in print: every row says whether it is published or measured.

Best and second best are marked within each source; a dagger marks a value whose encoder was pretrained on
records that it is judged by.
"""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from marecg.evaluate.table import MEASURED, Column, Row, Value, columns, ranks, share, title

NOTE = (
    "Macro AUC in percent. Published rows are copied from the paper; measured ones are this run's, on the "
    "records that were on disk. Best and second best are marked within each source."
)
LEAKED = (
    "{} pretrained on val or test records of the task: the number says nothing about records it never saw."
)
CSV = ("source", "group", "method", "task", "fraction", "macro_auc", "sd", "low", "high", "test_records")
CSV_MEASURED = ("rank", "leaked_records", "seconds")


@dataclass(frozen=True)
class Style:
    """How a format marks best and second best, a spread, and a leak."""

    marks: dict[int, str]
    plus_minus: str
    dagger: str


MARKDOWN = Style({1: "**{}**", 2: "_{}_"}, " ± ", "†")
LATEX = Style({1: r"\textbf{{{}}}", 2: r"\underline{{{}}}"}, r" $\pm$ ", r"$^\dagger$")


@dataclass(frozen=True)
class Grid:
    """A table in words: the head, how many of its columns are text, and lines in groups to be ruled apart."""

    head: list[str]
    text_columns: int
    groups: list[list[list[str]]]


def markdown(rows: Sequence[Row], intervals: bool = False) -> str:
    """A Markdown table: **best**, _second best_ within each source."""
    grid = _grid(rows, MARKDOWN, intervals)
    rule = ["---"] * grid.text_columns + ["---:"] * (len(grid.head) - grid.text_columns)
    lines = [grid.head, rule, *(line for group in grid.groups for line in group)]
    notes = [NOTE, *_leaked(rows, MARKDOWN)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n" + "\n".join(notes) + "\n"


def latex(rows: Sequence[Row], intervals: bool = False) -> str:
    r"""A LaTeX table (booktabs): \textbf{best}, \underline{second best} within each source."""
    grid = _grid(rows, LATEX, intervals)
    alignment = "l" * grid.text_columns + "r" * (len(grid.head) - grid.text_columns)
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", _line(grid.head)]
    for group in grid.groups:
        lines += [r"\midrule", *map(_line, group)]
    notes = [f"% {note}" for note in (NOTE, *_leaked(rows, LATEX))]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *notes]) + "\n"


def long_csv(rows: Sequence[Row], intervals: bool = True) -> str:
    """One line per number, with everything that is known of it; intervals are always there."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow((*CSV, *CSV_MEASURED))
    rank = {column: ranks(rows, column) for column in columns(rows)}
    for number, row in enumerate(rows):
        for column, value in row.values.items():
            known = (value.sd, *(value.interval or (None, None)), value.records, rank[column].get(number))
            measured = (value.leaked, value.seconds) if row.source == MEASURED else (None, None)
            table.writerow([row.source, row.group, row.method, *column, value.mean, *known, *measured])
    return text.getvalue()


FORMATS: dict[str, Callable[[Sequence[Row], bool], str]] = {
    "markdown": markdown,
    "latex": latex,
    "csv": long_csv,
}


def _grid(rows: Sequence[Row], style: Style, intervals: bool) -> Grid:
    """One line per row and all columns abreast; with intervals one line per row and task, shares abreast."""
    found = columns(rows)
    rank = {column: ranks(rows, column) for column in found}

    def text(number: int, column: Column) -> str:
        value = rows[number].values.get(column)
        if value is None:
            return "–"
        mark = style.marks.get(rank[column].get(number, 0), "{}")
        return mark.format(_shown(value, style, intervals))

    sources = list(dict.fromkeys(row.source for row in rows))
    if not intervals:
        groups = [
            [
                [row.source, _name(row), *(text(number, column) for column in found)]
                for number, row in enumerate(rows)
                if row.source == source
            ]
            for source in sources
        ]
        return Grid(["source", "method", *(f"{title(task)} {share(f)}" for task, f in found)], 2, groups)
    tasks, shares = dict.fromkeys(task for task, _ in found), sorted({fraction for _, fraction in found})
    groups = [
        [
            [title(task), row.source, _name(row), *(text(number, (task, fraction)) for fraction in shares)]
            for number, row in enumerate(rows)
            if any(asked == task for asked, _ in row.values)
        ]
        for task in tasks
    ]
    return Grid(["task", "source", "method", *map(share, shares)], 3, groups)


def _shown(value: Value, style: Style, intervals: bool) -> str:
    shown = f"{value.mean:.2f}" + (f"{style.plus_minus}{value.sd:.2f}" if value.sd is not None else "")
    if intervals and value.interval:
        shown += f" [{value.interval[0]:.1f}, {value.interval[1]:.1f}]"
    return shown + (style.dagger if value.leaked else "")


def _leaked(rows: Sequence[Row], style: Style) -> list[str]:
    leaked = any(value.leaked for row in rows for value in row.values.values())
    return [LEAKED.format(style.dagger)] if leaked else []


def _name(row: Row) -> str:
    return f"{row.group}: {row.method}" if row.source == MEASURED and row.group else row.method


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("%", r"\%").replace("_", r"\_").replace("–", "--") for cell in cells)
    return " & ".join(escaped) + r" \\"
