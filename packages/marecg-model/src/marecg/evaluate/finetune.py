"""What `marecg classify judge` does: an encoder trained on a task's labels, judged as a probe is.

Shares, draws and the test part are those of the protocol `strict`; val decides which step is kept, and test
is scored once. Records are read as they are needed, so what stands for a record's features is its number.
Shapes: R recordings, M labelled records, K classes, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marecg.base.config import LEADS
from marecg.base.errors import RecordError
from marecg.ecg.windows import Recording, recording
from marecg.evaluate.evaluation import home_of, keep, report_on, try_writing
from marecg.evaluate.methods.method import Features, Progress, finite, no_progress
from marecg.evaluate.model_under_test import load_under_test
from marecg.evaluate.probe.linear import FittedProbe, Part, check_labels
from marecg.evaluate.probe.strict import STRICT
from marecg.evaluate.request import FRACTIONS, Request
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable
from marecg.evaluate.scores.results import Report
from marecg.evaluate.tasks.folds import Folds
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import FS, Recordings
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import wide_width
from marecg.use.tuning import Tuned, Tuning, Vectors, tune

FINETUNE = replace(STRICT, name="finetune", normalisation="signals in mV")
"""The protocol's name in reports and tables; several layers stand in one report."""


def finetune(
    run: str | Path,
    task: str,
    root: Path,
    how: Sequence[Tuning],
    *,
    fractions: Sequence[float] = FRACTIONS,
    seeds: int = 5,
    folds: str | None = None,
    out: Path | None = None,
    watch: Progress = no_progress,
) -> Report:
    """Fine-tune an encoder on one task and keep the report in `out/probe/TASK-finetune.json`.

    Args:
        run: as for `MarEcg.from_pretrained`; it stays as it is.
        task: as for `marecg.evaluate.tasks.registry.task_named`.
        root: the task's data.
        how: one row each; the report is about the first, and compares the others with it.
        fractions, seeds, folds: as for `marecg probe`.
        out: where the report goes; the run folder if None.
        watch: sees each fit go by.

    Raises:
        UsageError: an impossible request, or a learning rate at which the values don't stay finite.
        CheckpointError: the run's model can't be loaded.
        InputError: the data can't be used.
        OutputError: the report can't be written.
    """
    request = Request(tuple(fractions), seeds, FINETUNE, folds=None if folds is None else Folds.of(folds))
    under_test = load_under_test(run, {}, request.readout)
    model = under_test.model
    assert model is not None, "a run has a model"
    home = home_of(under_test, out)
    asked = request.open(task_named(task), root)
    under_test = replace(under_test, name=_row(how[0]))
    unreadable = _unreadable(asked.recordings, watch)
    usable = asked.only(np.array([asked.recordings.ids[row] not in unreadable for row in asked.row_M], bool))
    number_M1 = usable.row_M[:, None].astype(np.float64)
    vectors = Vectors(model, partial(_fetch, usable.recordings, model))
    try_writing(home)
    trials = {
        _row(each): list(
            watch(
                FINETUNE.trials(
                    number_M1,
                    usable.y_MK,
                    usable.split_M,
                    request.fractions,
                    request.seeds,
                    partial(_choose, each, vectors),
                ),
                f"{usable.name}: {_row(each)}",
            )
        )
        for each in how
    }
    width_RF = np.broadcast_to(np.float32(0), (len(usable.recordings.ids), wide_width(model.config)))
    found = {name: Features(width_RF, unreadable) for name in trials}
    report = report_on(under_test, usable, usable.recordings, request, found, trials)
    keep(home, report, usable.recordings, usable, trials)
    return report


def _row(how: Tuning) -> str:
    return f"encoder, fine-tuned ({how.layers})"


@dataclass(frozen=True)
class _Scorer:
    """A fine-tuned network that takes the numbers of records."""

    tuned: Tuned
    vectors: Vectors

    def logits(self, x_MF: NDArray[np.floating]) -> Floats:
        """Numbers [M, 1] → logits [M, K]."""
        return self.tuned.logits(self.vectors, _numbers(x_MF))


def _choose(how: Tuning, vectors: Vectors, train: Part, val: Part) -> FittedProbe:
    """Train on the one part; the step with the least loss on the other is kept."""
    check_labels(val.y_MK, "validation")
    y_MK = np.concatenate([train.y_MK, val.y_MK]).astype(np.float64)
    tuned = tune(how, vectors, y_MK, _numbers(train.x_MF), _numbers(val.x_MF))
    scorer = _Scorer(tuned, vectors)
    val_auc = macro_auc(val.y_MK, scorer.logits(val.x_MF))
    untrained = tuple(int(k) for k in np.flatnonzero(~scorable(train.y_MK)))
    return FittedProbe(tuned.step, val_auc, untrained, scorer)


def _numbers(x_MF: NDArray[np.floating]) -> list[int]:
    numbers: list[int] = x_MF[:, 0].astype(np.int64).tolist()
    return numbers


def _fetch(recordings: Recordings, model: MarEcg, row: int) -> Recording:
    return recording(recordings.read(row), FS, LEADS, model.config)


def _unreadable(recordings: Recordings, watch: Progress) -> dict[str, str]:
    """Why each record that can't be read can't be, by its id."""
    found: dict[str, str] = {}
    for row in watch(range(len(recordings.ids)), f"{recordings.name}: reading"):
        try:
            finite(recordings.read(row))
        except RecordError as error:
            found[recordings.ids[row]] = error.reason
    return found
