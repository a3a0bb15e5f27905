"""What `marecg probe` does: an encoder and a task in, a report out.

Shapes: R recordings, M labelled records, K classes, F features.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import ecg_ontology
from ecg_ontology.files import replacing
from marecg.errors import InputError, UsageError
from marecg.evaluate.leak import leak
from marecg.evaluate.methods.encoder import encoder, random_control, weights_sha256
from marecg.evaluate.methods.external import read_features
from marecg.evaluate.methods.handcrafted import handcrafted
from marecg.evaluate.methods.method import Features, Watch, extract, unwatched
from marecg.evaluate.methods.zeroshot import zero_shot
from marecg.evaluate.probe.merl import merl
from marecg.evaluate.probe.protocol import strict
from marecg.evaluate.request import BASELINES, FRACTIONS, PROTOCOLS, Request
from marecg.evaluate.scores.predictions import Predictions, predictions, save
from marecg.evaluate.scores.results import Counts, Report
from marecg.evaluate.scores.summary import ENCODER, OWN, WIDE, ZERO_SHOT, summarise
from marecg.evaluate.scores.trial import Trial
from marecg.evaluate.tasks.task import SPLITS, TEST, Recordings, Task
from marecg.model.mar_ecg import MarEcg
from marecg.use.embed import Readout

UNTRAINED_POOL = (
    "no loss of the recipe reaches h_rhythm's pool, so the row encoder reads H through random weights; "
    "encoder, mean H reads it without"
)
Fitted = dict[tuple[str, str, str, Request], list[Trial]]
"""Trials by method, recordings, task and request."""


def evaluate(
    run: Path | None,
    task: str,
    root: Path,
    *,
    fractions: tuple[float, ...] = FRACTIONS,
    seeds: int = 5,
    protocol: str = "strict",
    splits: Path | None = None,
    baselines: Collection[str] = (),
    readout: Readout = "rhythm",
    features: Mapping[str, Path] | None = None,
    out: Path | None = None,
    kept_in: Path | None = None,
    watch: Watch = unwatched,
    fitted: Fitted | None = None,
) -> Report:
    """Probe a run's encoder on one task, beside a random encoder, hand-crafted features and zero-shot.

    Without a run the first of `features` is what the report is about. The report and all predictions are
    kept in `out/probe`.

    Args:
        run: a run folder; its `model/` is probed.
        task: a name out of `registry.TASKS`.
        root: the task's data.
        fractions, seeds, protocol, splits, baselines, readout: see `Request`.
        features: other models' features by name, each an `.npz`; see `external.read_features`.
        out: where the report goes; the run folder if None.
        kept_in: where features are kept; `out/features` if None.
        watch: sees each batch of features and each fit go by.
        fitted: the trials of former calls, which are not run again; this one's are added.

    Raises:
        UsageError: an impossible request, or nothing to judge, or no place for the report.
        CheckpointError: the run's model can't be loaded, or didn't stay frozen.
        InputError: the data can't be used.
    """
    request = Request(fractions, seeds, protocol, splits, baselines, readout)
    files = features or {}
    home = _home(run, out, files)
    asked = request.open(task, root)
    recordings = request.view(asked.recordings)
    model = None if run is None else _load(run)
    own = WIDE if readout == "wide" else ENCODER
    reference = own if model else next(iter(files))
    encoders = (encoder(model), random_control(model, readout)) if model else ()
    methods = (*encoders, handcrafted(), *(BASELINES[name](asked) for name in baselines))
    sha256_of = {
        name: f"{method.sha256} {columns}" for method in methods for name, columns in method.columns.items()
    }
    others = _read_all(files, recordings, sha256_of.keys())
    sha256_of |= {name: _sha256(path) for name, path in files.items()}
    sha256 = weights_sha256(model) if model else sha256_of[reference]
    found = extract(recordings, methods, kept_in or home / "features", watch) | others
    usable = _restrict(asked, found)
    x = {name: kept.x_RF[usable.row_M] for name, kept in found.items()}
    probes = {name: partial(strict, choose=method.choose) for method in methods for name in method.columns}
    fitted = {} if fitted is None else fitted
    trials: dict[str, list[Trial]] = {}
    for name, x_MF in x.items():
        key = (sha256_of[name], recordings.sha256, usable.sha256, request)
        if key not in fitted:
            probe = probes.get(name, strict) if protocol == "strict" else merl
            fitted[key] = list(watch(_probe(probe, x_MF, usable, request), f"{task}: {name}"))
        trials[name] = fitted[key]
    test_M, terms = usable.split_M == TEST, PROTOCOLS[protocol]
    onto = None if run is None else ecg_ontology.load(run / "model" / "ontology.json")
    if model and onto and model.prototypes.any():
        trials[ZERO_SHOT] = [zero_shot(model, x[ENCODER][test_M], usable, onto)]
    for method in methods:
        method.verify()
    widths = {name: x_MF.shape[1] for name, x_MF in x.items()}
    widths[ZERO_SHOT] = widths.get(ENCODER, 0)
    report = Report(
        task=asked.name,
        protocol=protocol,
        reference=reference,
        normalisation=terms.normalisation,
        policy=terms.policy,
        notes=terms.notes,
        folds=asked.folds,
        window=recordings.window,
        classes=asked.classes,
        records=_counts(usable, found),
        model=str(files[reference] if run is None else run / "model"),
        model_sha256=sha256,
        ontology_sha256=onto.sha256 if onto else "",
        data_sha256=recordings.sha256,
        task_sha256=usable.sha256,
        leak=leak(run, usable) if run else None,
        remarks=(UNTRAINED_POOL,) if model and not model.pool.trained else (),
        cells=summarise(trials, widths, usable.y_MK[test_M], asked.classes, reference),
    )
    ids = tuple(recordings.ids[row] for row in usable.row_M[test_M])
    _keep(home, report, predictions(ids, asked.classes, usable.y_MK[test_M], trials, reference))
    return report


def _home(run: Path | None, out: Path | None, features: Mapping[str, Path]) -> Path:
    """Where everything is kept."""
    if run is None and not features:
        raise UsageError("there is nothing to judge", remedy="Name a run folder, or --features NAME=FILE")
    home = out or run
    if home is None:
        raise UsageError("without a run the report has no place", remedy="Name a folder as --out")
    return home


def _load(run: Path) -> MarEcg:
    return MarEcg.from_pretrained(run / "model").to("cuda" if torch.cuda.is_available() else "cpu")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_all(
    paths: Mapping[str, Path], recordings: Recordings, taken: Collection[str]
) -> dict[str, Features]:
    for name in paths:
        if name in (*taken, *OWN):
            raise UsageError(f"the name {name!r} is taken", remedy="Name the features otherwise: NAME=FILE")
    return {name: read_features(path, recordings) for name, path in paths.items()}


def _keep(home: Path, report: Report, kept: Predictions) -> None:
    name = f"{report.task}-{report.protocol}"
    save(home / "probe" / f"{name}.npz", kept)
    with replacing(home / "probe" / f"{name}.json") as temporary:
        temporary.write_text(report.model_dump_json(indent=2), encoding="utf-8")


def _restrict(task: Task, found: Mapping[str, Features]) -> Task:
    """The task on those of its records that every method has features of."""
    unreadable = {record for features in found.values() for record in features.unreadable}
    return task.only(np.array([task.recordings.ids[row] not in unreadable for row in task.row_M], bool))


def _probe(
    protocol: Callable[..., Iterator[Trial]], x_MF: NDArray[np.float32], task: Task, request: Request
) -> Iterator[Trial]:
    try:
        yield from protocol(x_MF, task.y_MK, task.split_M, request.fractions, request.seeds)
    except InputError as error:
        raise InputError(error.problem, where=task.name, remedy=error.remedy) from error


def _counts(task: Task, found: Mapping[str, Features]) -> Counts:
    train, val, test = (int((task.split_M == part).sum()) for part in SPLITS)
    unreadable: dict[str, str] = {}
    for features in found.values():
        unreadable |= features.unreadable
    return Counts(
        train=train,
        val=val,
        test=test,
        unlabelled=task.unlabelled,
        missing=task.missing,
        unreadable=unreadable,
    )
