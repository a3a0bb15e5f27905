"""What `marecg probe` does: run folder and task in, report out.

Shapes: R recordings, M labelled records, K classes, F features.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import ecg_ontology
from ecg_ontology.files import replacing
from marecg.errors import InputError, UsageError
from marecg.evaluate.catalogue import open_task
from marecg.evaluate.encoders import encoder, random_encoder, weights_sha256
from marecg.evaluate.external import read_features
from marecg.evaluate.features import Features, Method, Watch, extract
from marecg.evaluate.handcrafted import handcrafted
from marecg.evaluate.merl import DIFFERENCES, POSITIONAL, merl, merl_view
from marecg.evaluate.minirocket import minirocket
from marecg.evaluate.predictions import Predictions, predictions, save
from marecg.evaluate.protocol import Trial, strict
from marecg.evaluate.resnet import resnet
from marecg.evaluate.results import Counts, Report
from marecg.evaluate.summary import REFERENCE, summarise
from marecg.evaluate.tasks import SPLITS, TEST, Task
from marecg.evaluate.zeroshot import zero_shot
from marecg.model import MarEcg

BASELINES: dict[str, Callable[[Task], Method]] = {"minirocket": minirocket, "resnet1d": lambda task: resnet()}
"""The baselines that take longer, and so are measured when asked for."""
PROTOCOLS = {"strict": (), "merl": DIFFERENCES, "merl-positional": (POSITIONAL, *DIFFERENCES)}
"""Every protocol, and what its report must say of it."""


def evaluate(
    run: Path,
    task: str,
    root: Path,
    *,
    fractions: tuple[float, ...] = (0.01, 0.1, 1.0),
    seeds: int = 5,
    protocol: str = "strict",
    splits: Path | None = None,
    features: Mapping[str, Path] | None = None,
    baselines: Collection[str] = (),
    kept_in: Path | None = None,
    watch: Watch = iter,
) -> Report:
    """Probe a run's encoder on one task, beside a random encoder, hand-crafted features and zero-shot.

    The report and all predictions are kept in `run/probe`.

    Args:
        run: a run folder; its `model/` is probed.
        task: a name out of `catalogue.TASKS`.
        root: the task's data.
        fractions: shares of the training part, each in (0, 1].
        seeds: draws per share below 1.
        protocol: a key of `PROTOCOLS`.
        splits: MERL's split tables, if labels and split shall come from there.
        features: other models' features by name, each an `.npz`; see `external.read_features`.
        baselines: keys of `BASELINES`, beside those that are always there.
        kept_in: where features are kept; `run/features` if None.
        watch: sees each batch go by while features are computed.

    Raises:
        UsageError: an unknown task or protocol, or impossible fractions or seeds.
        CheckpointError: the run's model can't be loaded.
        InputError: the data can't be used.
    """
    shares = _check_request(fractions, seeds, protocol, splits, baselines)
    asked = open_task(task, root, splits, by_position=protocol == "merl-positional")
    if protocol != "strict":
        asked = replace(asked, recordings=merl_view(asked.recordings))
    folder = run / "model"
    model = MarEcg.from_pretrained(folder).to("cuda" if torch.cuda.is_available() else "cpu")
    onto = ecg_ontology.load(folder / "ontology.json")
    sha256 = weights_sha256(model)
    methods = _methods(model, asked, baselines)
    found = extract(asked.recordings, methods, kept_in or run / "features", watch)
    found |= _read_all(features or {}, asked, found.keys())
    usable = _restrict(asked, found)
    x = {name: kept.x_RF[usable.row_M] for name, kept in found.items()}
    probes = {method.name: partial(strict, choose=method.choose) for method in methods}
    trials = {
        name: _probe(probes.get(name, strict) if protocol == "strict" else merl, x_MF, usable, shares, seeds)
        for name, x_MF in x.items()
    }
    test_M = usable.split_M == TEST
    if model.prototypes.any():
        trials["zero-shot"] = [zero_shot(model, x[REFERENCE][test_M], usable, onto)]
    assert weights_sha256(model) == sha256, "the probe changed the encoder"
    widths = {name: x_MF.shape[1] for name, x_MF in x.items()} | {"zero-shot": model.config.width}
    report = Report(
        task=asked.name,
        protocol=protocol,
        notes=PROTOCOLS[protocol],
        folds=asked.folds,
        window=asked.recordings.window,
        classes=asked.classes,
        records=_counts(usable, found),
        model=str(folder),
        model_sha256=sha256,
        ontology_sha256=onto.sha256,
        data_sha256=asked.recordings.sha256,
        task_sha256=usable.sha256,
        cells=summarise(trials, widths, usable.y_MK[test_M], asked.classes),
    )
    ids = tuple(asked.recordings.ids[row] for row in usable.row_M[test_M])
    _keep(run, report, predictions(ids, asked.classes, usable.y_MK[test_M], trials))
    return report


def _methods(model: MarEcg, task: Task, baselines: Collection[str]) -> tuple[Method, ...]:
    blank = random_encoder(model.config).to(model.prototypes.device)
    further = (BASELINES[name](task) for name in baselines)
    return encoder(REFERENCE, model), encoder("random encoder", blank), handcrafted(), *further


def _read_all(paths: Mapping[str, Path], task: Task, taken: Collection[str]) -> dict[str, Features]:
    for name in paths:
        if name in (*taken, "zero-shot"):
            raise UsageError(f"the name {name!r} is taken", remedy="Name the features otherwise: NAME=FILE")
    return {name: read_features(path, task.recordings) for name, path in paths.items()}


def _keep(run: Path, report: Report, kept: Predictions) -> None:
    name = f"{report.task}-{report.protocol}"
    save(run / "probe" / f"{name}.npz", kept)
    with replacing(run / "probe" / f"{name}.json") as temporary:
        temporary.write_text(report.model_dump_json(indent=2), encoding="utf-8")


def _check_request(
    fractions: tuple[float, ...],
    seeds: int,
    protocol: str,
    splits: Path | None,
    baselines: Collection[str],
) -> tuple[float, ...]:
    """The fractions in ascending order, each once."""
    if not fractions or not all(0 < fraction <= 1 for fraction in fractions):
        listed = " ".join(f"{fraction:g}" for fraction in fractions)
        raise UsageError(
            f"fractions {listed!r}: impossible",
            remedy="Give shares of the training records such as 0.01 0.1 1",
        )
    if seeds < 1:
        raise UsageError(f"seeds {seeds}: impossible", remedy="Give at least 1")
    if protocol not in PROTOCOLS:
        raise UsageError(f"there is no protocol {protocol!r}", remedy=f"Choose one of {', '.join(PROTOCOLS)}")
    if protocol == "merl-positional" and splits is None:
        raise UsageError("merl-positional reads MERL's split tables", remedy="Name their folder as --splits")
    for name in baselines:
        if name not in BASELINES:
            raise UsageError(f"there is no baseline {name!r}", remedy=f"Choose one of {', '.join(BASELINES)}")
    if baselines and protocol != "strict":
        raise UsageError(
            f"{', '.join(baselines)}: not measured by protocol {protocol}", remedy="Leave out --baseline"
        )
    return tuple(sorted(set(fractions)))


def _restrict(task: Task, found: Mapping[str, Features]) -> Task:
    """The task on those of its records that every method has features of."""
    unreadable = {record for features in found.values() for record in features.unreadable}
    return task.only(np.array([task.recordings.ids[row] not in unreadable for row in task.row_M], bool))


def _probe(
    protocol: Callable[..., Iterator[Trial]],
    x_MF: NDArray[np.float32],
    task: Task,
    fractions: tuple[float, ...],
    seeds: int,
) -> list[Trial]:
    try:
        return list(protocol(x_MF, task.y_MK, task.split_M, fractions, seeds))
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
