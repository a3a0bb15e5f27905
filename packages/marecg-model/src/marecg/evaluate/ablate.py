"""The component ablation: several recipes, several seeds, one probe, one table (Table component-ablation)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from marecg.errors import UsageError
from marecg.evaluate.evaluation import TrialCache, evaluate
from marecg.evaluate.methods.method import Progress, unwatched
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import OWN, spread
from marecg.evaluate.table import Row, Value, measured_rows, merged
from marecg.overrides import override
from marecg.recipes import Config, by_name
from marecg.train.callbacks import Watch
from marecg.train.run import train

Watching = Callable[[str], AbstractContextManager[Watch]]
"""Opens what is told of a run's steps, under the run's name."""


def unseen(_what: str) -> AbstractContextManager[Watch]:
    """Nobody looks, as where several runs side by side would write over each other."""
    return nullcontext(lambda step, steps, note: None)


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
    watch: Watching = unseen,
    passing: Progress = unwatched,
    loggers: Sequence[str] = (),
) -> list[tuple[str, Path, Report]]:
    """Train each recipe with each seed and probe them all; `averaged` makes a table of it.

    Called again after an interruption, it goes on: a finished run is probed, a begun one resumed.

    Args:
        recipes: as for `marecg.recipes.by_name`.
        data: the prepared corpus to train on.
        out: a folder for the runs, one each.
        task, root, fractions: see `marecg.evaluate.evaluation.evaluate`.
        seeds: runs per recipe, seeded 0, 1, …
        settings: `key=value` for every recipe alike.
        jobs: runs side by side.
        watch: is opened for each run that is trained.
        passing: sees each batch of features and each fit go by, under the run's name.
        loggers: where each run is followed beside metrics.csv; see `marecg.train.run.train`.

    Returns:
        Per run, recipes in their order and seeds ascending: the recipe, the run folder, the probe's report.

    Raises:
        UsageError: two recipes have one name.
    """
    out = Path(out)
    chosen = [override(by_name(recipe), settings) for recipe in recipes]
    if twice := [name for name, count in Counter(config.name for config in chosen).items() if count > 1]:
        raise UsageError(f"the recipe {twice[0]} is named twice", remedy="Name it once, with more --seeds")
    known: TrialCache = {}  # what is no run's own is fitted once by each process

    def run(config: Config) -> tuple[str, Path, Report]:
        seed = config.train.seed
        label, folder = f"{config.name}, seed {seed}", out / f"{config.name}-seed{seed}"
        with watch(f"{label}: steps") as tell:
            train(config, data, folder, watch=tell, loggers=loggers)

        def passed(steps: Iterable[Any], what: str) -> Iterable[Any]:
            return passing(steps, f"{label}: {what}")

        # One place for features: those that are no run's own are computed for the first run alone.
        report = evaluate(
            folder,
            task,
            Path(root),
            Request(fractions),
            kept_in=out / "features",
            watch=passed,
            known=known,
        )
        return config.name, folder, report

    return list(
        Parallel(n_jobs=jobs)(
            delayed(run)(override(config, [f"train.seed={seed}"]))
            for config in chosen
            for seed in range(seeds)
        )
    )


def averaged(found: Sequence[tuple[str, Path, Report]]) -> list[Row]:
    """The rows of `marecg.evaluate.table`, one per recipe and method: means over the recipe's runs.

    Of several runs, `sd` is that over them (n − 1) and there is no interval. What doesn't depend on the run
    stands as it was measured, and once.
    """
    rows = []
    for recipe in dict.fromkeys(name for name, _, _ in found):
        runs = [measured_rows([(folder, report)]) for name, folder, report in found if name == recipe]
        for row in runs[0]:
            alike = [each for run in runs for each in run if each.method == row.method]
            values = {
                column: _mean([each.values[column] for each in alike if column in each.values], row.method)
                for column in row.values
            }
            rows.append(replace(row, group=recipe, values=values))
    return sorted(merged(rows), key=lambda row: not row.group)


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
