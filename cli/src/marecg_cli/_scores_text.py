"""Scores for the terminal, in percent as the field prints them."""

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
"""Columns of a sentence, where the terminal isn't narrower."""
TEXT = Style({1: "▲ {}", 2: "△ {}"}, " ± ", "†", str, digits=1)
MARKED = "▲ best, △ second best among the rows of a task that stand on the same records."
DEMO_ROWS = {
    "encoder": "the encoder that was trained just now",
    "random encoder": "the same encoder without training",
    "hand-crafted": "heart rate, intervals and amplitudes",
    "zero-shot": "the encoder and the graph, without any label",
}
"""Methods of the probe, in words."""


def probe_text(report: Report) -> str:
    """Return macro AUC per method and share, scores per class, and the conditions of the numbers."""
    scores = tidy(lines("", report))
    classes = by_class(report).assign(
        text=lambda of: of["auc"].map("{:.1f}".format) + " / " + of["ap"].map("{:.1f}".format)
    )
    wide = classes.pivot_table("text", ["class", "positives"], "method", aggfunc="first", sort=False)
    return plain_text(
        [
            f"{report.task}: macro AUC on test [95 % interval], protocol {report.protocol}",
            _scores_table(scores, report.reference),
            f"AUC / average precision per class, at {share(scores['fraction'].max())}",
            rich_table(
                ["class", "positives", *wide], [(*map(str, key), *row) for key, *row in wide.itertuples()]
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
    """Return a table with intervals of several reports, and their folders."""
    return scores_text(
        f"Macro AUC on test [95 % interval], protocol {probed[0][1].protocol}", of_reports(probed)
    )


def scores_text(head: str, scores: pd.DataFrame) -> str:
    """Return a frame of scores as one table with its notes."""
    leaked = (scores["leaked_records"].fillna(0) > 0).any()
    dagger = [LEAKED.format(TEXT.dagger)] if leaked else []
    return plain_text([head, _scores_table(scores), MARKED, *notes(scores), *dagger])


def _scores_table(scores: pd.DataFrame, reference: str = "") -> Table:
    """A row per task and method, a column per share; beside them what each has over the reference."""
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
            *(_records(drawn.get(at)) for at in shares),
        )
        table.add_section()
        for _, row in of_task.groupby(ROW, sort=False):
            texts = dict(zip(row["fraction"], row["text"].str.replace(" [", "\n["), strict=True))
            first, last = row.iloc[0], row.loc[row["fraction"].idxmax()]
            name = f"{first['name']}\n({first['dimension']})" if reference else first["name"]
            table.add_row(
                name, *(texts.get(at, "") for at in shares), *([_versus(last)] if reference else [])
            )
    return table


def demo_text(done: "Demo") -> str:
    """Return the demo's four numbers as a table, their meaning, and next steps."""
    auc = tidy(lines("", done.probe)).set_index("method")["macro_auc"]
    rows = [(words, f"{auc[method]:.0f}") for method, words in DEMO_ROWS.items() if method in auc]
    return plain_text(
        [
            f"How well findings can be read from {done.probe.records.test} synthetic ECGs that nothing was "
            "trained on:",
            rich_table(["read from", "AUC"], rows),
            "100 is perfect, 50 a coin (macro AUC over the findings). Synthetic beats are drawn by the very "
            "intervals and heights that hand-crafted values measure, and nothing blurs them: no encoder has "
            "much to add. What training adds is the step from the encoder without it. On real ECGs it is "
            "otherwise: docs/pretrained.md.",
            "",
            "Next:",
            f"  {done.page} is the run on one page, for a browser",
            f"  marecg predict {done.run} RECORD names the concepts that an ECG of yours lies nearest to",
            "  marecg prepare FOLDER --out corpus makes a corpus of your own records, to train on",
        ]
    )


def rich_table(heads: Sequence[str], lines: Iterable[Sequence[str]] = ()) -> Table:
    """Return a table with a text column and number columns."""
    heads, lines = turned(heads, list(lines))
    table = Table()
    for number, head in enumerate(heads):
        no_wrap = not number and head == "recipe"
        table.add_column(head, justify="right" if number else "left", no_wrap=no_wrap, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def plain_text(parts: Iterable[Table | str]) -> str:
    """Tables and sentences as plain lines; a table is wider than these only where a word would be cut."""
    wide = console().width
    written = Console(file=io.StringIO(), width=wide, record=True)
    for part in parts:
        words = 0 if isinstance(part, str) else Measurement.get(written, written.options, part).minimum
        written.print(part, width=wide if words > WIDTH else min(WIDTH, wide), highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in written.export_text().splitlines())


def _records(count: Any) -> str:
    return "" if pd.isna(count) else f"{count:,} record" + ("s" if count != 1 else "")


def _versus(line: Any) -> str:
    if pd.isna(line["versus"]):
        return ""
    return f"{line['versus']:+.1f}\n[{line['versus_low']:+.1f}, {line['versus_high']:+.1f}]"
