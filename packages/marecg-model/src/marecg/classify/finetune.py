"""`marecg probe --protocol finetune`: fine-tune an encoder on a task, and write the report of a probe.

The training records and the test split are the same as in the protocol `strict`. The step with the least loss
on the validation split is kept. The test split is scored once.

Shapes: M labelled records, K classes.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ecg_records.signal.leads import LEADS
from marecg.base.progress import passing
from marecg.classify.tuning import Tuning, Vectors, tune
from marecg.errors import RecordError
from marecg.evaluate.methods.features import finite
from marecg.evaluate.probe.linear import Fitted, check_labels
from marecg.evaluate.probe.protocol import STRICT, Learn, Rows
from marecg.evaluate.reporting import Judged, home_of, keep_report, load_under_test, try_writing
from marecg.evaluate.request import FRACTIONS, Request
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable
from marecg.evaluate.scores.results import Report
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import FS, Folds, Recordings, Task, TaskDefinition
from marecg.model.readout import readout_width
from marecg.model.windows import recording

FINETUNE = replace(STRICT, name="finetune", normalisation="signals in mV")
"""Protocol of the reports. A report may compare several settings of fine-tuning."""


def finetune(
    run: str | Path,
    task: str | TaskDefinition,
    root: Path,
    how: Sequence[Tuning],
    *,
    fractions: Sequence[float] = FRACTIONS,
    seeds: int = 5,
    folds: Sequence[Folds] = (),
    out: Path | None = None,
) -> Report:
    """Fine-tune an encoder on one task and write the report to `out/probe/TASK-finetune.json`.

    Args:
        run: a model, in any form accepted by `MarEcg.from_pretrained`. It isn't changed.
        task: name or definition of the task.
        root: folder of the task's data.
        how: settings of fine-tuning. The encoder is tuned once with each of them. The report has a row for
            each, and compares the other rows with the first row.
        fractions: shares of the training records to train on, such as 0.01.
        seeds: number of random choices of the training records for each share below 1.
        folds: choices of the dataset's folds for training, validation and test. The encoder is tuned with
            each choice, and the test records are pooled. The published folds if empty.
        out: folder for the report. If None, it is the folder of the run.
    """
    request = Request(tuple(fractions), seeds, FINETUNE, folds=tuple(folds))
    under_test = load_under_test(run, {}, request)
    model = under_test.model
    assert model is not None, "a run has a model"
    home = home_of(under_test, out)
    rotations = request.open(task_named(task) if isinstance(task, str) else task, root)
    under_test = replace(under_test, name=_row(how[0]))
    recordings = rotations[0].recordings
    unreadable = _unreadable(recordings)
    config = model.config
    vectors = Vectors(model, lambda row: recording(recordings.read(row), FS, LEADS, config), how[0].readout)
    try_writing(home)
    judged = []
    for usable in (rotation.without(unreadable) for rotation in rotations):
        trials = {}
        for tuning in how:
            learn = _tuning(tuning, vectors, usable)
            fits = FINETUNE.trials(learn, usable, request.fractions, request.seeds)
            trials[_row(tuning)] = list(passing(fits, f"{usable.name}, {_row(tuning)}: fits"))
        widths = dict.fromkeys(trials, readout_width(model.config, how[0].readout))
        judged.append(Judged(usable, widths, unreadable, trials))
    return keep_report(home, under_test, request, judged)


def _row(how: Tuning) -> str:
    return f"encoder, fine-tuned ({how.layers})"


def _tuning(how: Tuning, vectors: Vectors, task: Task) -> Learn:
    """Return a function that trains the encoder, and keeps the step with the least validation loss."""
    y_MK = task.y_MK

    def recordings(rows: Rows) -> list[int]:
        return [int(row) for row in task.row_M[rows]]

    def learn(train: Rows, val: Rows) -> Fitted:
        check_labels(y_MK[val], "validation")
        y_both_MK = y_MK[np.concatenate([train, val])].astype(np.float64)
        tuned = tune(how, vectors, y_both_MK, recordings(train), recordings(val))

        def logits(rows: Rows) -> Floats:
            return tuned.logits(vectors, recordings(rows))

        untrained = tuple(int(k) for k in np.flatnonzero(~scorable(y_MK[train])))
        return Fitted(tuned.step, macro_auc(y_MK[val], logits(val)), untrained, logits)

    return learn


def _unreadable(recordings: Recordings) -> dict[str, str]:
    """Return the reason of each unreadable record, by id."""
    unreadable: dict[str, str] = {}
    for row in passing(range(len(recordings.ids)), f"{recordings.name}, reading: records"):
        try:
            finite(recordings.read(row))
        except RecordError as error:
            unreadable[recordings.ids[row]] = error.reason
    return unreadable
