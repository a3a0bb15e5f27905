"""Store the logits of probes on the test records, and compare the macro AUCs of runs.

DeLong's test follows DeLong, DeLong & Clarke-Pearson 1988, doi:10.2307/2531595, with the midranks of Sun & Xu
2014, doi:10.1109/LSP.2014.2337313. The variance of an AUC is a sum of squared contributions of records. A
macro AUC, a mean over seeds and a difference of methods are linear in the AUCs. So each record's
contributions are added before they are squared. The sum then includes all covariances between classes, seeds
and methods.

A fraction is the share of a task's training records that a probe was fitted on. `rotation_M` is the number of
the rotation (split of the folds) in which each record was tested, or None if there is a single split.

Shapes: M test records, K classes, S seeds, P positives and N negatives of a class.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from ecg_base import replacing
from marecg.base.numbers import npz_arrays, refuse_impossible
from marecg.errors import InputError, UsageError
from marecg.evaluate.scores.metrics import (
    RELIABLE_COUNT,
    RESAMPLES,
    Floats,
    Rotations,
    mean_macro_auc,
    resampled_macro_auc,
    rotated,
    scorable,
)
from marecg.evaluate.scores.results import AucDifference
from marecg.evaluate.scores.summary import Trial, difference

PairedTest = Literal["bootstrap", "delong"]
"""Method for the interval and the p-value of a difference: resamples of the records, or DeLong's test."""


@dataclass(frozen=True)
class Predictions:
    """Predictions from which a report's numbers are computed.

    Attributes:
        ids: names of the M test records.
        classes: names of the K classes.
        y_MK: labels.
        logits: logits [S, M, K] of S seeds, by method and fraction.
        reference: method that the other methods are compared with.
        rotation_M: number of the split in which each record was tested, int64. None for a single split.
    """

    ids: tuple[str, ...]
    classes: tuple[str, ...]
    y_MK: NDArray[np.uint8]
    logits: dict[tuple[str, float], Floats]
    reference: str
    rotation_M: Rotations = None


def predictions(
    ids: tuple[str, ...],
    classes: tuple[str, ...],
    y_MK: NDArray[np.uint8],
    trials: Mapping[str, Sequence[Trial]],
    reference: str,
    rotation_M: Rotations = None,
) -> Predictions:
    """Collect the logits of the trials of each method.

    Along the axis S of the logits, trials with the same method and fraction keep their order.
    """
    logits: dict[tuple[str, float], list[Floats]] = {}
    for method, drawn in trials.items():
        for trial in drawn:
            logits.setdefault((method, trial.fraction), []).append(trial.logits_MK)
    stacked = {cell: np.stack(logits_SMK) for cell, logits_SMK in logits.items()}
    return Predictions(ids, classes, y_MK, stacked, reference, rotation_M)


def save(path: Path, predictions: Predictions) -> None:
    """Write an `.npz`. The logits of a method and a fraction are the array `METHOD @ FRACTION`."""
    arrays: dict[str, Any] = {
        f"{method} @ {fraction:g}": logits for (method, fraction), logits in predictions.logits.items()
    }
    names = {"ids": predictions.ids, "classes": predictions.classes, "reference": predictions.reference}
    arrays |= {name: np.array(value) for name, value in names.items()}
    if predictions.rotation_M is not None:
        arrays["rotation"] = predictions.rotation_M
    with replacing(path, private=True) as temporary:
        np.savez_compressed(temporary, y=predictions.y_MK, **arrays)


