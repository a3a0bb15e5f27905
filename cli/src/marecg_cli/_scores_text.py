"""Format the scores of linear probes for the terminal, in percent as in publications."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from marecg.evaluate.scores.results import Report, basis, describe_leak
from marecg.evaluate.table import ROW, by_class, lines, names_of, of_reports, share, tasks_of, tidy, title
from marecg.evaluate.table_print import LEAKED, Style, notes
from marecg_cli._output import console, turned

if TYPE_CHECKING:
    from marecg.report.demo import Demo

WIDTH = 100
"""Maximum width of sentences in columns."""
TEXT = Style({1: "▲ {}", 2: "△ {}"}, " ± ", "†", str, digits=1)
MARKED = "▲ best, △ second best among the rows of a task with the same records."
DEMO_ROWS = {
    "encoder": "the encoder trained just now",
    "random encoder": "the same encoder without training",
    "hand-crafted": "heart rate, intervals and amplitudes",
    "zero-shot": "the encoder and the graph, without labels",
}
"""Descriptions of the methods of the probe."""


def probe_text(report: Report) -> str:
    """Return the text of a report.

    It has the macro AUC per method and share of the training records, the scores per class, and remarks.
    """
    scores = tidy(lines("", report))
    classes = by_class(report).assign(
        text=lambda of: of["auc"].map("{:.1f}".format) + " / " + of["ap"].map("{:.1f}".format)
    )
    by_method = classes.pivot_table("text", ["class", "positives"], "method", aggfunc="first", sort=False)
    return plain_text(
        [
            f"{report.task}: macro AUC on test [95 % interval], protocol {report.protocol}",
            _scores_table(scores, report.reference),
            f"AUC / average precision per class, at {share(scores['fraction'].max())}",
            rich_table(
                ["class", "positives", *by_method],
                [(*map(str, key), *row) for key, *row in by_method.itertuples()],
            ),
            MARKED,
            describe_leak(report.leak),
            *(f"{what[0].upper()}{what[1:]}: {text}." for what, text in basis(report)),
            "Seconds of fitting: "
            + ", ".join(
                f"{name} {s:.1f}" for name, s in scores.groupby("method", sort=False)["seconds"].sum().items()
            ),
        ]
    )


def many_text(probed: Sequence[tuple[Path, Report]]) -> str:
    """Return a table of several reports, with 95 % confidence intervals."""
    return scores_text(
        f"Macro AUC on test [95 % interval], protocol {probed[0][1].protocol}", of_reports(probed)
    )


def scores_text(head: str, scores: pd.DataFrame) -> str:
    """Return a data frame of scores as a text table with the title `head` and with notes."""
    leaked = (scores["leaked_records"].fillna(0) > 0).any()
    dagger = [LEAKED.format(TEXT.dagger)] if leaked else []
    return plain_text([head, _scores_table(scores), MARKED, *notes(scores), *dagger])


def _scores_table(scores: pd.DataFrame, reference: str = "") -> Table:
    """Return a table with a row per task and method, and a column per share of the training records.

    If `reference` is given, the last column is the difference from this method.
    """
    scores = scores.assign(text=TEXT.figures(scores, intervals=True), name=names_of(scores))
    shares = sorted(scores["fraction"].unique())
    difference = [f"minus {reference}\nat {share(shares[-1])}"] if reference else []
    table = rich_table(["features", *map(share, shares), *difference])
    for task in tasks_of(scores):
        of_task = scores[scores["task"] == task]
        drawn = of_task.groupby("fraction")["records"].first().dropna()
        table.add_section()
        table.add_row(
            f"{title(task)}, {of_task['test_records'].iloc[0]} test",
            *(_records(drawn.get(fraction)) for fraction in shares),
        )
        table.add_section()
        for _, row in of_task.groupby(ROW, sort=False):
            texts = dict(zip(row["fraction"], row["text"].str.replace(" [", "\n["), strict=True))
            first, last = row.iloc[0], row.loc[row["fraction"].idxmax()]
            name = f"{first['name']}\n({first['dimension']})" if reference else first["name"]
            versus = [_versus(last)] if reference else []
            table.add_row(name, *(texts.get(fraction, "") for fraction in shares), *versus)
    return table


def demo_text(done: "Demo") -> str:
    """Return the scores of `marecg demo` as a table, with an explanation and next steps."""
    auc = tidy(lines("", done.probe)).set_index("method")["macro_auc"]
    rows = [(words, f"{auc[method]:.0f}") for method, words in DEMO_ROWS.items() if method in auc]
    return plain_text(
        [
            f"Classification of findings in {done.probe.records.test} synthetic test ECGs:",
            rich_table(["features", "AUC"], rows),
            "AUC is the mean over the findings: 100 is perfect, 50 is random. The first two rows show the "
            "effect of training. Hand-crafted features are strong here, because synthetic ECGs are drawn "
            "from the same intervals and amplitudes. For results on real ECGs, see docs/pretrained.md.",
            "",
            "Next:",
            f"  {done.page} is a page about the run, for a browser",
            f"  marecg predict {done.run} RECORD prints the concepts nearest to your ECG",
            "  marecg prepare FOLDER --out corpus prepares a corpus of your records for training",
        ]
    )


def rich_table(heads: Sequence[str], lines: Iterable[Sequence[str]] = ()) -> Table:
    """Return a Rich table. Its first column holds text, and the other columns hold numbers."""
    heads, lines = turned(heads, list(lines))
    table = Table()
    for number, head in enumerate(heads):
        no_wrap = not number and head == "recipe"
        table.add_column(head, justify="right" if number else "left", no_wrap=no_wrap, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def plain_text(parts: Iterable[Table | str]) -> str:
    """Return tables and sentences as plain text. A table is wider than `WIDTH` only if words would be cut."""
    full = console().width
    recorder = Console(file=io.StringIO(), width=full, record=True)
    for part in parts:
        minimum = 0 if isinstance(part, str) else Measurement.get(recorder, recorder.options, part).minimum
        width = full if minimum > WIDTH else min(WIDTH, full)
        recorder.print(part, width=width, highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in recorder.export_text().splitlines())


def _records(count: Any) -> str:
    return "" if pd.isna(count) else f"{count:,} record" + ("s" if count != 1 else "")


def _versus(line: Any) -> str:
    if pd.isna(line["versus"]):
        return ""
    return f"{line['versus']:+.1f}\n[{line['versus_low']:+.1f}, {line['versus_high']:+.1f}]"
