"""Rows of an ablation: means over a recipe's seeds, and differences from the first recipe.

Shapes: S draws of a share, over all runs; M test records, K classes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from marecg.evaluate.scores.metrics import RESAMPLES, Floats
from marecg.evaluate.scores.predictions import Predictions, bootstrap, load
from marecg.evaluate.scores.summary import ENCODER_METHODS, judged_by
from marecg.evaluate.table import FIGURES, ROW, VERSUS, lines, merged, share, tidy
from marecg.nn.collapse import COLLAPSED
from marecg_research.ablate import FLOPS, ProbedRun, cost_of

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
    """Return a figure per recipe and method, as the mean over the recipe's runs.

    Of several runs, `sd` is that over them (n − 1), without an interval. What doesn't depend on the run
    stands as it was measured, and once.
    """
    scores = tidy(line for probe in probed for line in lines(probe.arm, probe.report))
    figures = []
    for (_, _, method, *_), runs in scores.groupby([*ROW, "task", "fraction"], sort=False):
        alike = method not in ENCODER_METHODS and len(runs[FIGURES].drop_duplicates()) == 1
        mean = runs.iloc[[0]].assign(h_rank=runs["h_rank"].min())
        if len(runs) > 1 and not alike:
            auc = runs["macro_auc"]
            apart = dict.fromkeys(("low", "high", *VERSUS), np.nan)
            mean = mean.assign(macro_auc=auc.mean(), sd=auc.std(), **apart)
            mean = mean.assign(leaked_records=runs["leaked_records"].max(), seconds=runs["seconds"].sum())
        figures.append(mean)
    return merged(pd.concat([*figures, scores.iloc[:0]]).astype(scores.dtypes))


def standings(
    probed: Sequence[ProbedRun], wide: bool = False, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Return the differences of all recipes, in their order, from the first, by their default readout.

    Args:
        wide: whether the wide readout is compared, and not h_rhythm (or the mean of H where no loss reaches
            h_rhythm's pool).

    Returns:
        Of each its name (`recipe`), what was made `equal`, `runs`, the least effective `rank` of h_rhythm,
        whether its training saw records that judge it (`leaked`), what its runs took (`ablate.cost_of`),
        `means` by share (macro AUC in percent over tasks and runs), and `versus_first`: by task and share its
        macro AUC minus the first's, with the interval of paired resamples of the test records.
    """
    scores = averaged(probed)
    first: dict[Column, tuple[Predictions, Floats]] = {}
    standing: list[dict[str, Any]] = []
    for name in dict.fromkeys(probe.arm for probe in probed):
        runs = [probe for probe in probed if probe.arm == name]
        costs = [cost_of(folder) for folder in dict.fromkeys(run.folder for run in runs)]
        cells = _cells(runs, wide)
        of_run = scores[scores["group"] == name]
        row = of_run[of_run["method"] == judged_by(set(of_run["method"]), wide)]
        versus = [
            {
                "task": task,
                "fraction": at,
                **bootstrap(one.y_MK, logits_SMK, first[task, at][1], one.rotation_M, resamples).model_dump(),
            }
            for (task, at), (one, logits_SMK) in cells.items()
            if (task, at) in first and one.ids == first[task, at][0].ids
        ]
        first = first or cells
        standing.append(
            {
                "recipe": name.removesuffix(FLOPS),
                "equal": "flops" if name.endswith(FLOPS) else "records",
                "runs": len(costs),
                "rank": min(row["h_rank"].dropna().tolist(), default=None),
                "leaked": bool((row["leaked_records"].fillna(0) > 0).any()),
                **{kind: _total([cost[kind] for cost in costs]) for kind in costs[0]},
                "means": row.groupby("fraction")["macro_auc"].mean().to_dict(),
                "versus_first": versus,
            }
        )
    return standing


def heads_and_lines(standing: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the table's head and a line per recipe; columns of equal FLOPs only if there are such runs."""
    shares = sorted({at for one in standing for at in one["means"]})
    by_kind = {
        f"equal {title}": {one["recipe"]: one for one in standing if one["equal"] == kind}
        for kind, title in (("records", "records"), ("flops", "FLOPs"))
    }
    kinds = {kind: of_kind for kind, of_kind in by_kind.items() if of_kind}
    heads = ["recipe", "runs", *(f"{share(at)}, {kind}" for at in shares for kind in kinds)]
    heads += ["above / below the first", "records", "TFLOPs", "seconds", "rank of h_rhythm"]
    lines = []
    for name in dict.fromkeys(one["recipe"] for one in standing):
        one = next(of_kind[name] for of_kind in kinds.values() if name in of_kind)
        of_name = [of_kind.get(name, {"means": {}}) for of_kind in kinds.values()]
        means = [_text(row["means"].get(at), "{:.1f}") for at in shares for row in of_name]
        versus, runs, rank = one["versus_first"], one["runs"], one["rank"]
        above, below = sum(pair["low"] > 0 for pair in versus), sum(pair["high"] < 0 for pair in versus)
        costs = (("records", "{:,.0f}", 1), ("flops", "{:,.2f}", 1e12), ("seconds", "{:,.0f}", 1))
        fallen = " (collapsed)" if rank is not None and rank < COLLAPSED else ""
        lines.append(
            [
                f"{name}{'†' if one['leaked'] else ''}{fallen}",
                str(runs),
                *means,
                f"{above} / {below} of {len(versus)}" if versus else ABSENT,
                *(_text(one[kind] and one[kind] / runs / unit, how) for kind, how, unit in costs),
                _text(rank, "{:.1f}"),
            ]
        )
    return heads, lines


def _text(value: float | None, how: str) -> str:
    return ABSENT if value is None else how.format(value)


def _total(costs: Sequence[float | None]) -> float | None:
    """Return the cost of all runs together; None if one is unknown."""
    stated = [cost for cost in costs if cost is not None]
    return sum(stated) if len(stated) == len(costs) else None


def _cells(probed: Sequence[ProbedRun], wide: bool) -> dict[Column, tuple[Predictions, Floats]]:
    """Return test records and logits [S, M, K] of all runs of a recipe, by task and share."""
    cells: dict[Column, tuple[Predictions, Floats]] = {}
    for probe in probed:
        loaded = load(probe.folder / "probe" / f"{probe.report.task}-{probe.report.protocol}.npz")
        method = judged_by({name for name, _ in loaded.logits}, wide)
        for (name, at), logits_SMK in loaded.logits.items():
            if name == method:
                _, before_SMK = cells.get((probe.report.task, at), (loaded, logits_SMK[:0]))
                cells[probe.report.task, at] = loaded, np.concatenate([before_SMK, logits_SMK])
    return cells