def load(path: Path) -> Predictions:
    """Read predictions from an `.npz` written by `save`. Raises `InputError` if it is missing or damaged."""
    try:
        with npz_arrays(path, "Probe the run again") as arrays:
            cells = [name.rpartition(" @ ") for name in arrays.files if " @ " in name]
            loaded = Predictions(
                ids=tuple(arrays["ids"].tolist()),
                classes=tuple(arrays["classes"].tolist()),
                y_MK=arrays["y"],
                logits={(method, float(share)): arrays[f"{method} @ {share}"] for method, _, share in cells},
                reference=str(arrays["reference"]),
                rotation_M=arrays["rotation"] if "rotation" in arrays.files else None,
            )
    except FileNotFoundError as error:
        available = ", ".join(sorted(file.stem for file in path.parent.glob("*.npz")))
        task, _, protocol = path.stem.rpartition("-")
        remedy = (
            f"Choose {available} by --task and --protocol" if available else "Run marecg probe on it first"
        )
        problem = f"has no probe of task {task} by protocol {protocol}"
        raise InputError(problem, where=path.parent.parent, remedy=remedy) from error
    refuse_impossible(loaded.y_MK, "y", path, "Probe the run again", least=0, most=1)
    for (method, share), logits_SMK in loaded.logits.items():
        refuse_impossible(logits_SMK, f"{method} @ {share:g}", path, "Probe the run again")
    return loaded


def compare(
    first: Predictions, second: Predictions, test: PairedTest = "bootstrap"
) -> dict[float, AucDifference]:
    """Return `first` minus `second` by fraction: the difference of the macro AUCs of the reference methods.

    Fractions that only one of the reports has are left out. The interval and the p-value come from paired
    resamples of the records, or from DeLong's test. Raises `UsageError` if records, classes, labels or splits
    of the reports differ, or if the reports have no fraction in common.
    """
    same = (
        (first.ids, first.classes) == (second.ids, second.classes)
        and np.array_equal(first.y_MK, second.y_MK)
        and np.array_equal(first.rotation_M, second.rotation_M)  # type: ignore[arg-type]
    )
    shares = [share for name, share in first.logits if name == first.reference]
    pairs = {
        share: (first.logits[first.reference, share], second.logits.get((second.reference, share)))
        for share in shares
    }
    shared = {share: (ours, theirs) for share, (ours, theirs) in pairs.items() if theirs is not None}
    if not same or not shared:
        problem = (
            "have no fraction in common" if same else "were measured on different test records or labels"
        )
        raise UsageError(f"the two runs {problem}", remedy="Probe both with the same options")
    paired = {"bootstrap": bootstrap, "delong": delong}[test]
    return {
        share: paired(first.y_MK, ours, theirs, first.rotation_M) for share, (ours, theirs) in shared.items()
    }


class Difference(NamedTuple):
    """Difference of two runs on a task.

    Attributes:
        task: name of the task.
        other: run that the first run is compared with.
        by_fraction: macro AUC of the first run minus macro AUC of the other run, by fraction.
        scarce: classes with few positives or few negatives in test, from `scarce`.
    """

    task: str
    other: Path
    by_fraction: dict[float, AucDifference]
    scarce: dict[str, int]


def differences(
    runs: Sequence[Path], tasks: Sequence[str], protocol: str, test: PairedTest = "bootstrap"
) -> Iterator[Difference]:
    """Yield the differences between the first run and every other run on `tasks`.

    If `tasks` is empty, all tasks are compared that every run was probed on by the protocol named `protocol`.
    Raises `UsageError` for fewer than two runs, `InputError` if there is no such task, and the errors of
    `load` and `compare`.
    """
    if len(runs) < 2:
        raise UsageError("--compare needs at least two runs")
    for task, other in product(tasks or _shared_tasks(runs, protocol), runs[1:]):
        name = f"probe/{task}-{protocol}.npz"
        first = load(runs[0] / name)
        yield Difference(task, other, compare(first, load(other / name), test), scarce(first))


def _shared_tasks(runs: Sequence[Path], protocol: str) -> list[str]:
    """Return the tasks on which all runs were probed by a protocol. Raises `InputError` if there are none."""
    ending = f"-{protocol}"
    tasks = [{path.stem.removesuffix(ending) for path in run.glob(f"probe/*{ending}.npz")} for run in runs]
    if not (shared := set.intersection(*tasks)):
        listed = [
            f"{run}: {', '.join(sorted(names)) or 'none'}" for run, names in zip(runs, tasks, strict=True)
        ]
        problem = f"the runs share no task of protocol {protocol} ({'; '.join(listed)})"
        raise InputError(problem, remedy="Probe all of them on the same task")
    return sorted(shared)


