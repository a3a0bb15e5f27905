"""The rows of an ablation: means over the seeds of a recipe, and how each stands against the first.

Shapes: R resamples of the test records, S draws of a share, M test records, K classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from marecg.evaluate.ablate import FLOPS, ProbedRun
from marecg.evaluate.cost import Cost, cost_of
from marecg.evaluate.scores import predictions
from marecg.evaluate.scores.metrics import RESAMPLES, Floats, macro_auc, resampled_macro_auc
from marecg.evaluate.scores.predictions import Predictions
from marecg.evaluate.scores.results import Difference
from marecg.evaluate.scores.summary import OWN, difference, judged_by, spread
from marecg.evaluate.table import Column, Row, Value, measured_rows, merged


def averaged(probed: Sequence[ProbedRun]) -> list[Row]:
    """The rows of `marecg.evaluate.table`, one per recipe and method: means over the recipe's runs.

    Of several runs, `sd` is that over them (n − 1) and there is no interval. What doesn't depend on the run
    stands as it was measured, and once.
    """
    rows = []
    for recipe, folders in _runs(probed).items():
        runs = [
            measured_rows(
                (folder, report) for name, place, report in probed if (name, place) == (recipe, folder)
            )
            for folder in folders
        ]
        for row in runs[0]:
            alike = [each for run in runs for each in run if each.method == row.method]
            values = {
                column: _mean([each.values[column] for each in alike if column in each.values], row.method)
                for column in row.values
            }
            ranks = [each.rank for each in alike if each.rank is not None]
            rows.append(replace(row, group=recipe, values=values, rank=min(ranks, default=None)))
    return sorted(merged(rows), key=lambda row: not row.group)


@dataclass(frozen=True)
class Standing:
    """How a recipe stands: one row, by the vector that it has of a record.

    Attributes:
        name: the recipe, as it was asked for.
        flops: whether the arithmetic was made equal, and not the records.
        runs: how many seeds.
        means: by share, the macro AUC in percent averaged over tasks and runs.
        differences: by task and share, its macro AUC minus that of the first recipe, with the interval of
            paired resamples of the test records; of the first itself none.
        cost: of all its runs together; None where a folder doesn't tell.
        rank: the least effective rank of h_rhythm.
        leaked: whether it was pretrained on records that judge it.
    """

    name: str
    flops: bool
    runs: int
    means: dict[float, float]
    differences: dict[Column, Difference]
    cost: Cost | None
    rank: float | None
    leaked: bool

    @property
    def apart(self) -> tuple[int, int]:
        """In how many cells the whole interval lies above the first recipe, and in how many below."""
        intervals = self.differences.values()
        return sum(one.low > 0 for one in intervals), sum(one.high < 0 for one in intervals)


def standings(probed: Sequence[ProbedRun], wide: bool = False, resamples: int = RESAMPLES) -> list[Standing]:
    """Every recipe against the first, in their order.

    Args:
        probed: what `ablate` returned.
        wide: whether the wide readout is compared, and not h_rhythm (or the mean of H where no loss reaches
            h_rhythm's pool).
        resamples: of the test records.
    """
    rows = [row for row in averaged(probed) if row.group]
    runs = _runs(probed)
    first: dict[Column, _Resampled] = {}
    standing: list[Standing] = []
    for name, folders in runs.items():
        cells = _resampled([one for one in probed if one.arm == name], wide, resamples)
        first = first or cells
        own = [row for row in rows if row.group == name]
        method = judged_by([row.method for row in own], wide)
        row = next(row for row in own if row.method == method)
        shares = sorted({share for _, share in row.values})
        standing.append(
            Standing(
                name=name.removesuffix(FLOPS),
                flops=name.endswith(FLOPS),
                runs=len(folders),
                means={
                    share: float(
                        np.mean([value.mean for (_, at), value in row.values.items() if at == share])
                    )
                    for share in shares
                },
                differences=_against(cells, first) if standing else {},
                cost=_together([cost_of(folder) for folder in folders]),
                rank=row.rank,
                leaked=any(value.leaked for value in row.values.values()),
            )
        )
    return standing


@dataclass(frozen=True)
class _Resampled:
    """The macro AUC of a recipe's runs in one cell: on the test records `ids`, and on resamples of them."""

    ids: tuple[str, ...]
    mean: float
    auc_R: Floats


def _resampled(probed: Sequence[ProbedRun], wide: bool, resamples: int) -> dict[Column, _Resampled]:
    cells: dict[Column, tuple[Predictions, list[Floats]]] = {}
    for _, folder, report in probed:
        loaded = predictions.load(folder / "probe" / f"{report.task}-{report.protocol}.npz")
        method = judged_by({name for name, _ in loaded.logits}, wide)
        for (name, share), logits_SMK in loaded.logits.items():
            if name == method:
                cells.setdefault((report.task, share), (loaded, []))[1].append(logits_SMK)
    return {
        column: _Resampled(
            loaded.ids,
            float(np.mean([macro_auc(loaded.y_MK, x_MK, loaded.rotation_M) for run in runs for x_MK in run])),
            resampled_macro_auc(loaded.y_MK, np.concatenate(runs), resamples, loaded.rotation_M),
        )
        for column, (loaded, runs) in cells.items()
    }


def _against(one: dict[Column, _Resampled], first: dict[Column, _Resampled]) -> dict[Column, Difference]:
    return {
        column: difference(cell.mean - first[column].mean, cell.auc_R, first[column].auc_R)
        for column, cell in one.items()
        if column in first and cell.ids == first[column].ids
    }


def _together(costs: Sequence[Cost | None]) -> Cost | None:
    complete = [cost for cost in costs if cost is not None]
    if len(complete) < len(costs):
        return None
    seconds = [cost.seconds for cost in complete if cost.seconds is not None]
    return Cost(
        sum(cost.records for cost in complete),
        sum(cost.flops for cost in complete),
        sum(seconds) if len(seconds) == len(complete) else None,
    )


def _runs(probed: Sequence[ProbedRun]) -> dict[str, list[Path]]:
    """By recipe, its run folders."""
    runs: dict[str, list[Path]] = {}
    for name, folder, _ in probed:
        if folder not in runs.setdefault(name, []):
            runs[name].append(folder)
    return runs


def _mean(values: Sequence[Value], method: str) -> Value:
    first = values[0]
    if len(values) == 1 or (method not in OWN and all(value == first for value in values)):
        return first
    over_runs = spread(np.array([value.mean for value in values]))
    leaks = [value.leaked for value in values if value.leaked is not None]
    seconds = [value.seconds for value in values if value.seconds is not None]
    return replace(
        first,
        mean=over_runs.mean,
        sd=over_runs.sd,
        interval=None,
        leaked=max(leaks, default=None),
        seconds=sum(seconds) if seconds else None,
    )
