"""Measure a probe's features with a process per thread, relative to one process with all threads."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from benchmarks.corpora import prepared, workspace
from benchmarks.ratio import Effort, Reach, Row, speedups
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import encoder, random_control
from marecg.evaluate.methods.handcrafted import handcrafted
from marecg.evaluate.methods.method import Method
from marecg.evaluate.request import Request
from marecg.evaluate.tasks.corpus import CORPUS
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import by_name

RECORDS, FEWEST = 512, 128
"""Number of records, and the minimum with which leaves have enough support."""
REPEATS = 2
"""Maximum number of turns. In each turn, all features are computed twice."""


def beside_one_process(effort: Effort) -> list[float]:
    """Return the speed of several processes relative to one process, with a model of the size of `small`.

    The start of the processes is included, and no features are reused.
    """
    corpus = prepared(max(FEWEST, effort.of(RECORDS))).folder
    (task,) = Request().open(CORPUS, corpus)
    recordings = task.recordings
    model, numbers = MarEcg(by_name("small").model).eval(), count()
    methods = [encoder(model), random_control(model, "wide"), handcrafted()]

    def features(methods: Sequence[Method]) -> None:
        extract(recordings, methods, workspace() / f"features-{next(numbers)}")

    in_one_process = [replace(method, apart=False) for method in methods]
    fewer = replace(effort, repeats=min(effort.repeats, REPEATS))
    return speedups(lambda: features(methods), lambda: features(in_one_process), fewer)


ROWS = (
    Row(
        "probe-features",
        "features for a probe by one process per thread, records/s",
        "one process with all threads",
        Reach("≥", 1.1),
        "",
        beside_one_process,
    ),
)
