"""What `marecg finetune` does: an encoder trained on a task's labels, judged as a probe is.

Shares, draws and the test part are those of the protocol `strict`; val decides which epoch is kept, and test
is scored once. Records are read as they are needed, so what stands for a record's features is its number.
Shapes: R recordings, M labelled records, K classes, F features.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits

from marecg.config import LEADS
from marecg.ecg.windows import Recording, recording
from marecg.errors import RecordError, UsageError
from marecg.evaluate.evaluation import home_of, keep, report_on, try_writing
from marecg.evaluate.methods.method import Features, Progress, finite, no_progress
from marecg.evaluate.model_under_test import load_under_test
from marecg.evaluate.probe.linear import FittedProbe, Part, check_labels
from marecg.evaluate.probe.strict import STRICT
from marecg.evaluate.request import FRACTIONS, Request
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable
from marecg.evaluate.scores.results import Report
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import FS, Recordings
from marecg.model.mar_ecg import MarEcg
from marecg.use.tuning import Classifier, Fetch, Tuning, logits, tune

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
    out: Path | None = None,
    watch: Progress = no_progress,
) -> Report:
    """Fine-tune an encoder on one task and keep the report in `out/probe/TASK-finetune.json`.

    Args:
        run: as for `MarEcg.from_pretrained`; it stays as it is.
        task: as for `marecg.evaluate.tasks.registry.task_named`.
        root: the task's data.
        how: one row each; the report is about the first, and compares the others with it.
        fractions, seeds: as for `marecg probe`.
        out: where the report goes; the run folder if None.
        watch: sees each fit go by.

    Raises:
        UsageError: an impossible request, or a learning rate at which the values don't stay finite.
        CheckpointError: the run's model can't be loaded.
        InputError: the data can't be used.
        OutputError: the report can't be written.
    """
    request = Request(tuple(fractions), seeds, FINETUNE)
    under_test = load_under_test(run, {}, request.readout)
    model = under_test.model
    assert model is not None, "a run has a model"
    home = home_of(under_test, out)
    asked = request.open(task_named(task), root)
    under_test = replace(under_test, name=_row(how[0]))
    unreadable = _unreadable(asked.recordings, watch)
    usable = asked.only(np.array([asked.recordings.ids[row] not in unreadable for row in asked.row_M], bool))
    number_M1 = usable.row_M[:, None].astype(np.float64)
    fetch = partial(_fetch, usable.recordings, model)
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
                    partial(_choose, model, each, fetch),
                ),
                f"{usable.name}: {_row(each)}",
            )
        )
        for each in how
    }
    width_RF = np.broadcast_to(np.float32(0), (len(usable.recordings.ids), model.config.width))
    found = {name: Features(width_RF, unreadable) for name in trials}
    report = report_on(under_test, usable, usable.recordings, request, found, trials)
    keep(home, report, usable.recordings, usable, trials)
    return report


def _row(how: Tuning) -> str:
    return f"encoder, fine-tuned ({how.layers})"


@dataclass(frozen=True)
class _Scorer:
    """A fine-tuned network that takes the numbers of records."""

    net: Classifier
    fetch: Fetch
    batch_size: int

    def logits(self, x_MF: NDArray[np.floating]) -> Floats:
        """Numbers [M, 1] → logits [M, K]."""
        return logits(self.net, self.fetch, _numbers(x_MF), self.batch_size)


def _choose(model: MarEcg, how: Tuning, fetch: Fetch, train: Part, val: Part) -> FittedProbe:
    """Train on the one part; the epoch with the best macro AUC on the other is kept."""
    check_labels(val.y_MK, "validation")

    def score(net: Classifier) -> float:
        logits_MK = logits(net, fetch, _numbers(val.x_MF), how.batch_size)
        return macro_auc(val.y_MK, logits_MK) if np.isfinite(logits_MK).all() else -math.inf

    target_MK = torch.from_numpy(train.y_MK).float()
    loss = binary_cross_entropy_with_logits
    tuned = tune(model, train.y_MK.shape[1], how, fetch, _numbers(train.x_MF), target_MK, loss, score)
    if not math.isfinite(tuned.score):
        problem = f"fine-tuning ({how.layers}) gives values that are not finite"
        raise UsageError(problem, where="--lr", remedy=f"Lower it: it is {how.lr:g}")
    untrained = tuple(int(k) for k in np.flatnonzero(~scorable(train.y_MK)))
    return FittedProbe(tuned.epoch, tuned.score, untrained, _Scorer(tuned.net, fetch, how.batch_size))


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
