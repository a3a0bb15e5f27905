"""Summarise an ablation: means over each recipe's seeds, and differences from the first recipe.

Shapes: S draws of a share over all runs, M test records, K classes.
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
"""A task, and a share of its training records."""
NOTE = (
    "Macro AUC in percent, averaged over tasks and seeds, from h_rhythm, or from the mean of H if no loss "
    "trains h_rhythm's pool. Above and below: number of cells (tasks by shares) in which the 95 % interval "
    "of the paired difference from the first recipe is above or below zero. In all other cells, there is no "
    "significant difference. Records, TFLOPs and seconds are means over the runs with equal records."
)
ABSENT = "–"


def averaged(probed: Sequence[ProbedRun]) -> pd.DataFrame:
    """Return the scores of each recipe and method, averaged over the recipe's runs.

    If there are several runs, `sd` is the standard deviation over runs, and there is no interval. Scores that
    don't depend on the run, for example of baselines, are kept unchanged and listed once.
    """
    scores = tidy(line for probe in probed for line in lines(probe.arm, probe.report))
    figures = []
    for (_, _, method, *_), runs in scores.groupby([*ROW, "task", "fraction"], sort=False):
        alike = method not in ENCODER_METHODS and len(runs[FIGURES].drop_duplicates()) == 1
        mean = runs.iloc[[0]].assign(h_rank=runs["h_rank"].min())
        if len(runs) > 1 and not alike:
            auc = runs["macro_auc"]
            unknown = dict.fromkeys(("low", "high", *VERSUS), np.nan)
            mean = mean.assign(macro_auc=auc.mean(), sd=auc.std(), **unknown)
            mean = mean.assign(leaked_records=runs["leaked_records"].max(), seconds=runs["seconds"].sum())
        figures.append(mean)
    return merged(pd.concat([*figures, scores.iloc[:0]]).astype(scores.dtypes))


def standings(
    probed: Sequence[ProbedRun], wide: bool = False, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Compare all recipes with the first recipe.

    Args:
        probed: probed runs, in the order of the recipes.
        wide: compare the wide readout (`marecg.model.readout`). If False, compare h_rhythm, the pooled vector
            of a record, or the mean of the patch vectors H if no loss trains the pool.
        resamples: number of resamples of the test records.

    Returns:
        A dictionary per recipe:

        - `recipe`: its name.
        - `equal`: the common budget, `records` or `flops`.
        - `runs`: number of runs.
        - `rank`: smallest effective rank of h_rhythm, the number of directions in which records differ.
        - `leaked`: whether test records were in the training.
        - `records`, `flops`, `seconds`: total cost of the runs (`ablate.cost_of`).
        - `means`: macro AUC in percent for each share, averaged over tasks and runs.
        - `versus_first`: for each task and share, the difference of macro AUC from the first recipe, with its
          interval over paired resamples.
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
                "task": column[0],
                "fraction": column[1],
                **bootstrap(
                    tested.y_MK, logits_SMK, first[column][1], tested.rotation_M, resamples
                ).model_dump(),
            }
            for column, (tested, logits_SMK) in cells.items()
            if column in first and tested.ids == first[column][0].ids
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
    """Return the head of the table, and a line per recipe. Means have a column per share and budget.

    The budgets are equal records and equal FLOPs. A budget without recipes has no columns.
    """
    shares = sorted({fraction for row in standing for fraction in row["means"]})
    by_budget = {
        f"equal {title}": {row["recipe"]: row for row in standing if row["equal"] == budget}
        for budget, title in (("records", "records"), ("flops", "FLOPs"))
    }
    budgets = {budget: rows for budget, rows in by_budget.items() if rows}
    heads = ["recipe", "runs", *(f"{share(fraction)}, {budget}" for fraction in shares for budget in budgets)]
    heads += ["above / below the first", "records", "TFLOPs", "seconds", "rank of h_rhythm"]
    lines = []
    for name in dict.fromkeys(row["recipe"] for row in standing):
        first = next(rows[name] for rows in budgets.values() if name in rows)
        of_name = [rows.get(name, {"means": {}}) for rows in budgets.values()]
        means = [_text(row["means"].get(fraction), "{:.1f}") for fraction in shares for row in of_name]
        versus, runs, rank = first["versus_first"], first["runs"], first["rank"]
        above, below = sum(pair["low"] > 0 for pair in versus), sum(pair["high"] < 0 for pair in versus)
        costs = (("records", "{:,.0f}", 1), ("flops", "{:,.2f}", 1e12), ("seconds", "{:,.0f}", 1))
        collapsed = " (collapsed)" if rank is not None and rank < COLLAPSED else ""
        lines.append(
            [
                f"{name}{'†' if first['leaked'] else ''}{collapsed}",
                str(runs),
                *means,
                f"{above} / {below} of {len(versus)}" if versus else ABSENT,
                *(_text(first[cost] and first[cost] / runs / unit, form) for cost, form, unit in costs),
                _text(rank, "{:.1f}"),
            ]
        )
    return heads, lines


def _text(value: float | None, form: str) -> str:
    return ABSENT if value is None else form.format(value)


def _total(costs: Sequence[float | None]) -> float | None:
    """Return the total cost of all runs, or None if the cost of a run is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _cells(probed: Sequence[ProbedRun], wide: bool) -> dict[Column, tuple[Predictions, Floats]]:
    """Return the test records, and the logits [S, M, K] of all runs of a recipe, by task and share."""
    cells: dict[Column, tuple[Predictions, Floats]] = {}
    for probe in probed:
        loaded = load(probe.folder / "probe" / f"{probe.report.task}-{probe.report.protocol}.npz")
        method = judged_by({name for name, _ in loaded.logits}, wide)
        for (name, fraction), logits_SMK in loaded.logits.items():
            if name == method:
                column = (probe.report.task, fraction)
                _, before_SMK = cells.get(column, (loaded, logits_SMK[:0]))
                cells[column] = loaded, np.concatenate([before_SMK, logits_SMK])
    return cells
