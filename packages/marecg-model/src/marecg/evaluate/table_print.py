"""The table of linear probes in print: every row says whether it is published or measured.

Best and second best are marked among rows that can be compared; a dagger marks a value whose encoder was
pretrained on records that it is judged by.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from marecg.evaluate.table import MEASURED, Column, Row, Value, columns, judged, ranks, share, title
from marecg.nn.collapse import COLLAPSED

NOTE = (
    "Macro AUC in percent. Published rows are copied from the paper; measured ones stand on the records that "
    "were on disk. Best and second best are marked within each source."
)
LEAKED = "{} pretrained on val or test records of the task: no number for records that it never saw."
UNKNOWN = "It is not known what these were pretrained on, which may have been the test records: {}."
FALLEN = (
    f"Collapsed: the effective rank of h_rhythm over the task's records is below {COLLAPSED:g}, so that "
    "records look alike."
)
APART = "Rows on different records of a task are ranked apart."
LONG = (
    *("source", "group", "method", "task", "fraction", "macro_auc", "sd", "low", "high", "test_records"),
    *("rank", "task_sha256", "leaked_records", "seconds"),
)
"""What a line per number says; the last three are known of measured ones alone."""
TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


@dataclass(frozen=True)
class Style:
    """How a format marks best and second best, a spread and a leak.

    `plain` keeps a name from being read as marks.
    """

    marks: dict[int, str]
    plus_minus: str
    dagger: str
    plain: Callable[[str], str]

    def value(self, value: Value, interval: bool) -> str:
        """`77.53 ± 1.20 [75.1, 80.2]†`, as far as it is known, and the interval if it is wanted."""
        shown = f"{value.mean:.2f}" + (f"{self.plus_minus}{value.sd:.2f}" if value.sd is not None else "")
        if interval and value.interval:
            shown += f" [{value.interval[0]:.1f}, {value.interval[1]:.1f}]"
        return shown + (self.dagger if value.leaked else "")


MARKDOWN = Style({1: "**{}**", 2: "_{}_"}, " ± ", "†", lambda name: name.replace("|", r"\|"))
LATEX = Style(
    {1: r"\textbf{{{}}}", 2: r"\underline{{{}}}"}, r" $\pm$ ", r"$^\dagger$", lambda name: name.translate(TEX)
)


class Head(NamedTuple):
    """A column's head: what it shares with its neighbours, and its own."""

    over: str
    text: str


@dataclass(frozen=True)
class Grid:
    """A table in words: heads, how many columns are text, and lines in groups to be ruled apart."""

    heads: list[Head]
    text_columns: int
    groups: list[list[list[str]]]


def markdown(rows: Sequence[Row], intervals: bool = False) -> str:
    """A Markdown table, its columns aligned: **best**, _second best_ among rows that can be compared."""
    grid = _grid(rows, MARKDOWN, intervals)
    heads = [f"{head.over} {head.text}".strip() for head in grid.heads]
    lines = [heads, *(line for group in grid.groups for line in group)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = ["<"] * grid.text_columns + [">"] * (len(heads) - grid.text_columns)
    rule = [
        "-" * (width - (side == ">")) + ":" * (side == ">") for side, width in zip(sides, widths, strict=True)
    ]

    def aligned(line: Sequence[str]) -> str:
        cells = zip(line, sides, widths, strict=True)
        return f"| {' | '.join(f'{cell:{side}{width}}' for cell, side, width in cells)} |"

    text = "\n".join(map(aligned, (lines[0], rule, *lines[1:])))
    return text + "\n\n" + "\n".join(_notes(rows, MARKDOWN)) + "\n"


def latex(rows: Sequence[Row], intervals: bool = False) -> str:
    r"""A LaTeX table (booktabs): \textbf{best}, \underline{second best} among rows that can be compared."""
    grid = _grid(rows, LATEX, intervals)
    alignment = "l" * grid.text_columns + "r" * (len(grid.heads) - grid.text_columns)
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", *_over(grid.heads)]
    lines.append(_line([LATEX.plain(head.text) for head in grid.heads]))
    for group in grid.groups:
        lines += [r"\midrule", *map(_line, group)]
    notes = [f"% {note}" for note in (r"Needs \usepackage{booktabs}.", *_notes(rows, LATEX))]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *notes]) + "\n"


def long_csv(rows: Sequence[Row], intervals: bool = True) -> str:
    """One line per number, with everything that is known of it; intervals are always there."""
    text = io.StringIO()
    table = csv.DictWriter(text, LONG, lineterminator="\n")
    table.writeheader()
    table.writerows(_long(rows))
    return text.getvalue()


