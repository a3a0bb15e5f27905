"""From what was judged to the report that is kept.

Shapes: M test records of all rotations, K classes, F features, D width, R rotations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
import torch

from ecg_ontology import replacing
from marecg.base.errors import OutputError, UsageError
from marecg.evaluate.methods.frozen_encoder import known_concepts
from marecg.evaluate.methods.method import FeatureTable
from marecg.evaluate.model_under_test import ModelUnderTest, leak
from marecg.evaluate.request import Request
from marecg.evaluate.scores.groups import group_figures
from marecg.evaluate.scores.predictions import predictions, save
from marecg.evaluate.scores.results import Counts, Report
from marecg.evaluate.scores.summary import ENCODER, MEAN_H, ZERO_SHOT, Trial, pooled, summarise
from marecg.evaluate.tasks.task import SPLITS, TEST, Task, task_sha256
from marecg.nn.collapse import effective_rank
from marecg.storage.copies import address

RANKED = 5000
"""Of so many records at most the rank is computed."""


@dataclass(frozen=True)
class Judged:
    """A task in one rotation: on the records that every method can read, what each gives, and the trials.

    Attributes:
        task: restricted to those records.
        widths: how many features each method has.
        unreadable: why each of the others can't be read, by id.
        rank: the effective rank of h_rhythm; None of mere features.
    """

    task: Task
    widths: Mapping[str, int]
    unreadable: Mapping[str, str]
    trials: Mapping[str, Sequence[Trial]]
    rank: float | None = None


def home_of(under_test: ModelUnderTest, out: Path | None) -> Path:
    """Where everything is kept: where it is asked for, or in the run folder.

    Raises:
        UsageError: it isn't asked for, and there isn't a run, or only the copy of one in a store.
    """
    bare = under_test.run is None or under_test.run == under_test.place.absolute()
    if out is None and (bare or address(under_test.place)):
        raise UsageError("without a run the report has no place", remedy="Name a folder as --out")
    return out or under_test.place.parent


def try_writing(home: Path) -> None:
    """See that a report can be kept before hours are spent on it. Raises `OutputError`."""
    folder = home / "probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise OutputError(problem, where=folder, remedy="Choose another folder as --out") from error


def keep_report(home: Path, under_test: ModelUnderTest, request: Request, judged: Sequence[Judged]) -> Report:
    """Summarise all rotations, and keep the report and what every row says of every test record."""
    task, protocol = judged[0].task, request.protocol
    tested = [each.task.part(TEST) for each in judged]
    y_MK = np.concatenate([each.y_MK for each in tested])
    rotation_M = np.repeat(np.arange(len(tested)), [len(each.row_M) for each in tested])
    rotations = rotation_M if len(judged) > 1 else None
    trials = {name: pooled([each.trials[name] for each in judged]) for name in judged[0].trials}
    widths = {**judged[0].widths, ZERO_SHOT: judged[0].widths.get(ENCODER, 0)}
    ranks = [each.rank for each in judged if each.rank is not None]
    ids = tuple(each.recordings.ids[row] for each in tested for row in each.row_M)
    predicted = predictions(ids, task.classes, y_MK, trials, under_test.name, rotations)
    people = {
        kind: [values[row] for each in tested for row in each.row_M]
        for kind, values in task.recordings.people.items()
    }
    report = Report(
        task=task.name,
        protocol=protocol.name,
        reference=under_test.name,
        normalisation=protocol.normalisation,
        policy=protocol.policy,
        notes=protocol.notes,
        folds="; ".join(each.task.folds for each in judged),
        rotations=len(judged),
        window=task.viewed.window,
        classes=task.classes,
        records=_counts(judged),
        model=str(under_test.place),
        model_sha256=under_test.sha256,
        ontology_sha256=under_test.ontology.sha256 if under_test.ontology else "",
        data_sha256=task.viewed.sha256,
        task_sha256=task_sha256([each.task for each in judged]),
        leak=leak(under_test.run, *(each.task for each in judged)) if under_test.run else None,
        rank=min(ranks, default=None),
        request=request.as_json,
        remarks=(*under_test.remarks, *_lacking_concepts(under_test, task)),
        cells=summarise(trials, widths, y_MK, task.classes, under_test.name, request.resamples, rotations),
        groups=group_figures(
            people, y_MK, predicted.logits[under_test.name, request.fractions[-1]], rotations
        ),
    )
    path = home / "probe" / f"{report.task}-{report.protocol}"
    save(path.with_suffix(".npz"), predicted)
    with replacing(path.with_suffix(".json")) as temporary:
        temporary.write_text(report.model_dump_json(indent=2), encoding="utf-8")
    return report


def rank_of(features_of: Mapping[str, FeatureTable], task: Task) -> float | None:
    """The effective rank of h_rhythm, or of the mean of H where its pool is untrained, of RANKED records."""
    read = features_of.get(MEAN_H, features_of.get(ENCODER))
    if read is None:
        return None
    h_MD = read.x_RF[task.row_M]
    return effective_rank(torch.from_numpy(h_MD[:: 1 + len(h_MD) // RANKED]))


def _counts(judged: Sequence[Judged]) -> Counts:
    """Of several rotations the test records of all, and of what trains and selects the mean."""
    train, val, test = ([int((each.task.split_M == part).sum()) for each in judged] for part in SPLITS)
    task = judged[0].task
    return Counts(
        train=round(np.mean(train)),
        val=round(np.mean(val)),
        test=sum(test),
        unlabelled=task.unlabelled,
        missing=task.missing,
        unreadable={record: why for each in judged for record, why in each.unreadable.items()},
    )


def _lacking_concepts(under_test: ModelUnderTest, task: Task) -> Iterator[str]:
    """Which classes zero-shot can't ask for, because the encoder's graph is another than the task's."""
    if under_test.model is None or under_test.ontology is None or not under_test.model.prototypes.any():
        return
    onto = under_test.ontology
    asked = [name for name in task.classes if task.concepts.get(name)]
    classes = ", ".join(name for name in asked if not known_concepts(task, name, onto))
    if classes:
        yield f"the encoder's graph lacks concepts of {classes}: zero-shot passes over these classes"
