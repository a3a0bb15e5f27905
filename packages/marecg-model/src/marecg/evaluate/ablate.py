"""The component ablation: several recipes, several seeds, one probe, one table (Table component-ablation)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from marecg.evaluate.evaluation import evaluate
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import ENCODER, OWN, spread
from marecg.overrides import override
from marecg.recipes import Config, by_name
from marecg.train.run import train


@dataclass(frozen=True)
class AblationRow:
    """One method at one share of the probe's training records.

    Attributes:
        method: a recipe, or what stands beside it in the probe.
        fraction: the share.
        macro_auc: mean over the pretraining seeds; `sd` (n − 1), None where there was one.
        runs: how many runs that is.
    """

    method: str
    fraction: float
    macro_auc: float
    sd: float | None
    runs: int


def ablate(
    recipes: Sequence[str],
    data: str | Path,
    out: str | Path,
    *,
    task: str,
    root: str | Path,
    fractions: tuple[float, ...] = (0.01, 0.1, 1.0),
    seeds: int = 1,
    settings: Sequence[str] = (),
    jobs: int = 1,
) -> list[AblationRow]:
    """Train each recipe with each seed, probe them all, and average over the seeds.

    Called again after an interruption, it goes on: a finished run is probed, a begun one resumed.

    Args:
        recipes: names out of `marecg.recipes.RECIPES`.
        data: the prepared corpus to train on.
        out: a folder for the runs, one each.
        task, root, fractions: see `marecg.evaluate.evaluation.evaluate`.
        seeds: runs per recipe, seeded 0, 1, …
        settings: `key=value` for every recipe alike.
        jobs: runs side by side.
    """
    out = Path(out)
    configs = [
        override(by_name(recipe), [*settings, f"train.seed={seed}"])
        for recipe in recipes
        for seed in range(seeds)
    ]
    reports = Parallel(n_jobs=jobs)(
        delayed(_run)(config, Path(data), out, task, Path(root), fractions) for config in configs
    )
    return summarise(list(zip([config.name for config in configs], reports, strict=True)))


def summarise(reports: Sequence[tuple[str, Report]]) -> list[AblationRow]:
    """Average the probed encoders of each recipe; what stands beside them follows once, over all runs."""
    scores: dict[tuple[str, float], list[float]] = {}
    for recipe, report in reports:
        for cell in report.cells:
            name = recipe if cell.method == ENCODER else cell.method
            name = f"{recipe} {cell.method}" if cell.method in OWN and cell.method != ENCODER else name
            scores.setdefault((name, cell.fraction), []).append(cell.macro_auc.mean)
    rows = []
    for (method, fraction), values in scores.items():
        over_runs = spread(np.array(values))
        rows.append(AblationRow(method, fraction, over_runs.mean, over_runs.sd, len(values)))
    return rows


def _run(
    config: Config, data: Path, out: Path, task: str, root: Path, fractions: tuple[float, ...]
) -> Report:
    run = out / f"{config.name}-seed{config.train.seed}"
    train(config, data, run)
    # One place for features: those that are no run's own are computed for the first run alone.
    return evaluate(run, task, root, Request(fractions), kept_in=out / "features")
