"""Print tables of published and measured scores.

The best and second-best of comparable scores (`marecg.evaluate.table.ranks`) are marked. A dagger marks a
score whose encoder was pretrained on validation or test records of the task. The vectors of a collapsed
encoder differ in little more than one direction.

A Markdown or LaTeX table has a line per method, and a column per task and share of the training records. If
`intervals` is True, it has a line per method and task, and the scores have 95 % intervals.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from ecg_base import guarded, plain_markdown
from marecg.base.markdown import table
from marecg.evaluate.table import MEASURED, ROW, as_dicts, names_of, ranks, share, tasks_of, title
from marecg.nn.collapse import COLLAPSED

NOTE = (
    "Macro AUC in percent. Published rows are copied from the paper. Measured rows use the records that were "
    "on disk. Best and second best are marked within each source."
)
LEAKED = "{} The encoder was pretrained on val or test records of the task, so the score is too high."
UNKNOWN = "The training records of these encoders are unknown and may include test records: {}."
COLLAPSED_NOTE = (
    f"Collapsed: the effective rank of h_rhythm over the task's records is below {COLLAPSED:g}, so the "
    "encoder hardly distinguishes records."
)
SEPARATE = "Rows on different records of a task are ranked separately."
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
    """Marks and number format of an output format, such as Markdown.

    Attributes:
        marks: formats of the best (1) and second-best (2) score.
        plus_minus: text before the standard deviation.
        dagger: mark of a leak.
        plain: function that escapes a name, so that it isn't read as markup.
        digits: number of decimals.
    """

    marks: dict[int, str]
    plus_minus: str
    dagger: str
    plain: Callable[[str], str]
    digits: int = 2

    def figures(self, scores: pd.DataFrame, intervals: bool) -> list[str]:
        """Format scores, for example as `77.53 ± 1.20 [75.1, 80.2]†`. Intervals are optional."""
        texts = []
        for line, rank in zip(scores.itertuples(), ranks(scores), strict=True):
            values = [f"{value:.{self.digits}f}" for value in (line.macro_auc, line.sd) if not pd.isna(value)]
            text = self.plus_minus.join(values)
            if intervals and not pd.isna(line.low):
                text += f" [{line.low:.1f}, {line.high:.1f}]"
            if not pd.isna(line.leaked_records) and line.leaked_records:
                text += self.dagger
            texts.append(text if pd.isna(rank) else self.marks[rank].format(text))
        return texts


MARKDOWN = Style({1: "**{}**", 2: "_{}_"}, " ± ", "†", plain_markdown)
LATEX = Style(
    {1: r"\textbf{{{}}}", 2: r"\underline{{{}}}"}, r" $\pm$ ", r"$^\dagger$", lambda name: name.translate(TEX)
)


@dataclass(frozen=True)
class Grid:
    """Table as text.

    Attributes:
        over: upper part of each column's head: a task, or "".
        heads: lower part of each column's head, for example a share of the training records.
        text_columns: number of left-aligned columns.
        groups: rows of cells. An output format may separate the groups of rows by a line.
    """

    over: list[str]
    heads: list[str]
    text_columns: int
    groups: list[list[list[str]]]


def markdown(scores: pd.DataFrame, intervals: bool = False) -> str:
    """Return an aligned Markdown table that marks the **best** and _second best_ of comparable scores."""
    grid = _grid(scores, MARKDOWN, intervals)
    heads = [plain_markdown(f"{over} {head}") for over, head in zip(grid.over, grid.heads, strict=True)]
    rows = [line for group in grid.groups for line in group]
    lines = table(heads, rows, grid.text_columns, aligned=True)
    return "\n".join([*lines, "", *_notes(scores, MARKDOWN)]) + "\n"


def latex(scores: pd.DataFrame, intervals: bool = False) -> str:
    r"""Return a LaTeX table that marks the \textbf{best} and \underline{second best} of comparable scores.

    The table needs the package booktabs.
    """
    grid = _grid(scores, LATEX, intervals)
    alignment = "l" * grid.text_columns + "r" * (len(grid.heads) - grid.text_columns)
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", *_spanned(grid.over)]
    lines.append(_line([LATEX.plain(head) for head in grid.heads]))
    for group in grid.groups:
        lines += [r"\midrule", *map(_line, group)]
    notes = [f"% {note}" for note in (r"Needs \usepackage{booktabs}.", *_notes(scores, LATEX))]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *notes]) + "\n"


def long_csv(scores: pd.DataFrame, intervals: bool = True) -> str:
    """Return a CSV table with a row per score: all columns of the frame, and the rank (`ranks`).

    `intervals` has no effect, because the ends of the intervals are always included.
    """
    texts = scores.select_dtypes("object").map(guarded)
    return str(scores.assign(**texts, rank=ranks(scores)).to_csv(index=False, lineterminator="\n"))


def long_json(scores: pd.DataFrame, intervals: bool = True) -> str:
    """Return the result of `records` as JSON. `intervals` has no effect; their ends are always included."""
    return json.dumps(records(scores), indent=2, ensure_ascii=False, allow_nan=False)


def records(scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a dictionary per score: all columns of the frame, and `rank`.

    The rank is 1 for the best and 2 for the second-best of comparable scores (`ranks`), otherwise None.
    """
    return as_dicts(scores.assign(rank=ranks(scores)))


