"""The rows of an ablation: means over the seeds of a recipe, and how each stands against the first.

Shapes: S draws of a share, over all runs; M test records, K classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from marecg.evaluate.ablate import FLOPS, ProbedRun
from marecg.evaluate.cost import Cost, cost_of
from marecg.evaluate.scores.metrics import RESAMPLES, Floats
from marecg.evaluate.scores.predictions import Predictions, bootstrap, load
from marecg.evaluate.scores.results import AucDifference
from marecg.evaluate.scores.summary import OWN, judged_by
from marecg.evaluate.table import FIGURES, ROW, VERSUS, lines, merged, share, tidy
from marecg.nn.collapse import COLLAPSED

Column = tuple[str, float]
"""A task and a share of its training records."""
NOTE = (
    "Macro AUC in percent, averaged over tasks and seeds, from h_rhythm, or from the mean of H where no loss "
    "trains h_rhythm's pool. Above and below: in how many cells (tasks by shares) the 95 % interval of the "
    "paired difference to the first recipe lies wholly on one side of zero; in the others the two can't be "
    "told apart. Records, TFLOPs and seconds are those of a run with equal records, the mean over seeds."
)
ABSENT = "–"


def averaged(probed: Sequence[ProbedRun]) -> pd.DataFrame:
    """The frame of `marecg.evaluate.table`, a figure per recipe and method: the mean over the recipe's runs.

    Of several runs, `sd` is that over them (n − 1), without an interval. What doesn't depend on the run
    stands as it was measured, and once.
    """
    scores = tidy(line for each in probed for line in lines(each.arm, each.report))
    figures = []
    for (_, _, method, *_), runs in scores.groupby([*ROW, "task", "fraction"], sort=False):
        alike = method not in OWN and len(runs[FIGURES].drop_duplicates()) == 1
        mean = runs.iloc[[0]].assign(h_rank=runs["h_rank"].min())
        if len(runs) > 1 and not alike:
            auc = runs["macro_auc"]
            apart = dict.fromkeys(("low", "high", *VERSUS), np.nan)
            mean = mean.assign(macro_auc=auc.mean(), sd=auc.std(), **apart)
            mean = mean.assign(leaked_records=runs["leaked_records"].max(), seconds=runs["seconds"].sum())
        figures.append(mean)
    return merged(pd.concat([*figures, scores.iloc[:0]]).astype(scores.dtypes))


@dataclass(frozen=True)
class Standing:
    """How a recipe stands: one row, by the vector that it has of a record.

    Attributes:
        name: the recipe, as it was asked for.
        flops: whether the arithmetic was made equal, and not the records.
        means: by share, the macro AUC in percent averaged over tasks and runs.
        differences: by task and share, its macro AUC minus that of the first recipe, with the interval of
            paired resamples of the test records; of the first itself none.
        cost: of all its runs together; None where a folder doesn't tell.
        leaked: whether it was pretrained on records that judge it.
    """

    name: str
    flops: bool
    runs: int
    means: dict[float, float]
    differences: dict[Column, AucDifference]
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
        wide: whether the wide readout is compared, and not h_rhythm (or the mean of H where no loss reaches
            h_rhythm's pool).
    """
    scores = averaged(probed)
    first: dict[Column, tuple[Predictions, Floats]] = {}
    standing: list[Standing] = []
    for name in dict.fromkeys(each.arm for each in probed):
        runs = [each for each in probed if each.arm == name]
        folders = list(dict.fromkeys(each.folder for each in runs))
        cells = _cells(runs, wide)
        first = first or cells
        own = scores[scores["group"] == name]
        row = own[own["method"] == judged_by(set(own["method"]), wide)]
        ranks = row["h_rank"].dropna()
        standing.append(
            Standing(
                name=name.removesuffix(FLOPS),
                flops=name.endswith(FLOPS),
                runs=len(folders),
                means=row.groupby("fraction")["macro_auc"].mean().to_dict(),
                differences={
                    column: bootstrap(one.y_MK, logits_SMK, first[column][1], one.rotation_M, resamples)
                    for column, (one, logits_SMK) in cells.items()
                    if standing and column in first and one.ids == first[column][0].ids
                },
                cost=_total([cost_of(folder) for folder in folders]),
                rank=None if ranks.empty else float(ranks.min()),
                leaked=bool((row["leaked_records"].fillna(0) > 0).any()),
            )
        )
    return standing


def heads_and_lines(standings: Sequence[Standing]) -> tuple[list[str], list[list[str]]]:
    """One line per recipe; without runs of equal FLOPs those columns are left out."""
    shares = sorted({at for one in standings for at in one.means})
    by_kind = {
        kind: {one.name: one for one in standings if one.flops == flops}
        for kind, flops in (("equal records", False), ("equal FLOPs", True))
    }
    kinds = [(kind, of_kind) for kind, of_kind in by_kind.items() if of_kind]
    heads = ["recipe", "runs", *(f"{share(at)}, {kind}" for at in shares for kind, _ in kinds)]
    heads += ["above / below the first", "records", "TFLOPs", "seconds", "rank of h_rhythm"]
    lines = []
    for name in dict.fromkeys(one.name for one in standings):
        one = next(of_kind[name] for _, of_kind in kinds if name in of_kind)
        means = [_mean(of_kind.get(name), at) for at in shares for _, of_kind in kinds]
        fallen = one.rank is not None and one.rank < COLLAPSED
        shown = name + ("†" if one.leaked else "") + (" (collapsed)" if fallen else "")
        apart = "{} / {} of {}".format(*one.apart, len(one.differences)) if one.differences else ABSENT
        rank = ABSENT if one.rank is None else f"{one.rank:.1f}"
        lines.append([shown, str(one.runs), *means, apart, *_cost(one.cost, one.runs), rank])
    return heads, lines


def _mean(one: Standing | None, at: float) -> str:
    return f"{one.means[at]:.1f}" if one and at in one.means else ABSENT


def _cost(cost: Cost | None, runs: int) -> list[str]:
    if cost is None:
        return [ABSENT] * 3
    seconds = ABSENT if cost.seconds is None else f"{cost.seconds / runs:,.0f}"
    return [f"{cost.records / runs:,.0f}", f"{cost.flops / runs / 1e12:,.2f}", seconds]


def _cells(probed: Sequence[ProbedRun], wide: bool) -> dict[Column, tuple[Predictions, Floats]]:
    """By task and share the test records, and the logits [S, M, K] of all runs of a recipe."""
    cells: dict[Column, tuple[Predictions, Floats]] = {}
    for each in probed:
        loaded = load(each.folder / "probe" / f"{each.report.task}-{each.report.protocol}.npz")
        method = judged_by({name for name, _ in loaded.logits}, wide)
        for (name, at), logits_SMK in loaded.logits.items():
            if name == method:
                _, before_SMK = cells.get((each.report.task, at), (loaded, logits_SMK[:0]))
                cells[each.report.task, at] = loaded, np.concatenate([before_SMK, logits_SMK])
    return cells


def _total(costs: Sequence[Cost | None]) -> Cost | None:
    """What all runs took together; None where one doesn't tell."""
    complete = [cost for cost in costs if cost is not None]
    seconds = [cost.seconds for cost in complete if cost.seconds is not None]
    if len(complete) < len(costs):
        return None
    return Cost(
        sum(cost.records for cost in complete),
        sum(cost.flops for cost in complete),
        sum(seconds) if len(seconds) == len(costs) else None,
    )
