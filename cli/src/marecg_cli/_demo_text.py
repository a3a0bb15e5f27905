"""What a newcomer has seen when the demo is over, and what to do next."""

from rich.table import Table

from marecg.evaluate.scores.results import Report
from marecg.report.demo import Demo
from marecg_cli._probe_text import printed

ROWS = {
    "encoder": "the encoder that was trained just now",
    "random encoder": "the same encoder without training",
    "hand-crafted": "heart rate, intervals and amplitudes",
    "zero-shot": "the encoder and the graph, without any label",
}
"""Methods of the probe, in words."""


def demo_text(done: Demo) -> str:
    """A table of four numbers, what they mean, and three ways on."""
    records = done.probe.records
    return printed(
        [
            f"How well findings can be read from {records.test} synthetic ECGs that nothing was trained on:",
            _table(done.probe),
            "100 is perfect, 50 a coin (macro AUC over the findings). So few and clean records show that "
            "every part runs, not how good the encoder is: docs/pretrained.md has real ECGs.",
            "",
            "Next:",
            f"  {done.page} is the run on one page, for a browser",
            f"  marecg predict {done.run} RECORD names the concepts that an ECG of yours lies nearest to",
            "  marecg prepare FOLDER --out corpus makes a corpus of your own records, to train on",
        ]
    )


def _table(report: Report) -> Table:
    table = Table("read from", "AUC")
    for method, words in ROWS.items():
        if cell := next((each for each in report.cells if each.method == method), None):
            table.add_row(words, f"{100 * cell.macro_auc.mean:.0f}")
    return table
