"""Measure `marecg probe --baseline minirocket`, relative to a probe without this baseline.

The ratio is large if the threads of two libraries compete.
"""

from functools import cache
from itertools import count
from pathlib import Path

from benchmarks.corpora import workspace
from benchmarks.ratio import Effort, Reach, Row, costs
from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.evaluate.evaluation import evaluate
from marecg.evaluate.request import Baseline, Request
from marecg.evaluate.tasks.corpus import CORPUS
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import by_name
from marecg_research.minirocket import minirocket

RECORDS, FEWEST = 256, 64
"""Number of records, and the minimum with which two leaves have enough support."""
LEAVES = ("NSR", "AF")


def beside_minirocket(effort: Effort) -> list[float]:
    """Return the time of a probe with MiniRocket divided by the time of a probe without it.

    No features are reused.
    """
    corpus, run, numbers = _corpus(max(FEWEST, effort.of(RECORDS))), _run(), count()

    def probe(*baselines: Baseline) -> None:
        request = Request(fractions=(1.0,), baselines=baselines)
        task = request.open(CORPUS, corpus)
        evaluate(run, task, request, out=workspace() / f"probe-{next(numbers)}")

    return costs(lambda: probe(minirocket), probe, effort)


@cache
def _corpus(records: int) -> Path:
    """Return a prepared corpus with two leaves."""
    source, folder = workspace() / "two-leaves", workspace() / "two-leaves-prepared"
    write_corpus(source, records, seed=0, diagnoses=LEAVES)
    prepare([source], folder, jobs=1)
    return folder


@cache
def _run() -> Path:
    """Return a run whose model has the size of `small`. It is untrained, which doesn't affect the time."""
    folder = workspace() / "run"
    MarEcg(by_name("small").model).save_pretrained(folder / "model")
    return folder


ROWS = (
    Row(
        "probe-minirocket",
        "time of a probe of `small` with the baseline MiniRocket",
        "time of the probe without it",
        Reach("≤", 1.6),
        "",
        beside_minirocket,
    ),
)
