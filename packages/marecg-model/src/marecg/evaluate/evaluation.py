"""What `marecg probe` does: an encoder and a task in, a report out.

Shapes: R recordings, M labelled records, K classes, F features, D width.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
import torch
from numpy.typing import NDArray

from ecg_ontology import replacing
from marecg.base.errors import InputError, OutputError, UsageError
from marecg.evaluate.leak import leak
from marecg.evaluate.methods.encoder import encoder, random_control
from marecg.evaluate.methods.external import read_features
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.handcrafted import handcrafted
from marecg.evaluate.methods.method import Features, Method, Progress, no_progress
from marecg.evaluate.methods.zeroshot import known_concepts, zero_shot
from marecg.evaluate.model_under_test import ModelUnderTest, file_sha256, load_under_test
from marecg.evaluate.request import Request
from marecg.evaluate.scores.predictions import predictions, save
from marecg.evaluate.scores.results import Counts, Report
from marecg.evaluate.scores.summary import ENCODER, OWN, ZERO_SHOT, summarise
from marecg.evaluate.scores.trial import Trial
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import SPLITS, TEST, Recordings, Task
from marecg.nn.collapse import effective_rank
from marecg.storage import copies

TrialCache = dict[tuple[str, str, str, Request], list[Trial]]
"""Trials by features, recordings, task and request."""
RANKED = 5000
"""Of so many records at most the rank is computed."""


def evaluate(
    run: str | Path | None,
    task: str,
    root: Path,
    request: Request | None = None,
    *,
    features: Mapping[str, Path] | None = None,
    out: Path | None = None,
    features_in: Path | None = None,
    watch: Progress = no_progress,
    cache: TrialCache | None = None,
) -> Report:
    """Probe a run's encoder on one task, beside a random encoder, hand-crafted features and zero-shot.

    Without a run the first of `features` is what the report is about. The report and all predictions are
    kept in `out/probe`.

    Args:
        run: a run folder, whose `model/` is probed, or another name as for `MarEcg.from_pretrained`.
        task: as for `registry.task_named`.
        root: the task's data.
        request: how it is asked.
        features: other models' features by name, each an `.npz`; see `external.read_features`.
        out: where the report goes; the run folder if None. A model that is no run's keeps no report.
        features_in: where features are kept; `out/features` if None.
        watch: sees each batch of features and each fit go by.
        cache: the trials of former calls, which are not run again; this one's are added.

    Raises:
        UsageError: an impossible request, or nothing to judge, or no place for the report.
        CheckpointError: the run's model can't be loaded, or didn't stay frozen.
        InputError: the data can't be used.
        OutputError: the report can't be written.
    """
    request, files, cache = request or Request(), features or {}, {} if cache is None else cache
    under_test = load_under_test(run, files, request.readout)
    home = home_of(under_test, out)
    asked = request.open(task_named(task), root)
    recordings = request.protocol.view(asked.recordings)
    try_writing(home)
    methods = _methods(under_test, asked, request)
    every = _features(methods, files, recordings, features_in or home / "features", watch)
    features_of = {name: each for name, each in every.items() if name not in request.without}
    usable = _restrict(asked, features_of)
    trials = _trials(methods, files, features_of, usable, recordings, request, cache, watch)
    if zero := _zero_shot(under_test, features_of, usable):
        trials[ZERO_SHOT] = [zero]
    for method in methods:
        method.verify()
    report = report_on(under_test, usable, recordings, request, features_of, trials)
    keep(home, report, recordings, usable, trials)
    return report


def home_of(under_test: ModelUnderTest, out: Path | None) -> Path:
    """Where everything is kept: where it is asked for, or in the run folder.

    Raises:
        UsageError: it isn't asked for, and there is no run, or only the copy of one in a store.
    """
    bare = under_test.run is None or under_test.run == under_test.place.absolute()
    if out is None and (bare or copies.address(under_test.place)):
        raise UsageError("without a run the report has no place", remedy="Name a folder as --out")
    return out or under_test.place.parent


def _methods(under_test: ModelUnderTest, task: Task, request: Request) -> tuple[Method, ...]:
    """Everything that computes features."""
    model = under_test.model
    encoders = (encoder(model), random_control(model, request.readout)) if model else ()
    return (*encoders, handcrafted(), *(baseline(task) for baseline in request.baselines))


def _features(
    methods: Sequence[Method],
    files: Mapping[str, Path],
    recordings: Recordings,
    folder: Path,
    watch: Progress,
) -> dict[str, Features]:
    """The features of every row: those of the methods, and those that lie in files."""
    taken = {*OWN, *(name for method in methods for name in method.columns)}
    for name in files:
        if name in taken:
            raise UsageError(f"the name {name!r} is taken", remedy="Name the features otherwise: NAME=FILE")
    from_files = {name: read_features(path, recordings) for name, path in files.items()}
    return extract(recordings, methods, folder, watch) | from_files


def _restrict(task: Task, features_of: Mapping[str, Features]) -> Task:
    """The task on those of its records that every method has features of."""
    unreadable = {record for features in features_of.values() for record in features.unreadable}
    return task.without(unreadable)


def _trials(
    methods: Sequence[Method],
    files: Mapping[str, Path],
    features_of: Mapping[str, Features],
    task: Task,
    recordings: Recordings,
    request: Request,
    cache: TrialCache,
    watch: Progress,
) -> dict[str, list[Trial]]:
    """Every row's trials, those in the cache as they are."""
    own = {name: (method, columns) for method in methods for name, columns in method.columns.items()}
    trials: dict[str, list[Trial]] = {}
    for name, features in features_of.items():
        method, columns = own.get(name, (None, None))
        sha256 = f"{method.sha256} {columns}" if method else file_sha256(files[name])
        key = (sha256, recordings.sha256, task.sha256, request)
        if key not in cache:
            fits = _fits(features.x_RF[task.row_M], task, request, method)
            cache[key] = list(watch(fits, f"{task.name}: {name}"))
        trials[name] = cache[key]
    return trials