FORMATS: dict[str, Callable[[pd.DataFrame, bool], str]] = {
    "markdown": markdown,
    "latex": latex,
    "csv": long_csv,
    "json": long_json,
}


def _grid(scores: pd.DataFrame, style: Style, intervals: bool) -> Grid:
    """Arrange scores in a line per row or, with intervals, in a line per row and task."""
    scores = scores.assign(text=style.figures(scores, intervals), name=names_of(scores).map(style.plain))
    tasks, shares = tasks_of(scores), sorted(scores["fraction"].unique())
    present = set(zip(scores["task"], scores["fraction"], strict=True))
    columns = [(task, fraction) for task in tasks for fraction in shares if (task, fraction) in present]
    block = scores["source"].where(scores["source"] == MEASURED, scores["source"] + scores["group"])
    absent = style.plain("–")
    groups = []
    for _, part in scores.groupby(scores["task"].map(tasks.index) if intervals else block, sort=intervals):
        lines = []
        for _, row in part.groupby(ROW, sort=False):
            texts = dict(zip(zip(row["task"], row["fraction"], strict=True), row["text"], strict=True))
            task, source, name = row[["task", "source", "name"]].iloc[0]
            if intervals:
                figures = [texts.get((task, fraction), absent) for fraction in shares]
                lines.append([style.plain(title(task)), source, name, *figures])
            else:
                lines.append([source, name, *(texts.get(column, absent) for column in columns)])
        groups.append(lines)
    if intervals:
        return Grid([""] * (3 + len(shares)), ["task", "source", "method", *map(share, shares)], 3, groups)
    over, heads = [title(task) for task, _ in columns], [share(fraction) for _, fraction in columns]
    return Grid(["", "", *over], ["source", "method", *heads], 2, groups)


def notes(scores: pd.DataFrame) -> list[str]:
    """Return notes on the test records of measured rows, on collapsed encoders, and on possible leaks."""
    measured = scores[(scores["source"] == MEASURED) & scores["test_records"].notna()]
    if measured.empty:
        return []
    counts, separate = [], []
    for task, of_task in measured.groupby("task", sort=False):
        versions = [part for _, part in of_task.groupby("task_sha256", sort=False)]
        runs = [part["group"].where(part["group"] != "", part["method"]).unique() for part in versions]
        texts = (
            f"{part['test_records'].iloc[0]}" + (f" ({', '.join(names)})" if len(versions) > 1 else "")
            for part, names in zip(versions, runs, strict=True)
        )
        counts.append(f"{title(str(task))} {', '.join(texts)}")
        separate += [SEPARATE] if len(versions) > 1 else []
    collapsed = [COLLAPSED_NOTE] if (measured["h_rank"] < COLLAPSED).any() else []
    unknown_names = names_of(measured[measured["leaked_records"].isna()]).unique()
    unknown = [UNKNOWN.format(", ".join(unknown_names))] if len(unknown_names) else []
    return [f"Test records of the measured rows: {'; '.join(counts)}.", *separate[:1], *collapsed, *unknown]


def _notes(scores: pd.DataFrame, style: Style) -> list[str]:
    leaked = (scores["leaked_records"].fillna(0) > 0).any()
    lines = [style.plain(note) for note in (NOTE, *notes(scores))]
    return lines + ([LEAKED.format(style.dagger)] if leaked else [])


def _spanned(heads: Sequence[str]) -> list[str]:
    if not any(heads):
        return []
    cells, rules, first = [], [], 1
    for over, group in groupby(heads):
        width = len(list(group))
        cells += [rf"\multicolumn{{{width}}}{{c}}{{{LATEX.plain(over)}}}"] if over else [""] * width
        rules += [rf"\cmidrule(lr){{{first}-{first + width - 1}}}"] if over else []
        first += width
    return [_line(cells), " ".join(rules)]


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