def long_json(rows: Sequence[Row], intervals: bool = True) -> str:
    """The same as JSON: a list of objects."""
    return json.dumps(list(_long(rows)), indent=2, ensure_ascii=False, allow_nan=False)


def _long(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    rank = {column: ranks(rows, column) for column in columns(rows)}
    for number, row in enumerate(rows):
        for column, value in row.values.items():
            known = (value.sd, *(value.interval or (None, None)), value.records, rank[column].get(number))
            own = (value.asked, value.leaked, value.seconds) if row.source == MEASURED else (None, None, None)
            values = (row.source, row.group, row.method, *column, value.mean, *known, *own)
            yield dict(zip(LONG, values, strict=True))


FORMATS: dict[str, Callable[[Sequence[Row], bool], str]] = {
    "markdown": markdown,
    "latex": latex,
    "csv": long_csv,
    "json": long_json,
}


def _grid(rows: Sequence[Row], style: Style, intervals: bool) -> Grid:
    """One line per row and all columns abreast; with intervals one line per row and task, shares abreast."""
    found = columns(rows)
    rank = {column: ranks(rows, column) for column in found}

    def text(number: int, column: Column) -> str:
        value = rows[number].values.get(column)
        if value is None:
            return style.plain("–")
        return style.marks.get(rank[column].get(number, 0), "{}").format(style.value(value, intervals))

    def named(row: Row) -> list[str]:
        return [row.source, style.plain(name_of(row))]

    if not intervals:
        groups = [
            [
                [*named(row), *(text(number, column) for column in found)]
                for number, row in enumerate(rows)
                if _block(row) == block
            ]
            for block in dict.fromkeys(map(_block, rows))
        ]
        heads = [Head("", "source"), Head("", "method"), *(Head(title(task), share(f)) for task, f in found)]
        return Grid(heads, 2, groups)
    shares = sorted({fraction for _, fraction in found})
    groups = [
        [
            [style.plain(title(task)), *named(row), *(text(number, (task, fraction)) for fraction in shares)]
            for number, row in enumerate(rows)
            if any(asked == task for asked, _ in row.values)
        ]
        for task in dict.fromkeys(task for task, _ in found)
    ]
    return Grid([Head("", name) for name in ("task", "source", "method", *map(share, shares))], 3, groups)


def name_of(row: Row) -> str:
    """The method, whose it is where it is measured and a run's own, and whether that run has collapsed."""
    name = f"{row.group}: {row.method}" if row.source == MEASURED and row.group else row.method
    return f"{name} (collapsed)" if row.collapsed else name


def notes(rows: Sequence[Row]) -> list[str]:
    """On which test records the measured rows stand, and whose encoders may have seen them."""
    found = judged(rows)
    if not found:
        return []
    dark = [name_of(row) for row in rows if any(value.leaked is None for value in row.values.values())]
    unknown = [UNKNOWN.format(", ".join(dark))] if dark else []
    counts = [
        f"{title(task)} "
        + ", ".join(
            str(records) + (f" ({', '.join(runs)})" if len(asked) > 1 else "")
            for records, runs in asked.values()
        )
        for task, asked in found.items()
    ]
    apart = [APART] if any(len(asked) > 1 for asked in found.values()) else []
    fallen = [FALLEN] if any(row.collapsed for row in rows) else []
    return [f"Test records of the measured rows: {'; '.join(counts)}.", *apart, *fallen, *unknown]


def _notes(rows: Sequence[Row], style: Style) -> list[str]:
    leaked = any(value.leaked for row in rows for value in row.values.values())
    own = [style.plain(note) for note in (NOTE, *notes(rows))]
    return own + ([LEAKED.format(style.dagger)] if leaked else [])


def _block(row: Row) -> tuple[str, str]:
    """What is ruled apart: the paper's groups of methods, and what is measured."""
    return row.source, "" if row.source == MEASURED else row.group


def _over(heads: Sequence[Head]) -> list[str]:
    """The heads that neighbours share, each above its columns."""
    if not any(head.over for head in heads):
        return []
    cells, rules, first = [], [], 1
    for over, group in groupby(heads, key=lambda head: head.over):
        width = len(list(group))
        cells += [rf"\multicolumn{{{width}}}{{c}}{{{LATEX.plain(over)}}}"] if over else [""] * width
        rules += [rf"\cmidrule(lr){{{first}-{first + width - 1}}}"] if over else []
        first += width
    return [_line(cells), " ".join(rules)]


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
