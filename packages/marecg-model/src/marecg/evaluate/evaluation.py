"""What `marecg probe` does: an encoder and a task in, a report out.

Shapes: R recordings, M labelled records, K classes, F features, D width.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marecg.base.errors import InputError, UsageError
from marecg.base.progress import Progress, passing, shown
from marecg.evaluate.methods.features import extract, read_features
from marecg.evaluate.methods.frozen_encoder import (
    encoder,
    known_concepts,
    random_control,
    with_concepts,
    zero_shot,
)
from marecg.evaluate.methods.handcrafted import handcrafted
from marecg.evaluate.methods.method import FeatureTable, Method
from marecg.evaluate.reporting import (
    Judged,
    ModelUnderTest,
    file_sha256,
    home_of,
    keep_report,
    load_under_test,
    rank_of,
    try_writing,
)
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import CONCEPTS, ENCODER, OWN, ZERO_SHOT, Trial
from marecg.evaluate.tasks.task import TEST, Task

TrialCache = dict[tuple[str, str, str, Request], list[Trial]]
"""Trials by features, recordings, task and request."""


def evaluate(
    run: str | Path | None,
    task: str,
    root: Path,
    request: Request | None = None,
    *,
    features: Mapping[str, Path] | None = None,
    out: Path | None = None,
    features_in: Path | None = None,
    progress: Progress = shown,
    cache: TrialCache | None = None,
) -> Report:
    """Probe a run's encoder on one task, beside a random encoder, hand-crafted features and zero-shot.

    Without a run the first of `features` is what the report is about. The report and all predictions are
    kept in `out/probe`.

    Args:
        run: a run folder, whose `model/` is probed, or another name as for `MarEcg.from_pretrained`.
        task: as for `registry.task_named`; in every rotation of `request.folds`.
        features: other models' features by name, each an `.npz`; see `features.read_features`.
        out: where the report goes; the run folder if None. A model that isn't a run's keeps no report.
        features_in: where features are kept; `out/features` if None.
        cache: the trials of former calls, which are not run again; this one's are added.

    Raises:
        UsageError: an impossible request, or nothing to judge, or no place for the report.
        InputError: concepts are asked of a task without any.
        CheckpointError: the run's model can't be loaded, or didn't stay frozen.
    """
    request, files, cache = request or Request(), features or {}, {} if cache is None else cache
    under_test = load_under_test(run, files, request.readout)
    home = home_of(under_test, out)
    rotations = request.open(task, root)
    if request.readout == "concepts" and under_test.model and not _has_concepts(under_test, rotations[0]):
        problem = "no class has a concept in the model's graph, so there are none to read"
        raise InputError(problem, where=rotations[0].name, remedy="Take readout=beats")
    try_writing(home)
    model, readout = under_test.model, request.readout
    fixed = (*((encoder(model, readout), random_control(model, readout)) if model else ()), handcrafted())
    judged = []
    for rotation in rotations:
        methods = (*fixed, *(baseline(rotation) for baseline in request.baselines))
        _check_rows(methods, files, under_test.name, request)
        from_files = {name: read_features(path, rotation.viewed) for name, path in files.items()}
        every = extract(rotation.viewed, methods, features_in or home / "features", progress) | from_files
        features_of = {name: each for name, each in every.items() if name not in request.without}
        unreadable = {record: why for each in features_of.values() for record, why in each.unreadable.items()}
        usable = rotation.without(unreadable)
        trials = _trials(under_test, methods, files, features_of, usable, request, cache, progress)
        if zero := _zero_shot(under_test, every, usable):
            trials[ZERO_SHOT] = [zero]
        for method in methods:
            method.verify()
        # Beside the concepts each class reads one more value: the score of its own.
        widths = {name: each.x_RF.shape[1] + (name == CONCEPTS) for name, each in features_of.items()}
        judged.append(Judged(usable, widths, unreadable, trials, rank_of(features_of, usable)))
    return keep_report(home, under_test, request, judged)


def probe_many(
    runs: Sequence[str | Path],
    tasks: Mapping[str, Path],
    probe_one: Callable[..., Report],
    refused: Callable[[InputError], None],
    *,
    out: Path | None = None,
    features_in: Path | None = None,
) -> Iterator[tuple[Path, Report]]:
    """Probe every run on every task; each report comes with the folder that it was kept in.

    What no run owns is computed and fitted once: its features are kept in one place, by default the first
    run's. `probe_one` is `evaluate` with everything filled in but run, task, root, out, features_in and
    cache; `refused` is called when one task of several can't be asked of the records at hand.
    """
    if out is not None and len(runs) > 1:
        raise UsageError("several runs can't be kept in one --out", remedy="Leave it out, or name one run")
    shared = features_in or (Path(runs[0]) / "features" if len(runs) > 1 else None)
    models: Sequence[str | Path | None] = runs or (None,)
    cache: TrialCache = {}
    for run in models:
        for task, root in tasks.items():
            try:
                report = probe_one(run, task, root, out=out, features_in=shared, cache=cache)
            except InputError as error:
                if len(tasks) == 1:
                    raise
                refused(error)
            else:
                yield out or Path(run or ""), report


def _check_rows(
    methods: Sequence[Method], files: Mapping[str, Path], reference: str, request: Request
) -> None:
    """See that what is left out is there and isn't the reference, and that no file takes another's name."""
    computed = [name for method in methods for name in method.columns]
    choices = [name for name in (*files, *computed) if name != reference]
    if wrong := [name for name in request.without if name not in choices]:
        problem = f"without={';'.join(wrong)}: these rows can't be left out"
        raise UsageError(problem, remedy=f"Choose from {'; '.join(choices)}")
    if twice := [name for name in files if name in {*OWN, *computed}]:
        raise UsageError(f"the name {twice[0]!r} is taken", remedy="Name the features otherwise: NAME=FILE")


def _trials(
    under_test: ModelUnderTest,
    methods: Sequence[Method],
    files: Mapping[str, Path],
    features_of: Mapping[str, FeatureTable],
    task: Task,
    request: Request,
    cache: TrialCache,
    progress: Progress,
) -> dict[str, list[Trial]]:
    """Every row's trials, those in the cache as they are; an error says which task it is of."""
    own = {name: (method, columns) for method in methods for name, columns in method.columns.items()}
    trials: dict[str, list[Trial]] = {}
    for name, features in features_of.items():
        method, columns = own.get(name, (None, None))
        sha256 = f"{method.sha256} {columns} {name}" if method else file_sha256(files[name])
        key = (sha256, task.viewed.sha256, task.sha256, request)
        if key not in cache:
            choose, weight_F = None, None
            if method:
                choose, weight_F = method.chooses.get(name, method.choose), method.weights.get(name)
            x_MF: NDArray[np.floating] = features.x_RF[task.row_M]
            if name == CONCEPTS:
                assert weight_F is not None, "the beat readout is weighed"
                assert under_test.model is not None, "only a run's encoder has concepts"
                x_MF, weight_F = with_concepts(x_MF, weight_F, under_test.model, task)
            learn = request.protocol.on_features(x_MF, task, choose, weight_F, own=name == CONCEPTS)
            fits = request.protocol.trials(learn, task, request.fractions, request.seeds)
            try:
                cache[key] = list(passing(fits, f"{task.name}: {name}", progress))
            except InputError as error:
                raise InputError(error.problem, where=task.name, remedy=error.remedy) from error
        trials[name] = cache[key]
    return trials


def _zero_shot(under: ModelUnderTest, features_of: Mapping[str, FeatureTable], task: Task) -> Trial | None:
    """The encoder's prototypes, read without labels, where it has any."""
    model, onto = under.model, under.ontology
    if model is None or onto is None or not model.prototypes.any() or not _has_concepts(under, task):
        return None
    return zero_shot(model, features_of[ENCODER].x_RF[task.part(TEST).row_M], task, onto)


def _has_concepts(under: ModelUnderTest, task: Task) -> bool:
    onto = under.ontology
    return onto is not None and any(known_concepts(task, name, onto) for name in task.classes)
