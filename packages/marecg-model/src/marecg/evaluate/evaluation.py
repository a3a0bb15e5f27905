"""`marecg probe`: evaluate an encoder on a task and report the scores.

A row of the report is a set of features with its scores, for example the encoder's h_rhythm (its pooled
vector of a record) or the hand-crafted features. A trial is a single fit of a row, on a random draw of
training records.

Shapes: R recordings, M labelled records, K classes, F features, D width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from marecg.base.progress import Progress, shown
from marecg.errors import InputError, UsageError
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import random_control, read_alike
from marecg.evaluate.methods.handcrafted import handcrafted
from marecg.evaluate.methods.method import FeatureTable, Method
from marecg.evaluate.reporting import Judged, home_of, keep_report, load_under_test, rank_of, try_writing
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import ENCODER_METHODS, RANDOM, Trial
from marecg.evaluate.tasks.task import Task
from marecg.model.mar_ecg import MarEcg

TrialCache = dict[tuple[str, str, str, Request], list[Trial]]
"""Finished trials of earlier probes, by the hashes of features, recordings and task, and the request."""


def evaluate(
    run: str | Path | None,
    task: Sequence[Task],
    request: Request | None = None,
    *,
    features: Mapping[str, Path] | None = None,
    out: Path | None = None,
    features_in: Path | None = None,
    progress: Progress = shown,
    cache: TrialCache | None = None,
) -> Report:
    """Probe an encoder on a task, together with a random encoder, hand-crafted features and zero-shot.

    Zero-shot scores come from the encoder's vectors of the graph's concepts, without labelled records of the
    task (docs/evaluation/zeroshot.md). If `run` is None, the report is about the first file in `features`.
    The report and all predictions are written to `out/probe`.

    Args:
        run: a run folder, whose `model/` is probed, or another name as for `MarEcg.from_pretrained`.
        task: the task once for each rotation in `request.folds`, from `request.open`. A rotation is a choice
            of folds for training, validation and test.
        request: options of the probe; the defaults if None.
        features: files with features of other models, by name; see `features.read_features`.
        out: folder of the report; the run folder if None. A model outside a run folder needs `out`.
        features_in: folder in which features are stored; the folder `features` next to `probe` if None.
        progress: function that opens a progress display: `shown` or `silent` of `marecg.base.progress`.
        cache: trials of earlier calls, which are not run again. New trials are added.

    Raises:
        UsageError: the request is invalid, there is nothing to evaluate, or the report has no folder.
        InputError: `request.readout` is `concepts`, but no class of the task has a concept.
        CheckpointError: the model can't be loaded, or didn't stay frozen.
    """
    request, files, cache = request or Request(), features or {}, {} if cache is None else cache
    under_test = load_under_test(run, files, request)
    home = home_of(under_test, out)
    model, readout = under_test.model, request.readout
    reader = request.protocol.reader
    fixed = (*(read_alike(model, readout, reader) if model else ()), handcrafted())
    for method in fixed:
        method.check(task[0])
    try_writing(home)
    judged = []
    for rotation in task:
        methods = (*fixed, *(baseline(rotation) for baseline in request.baselines))
        _check_rows(methods, files, under_test.name, request)
        methods = _without_rows(methods, model, request)
        features_of = extract(rotation.viewed, methods, features_in or home / "features", progress, files)
        for name in request.without:
            features_of.pop(name, None)
        unreadable = {
            record: reason for table in features_of.values() for record, reason in table.unreadable.items()
        }
        usable = rotation.without(unreadable)
        trials = _trials(features_of, usable, request, cache, progress)
        for method in methods:
            method.verify()
        widths = {name: features.width for name, features in features_of.items()}
        judged.append(Judged(usable, widths, unreadable, trials, rank_of(features_of, usable)))
    return keep_report(home, under_test, request, judged)


def _check_rows(
    methods: Sequence[Method], files: Mapping[str, Path], reference: str, request: Request
) -> None:
    """Raise `UsageError` if a row in `request.without` can't be left out, or if two rows share a name."""
    computed = [name for method in methods for name in method.judged]
    choices = [name for name in (*files, *computed) if name != reference]
    if wrong := [name for name in request.without if name not in choices]:
        problem = f"without must name rows that can be left out, got {'; '.join(wrong)}"
        raise UsageError(problem, remedy=f"Choose from {'; '.join(choices)}")
    if twice := [name for name in files if name in {*ENCODER_METHODS, *computed}]:
        raise UsageError(
            f"the name {twice[0]!r} is already used by another row", remedy="Choose another name: NAME=FILE"
        )


def _without_rows(methods: Sequence[Method], model: MarEcg | None, request: Request) -> tuple[Method, ...]:
    """Return the methods that still have a row when the rows in `request.without` are left out.

    If h_rhythm is the only row left of the random encoder, its other readouts aren't computed.
    """
    rows_of = {method: {*method.judged} - {*request.without} for method in methods}
    return tuple(
        random_control(model) if model and rows == {RANDOM} else method
        for method, rows in rows_of.items()
        if rows
    )


def _trials(
    features_of: Mapping[str, FeatureTable],
    task: Task,
    request: Request,
    cache: TrialCache,
    progress: Progress,
) -> dict[str, list[Trial]]:
    """Return the trials of every row, from the cache if possible. Zero-shot rows come last."""
    trials: dict[str, list[Trial]] = {}
    for name, features in features_of.items():
        if features.row.without_labels:
            continue
        key = (features.sha256, task.viewed.sha256, task.sha256, request)
        if key not in cache:
            try:
                cache[key] = _fitted(features, task, request, f"{task.name}, {name}", progress)
            except InputError as error:
                raise InputError(error.problem, where=task.name, remedy=error.remedy) from error
        trials[name] = cache[key]
    unlearnt = {name: features.unlearnt(task) for name, features in features_of.items()}
    return trials | {name: [trial] for name, trial in unlearnt.items() if trial}


def _fitted(
    features: FeatureTable, task: Task, request: Request, title: str, progress: Progress
) -> list[Trial]:
    """Return the trials of a row. Progress shows the current fit, because the last fits may take longest."""
    trials: list[Trial] = []
    single = request.protocol.seed is not None
    count = sum(1 if single or fraction == 1 else request.seeds for fraction in request.fractions)
    with progress(f"{title}: fits") as tell:
        part = replace(features.values(task), note=lambda text: tell(len(trials), count, f"now {text}"))
        learn = request.protocol.on_features(part, features.row.choose)
        for trial in request.protocol.trials(learn, task, request.fractions, request.seeds):
            trials.append(trial)
            tell(len(trials), count)
    return trials