def _fits(x_MF: NDArray[np.float32], task: Task, request: Request, method: Method | None) -> Iterator[Trial]:
    """The protocol's trials on some features; an error says which task it is of."""
    choose = method.choose if method else None
    try:
        yield from request.protocol.trials(
            x_MF, task.y_MK, task.split_M, request.fractions, request.seeds, choose
        )
    except InputError as error:
        raise InputError(error.problem, where=task.name, remedy=error.remedy) from error


def _zero_shot(under_test: ModelUnderTest, features_of: Mapping[str, Features], task: Task) -> Trial | None:
    """The encoder's prototypes, read without labels, where it has any."""
    model, onto = under_test.model, under_test.ontology
    if model is None or onto is None or not model.prototypes.any():
        return None
    if not any(known_concepts(task, name, onto) for name in task.classes):
        return None
    test = task.row_M[task.split_M == TEST]
    return zero_shot(model, features_of[ENCODER].x_RF[test], task, onto)


def _lacking_concepts(under_test: ModelUnderTest, task: Task) -> Iterator[str]:
    """Which classes zero-shot can't ask for, because the encoder's graph is another than the task's."""
    if under_test.model is None or under_test.ontology is None or not under_test.model.prototypes.any():
        return
    onto = under_test.ontology
    asked = [name for name in task.classes if task.concepts.get(name)]
    lacking = [name for name in asked if not known_concepts(task, name, onto)]
    if lacking:
        names = ", ".join(lacking)
        yield f"the encoder's graph lacks concepts of {names}: zero-shot passes over these classes"


def report_on(
    under_test: ModelUnderTest,
    task: Task,
    recordings: Recordings,
    request: Request,
    features_of: Mapping[str, Features],
    trials: Mapping[str, list[Trial]],
) -> Report:
    """The report on all trials."""
    widths = {name: features.x_RF.shape[1] for name, features in features_of.items()}
    widths[ZERO_SHOT] = widths.get(ENCODER, 0)
    protocol, y_MK = request.protocol, task.y_MK[task.split_M == TEST]
    return Report(
        task=task.name,
        protocol=protocol.name,
        reference=under_test.name,
        normalisation=protocol.normalisation,
        policy=protocol.policy,
        notes=protocol.notes,
        folds=task.folds,
        window=recordings.window,
        classes=task.classes,
        records=_counts(task, features_of.values()),
        model=str(under_test.place),
        model_sha256=under_test.sha256,
        ontology_sha256=under_test.ontology.sha256 if under_test.ontology else "",
        data_sha256=recordings.sha256,
        task_sha256=task.sha256,
        leak=leak(under_test.run, task) if under_test.run else None,
        rank=_rank(features_of, task),
        request=request.as_json,
        remarks=(*under_test.remarks, *_lacking_concepts(under_test, task)),
        cells=summarise(trials, widths, y_MK, task.classes, under_test.name, request.resamples),
    )


def _rank(features_of: Mapping[str, Features], task: Task) -> float | None:
    """The effective rank of h_rhythm over the task's records, a few thousand of them at most."""
    if ENCODER not in features_of:
        return None
    h_MD = features_of[ENCODER].x_RF[task.row_M]
    return effective_rank(torch.from_numpy(h_MD[:: 1 + len(h_MD) // RANKED]))


def _counts(task: Task, features_of: Collection[Features]) -> Counts:
    train, val, test = (int((task.split_M == part).sum()) for part in SPLITS)
    unreadable: dict[str, str] = {}
    for features in features_of:
        unreadable |= features.unreadable
    return Counts(
        train=train,
        val=val,
        test=test,
        unlabelled=task.unlabelled,
        missing=task.missing,
        unreadable=unreadable,
    )


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


def keep(
    home: Path, report: Report, recordings: Recordings, task: Task, trials: Mapping[str, list[Trial]]
) -> None:
    """Keep the report, and what every row says of every test record."""
    test_M = task.split_M == TEST
    ids = tuple(recordings.ids[row] for row in task.row_M[test_M])
    collected = predictions(ids, task.classes, task.y_MK[test_M], trials, report.reference)
    name = f"{report.task}-{report.protocol}"
    save(home / "probe" / f"{name}.npz", collected)
    with replacing(home / "probe" / f"{name}.json") as temporary:
        temporary.write_text(report.model_dump_json(indent=2), encoding="utf-8")