def scarce(predictions: Predictions) -> dict[str, int]:
    """Return the classes with few positives or few negatives in test, from 1 to `RELIABLE_COUNT` − 1.

    The key is the class, and the value is the number of positives or of negatives, whichever is smaller.
    Classes without positives or without negatives are left out, because they have no AUC.
    """
    positives_K = predictions.y_MK.sum(axis=0, dtype=np.int64)
    fewer_K = np.minimum(positives_K, len(predictions.y_MK) - positives_K)
    return {
        name: int(n) for name, n in zip(predictions.classes, fewer_K, strict=True) if 0 < n < RELIABLE_COUNT
    }


def bootstrap(
    y_MK: NDArray[np.uint8],
    first_SMK: Floats,
    second_SMK: Floats,
    rotation_M: Rotations = None,
    resamples: int = RESAMPLES,
) -> AucDifference:
    """Return first minus second macro AUC, averaged over seeds, with both on the same bootstrap resamples."""
    runs = (first_SMK, second_SMK)
    first, second = (mean_macro_auc(y_MK, run, rotation_M) for run in runs)
    resampled = (resampled_macro_auc(y_MK, run, resamples, rotation_M) for run in runs)
    return difference(first - second, *resampled)


CENTRAL = float(norm.ppf(0.975))


def delong(
    y_MK: NDArray[np.uint8], first_SMK: Floats, second_SMK: Floats, rotation_M: Rotations = None
) -> AucDifference:
    """Return first minus second macro AUC, averaged over seeds, with interval and p-value of DeLong's test.

    The test measures the variance over test records for fixed probes. If a class has a single positive, the
    spread among its positives can't be measured and counts as zero. The same holds for negatives.
    """
    rotations = rotated(rotation_M)
    means, added = [], []
    for rows in rotations:
        (first, first_M), (second, second_M) = (
            _macro(y_MK[rows], logits_SMK[:, rows]) for logits_SMK in (first_SMK, second_SMK)
        )
        means.append(first - second)
        added.append((first_M - second_M) / len(rotations))
    mean, sd = float(np.mean(means)), float(np.linalg.norm(np.concatenate(added)))
    p = 2 * float(norm.sf(abs(mean) / sd)) if sd else float(mean == 0)
    return AucDifference(mean=mean, low=mean - CENTRAL * sd, high=mean + CENTRAL * sd, p=p)


def contributions(y_M: NDArray[np.uint8], logits_M: Floats) -> tuple[float, Floats]:
    """Return a class's AUC, and contributions of the records, float64 [M].

    The variance of the AUC is the sum of the squared contributions.
    """
    positive_M = y_M == 1
    positives, negatives = int(positive_M.sum()), int((~positive_M).sum())
    rank_M = rankdata(logits_M)
    below_P = (rank_M[positive_M] - rankdata(logits_M[positive_M])) / negatives
    above_N = 1 - (rank_M[~positive_M] - rankdata(logits_M[~positive_M])) / positives
    auc = float(below_P.mean())
    added_M = np.zeros(len(y_M))
    added_M[positive_M] = (below_P - auc) / np.sqrt(positives * max(positives - 1, 1))
    added_M[~positive_M] = (above_N - auc) / np.sqrt(negatives * max(negatives - 1, 1))
    return auc, added_M


def _macro(y_MK: NDArray[np.uint8], logits_SMK: Floats) -> tuple[float, Floats]:
    """Return the AUC and the contributions of records, both averaged over seeds and scorable classes."""
    by_class = [
        contributions(y_MK[:, k], logits_MK[:, k])
        for logits_MK in logits_SMK
        for k in np.flatnonzero(scorable(y_MK))
    ]
    return float(np.mean([auc for auc, _ in by_class])), np.mean([added_M for _, added_M in by_class], axis=0)
