"""Probes of several runs on several tasks, which share the features and fits of baselines."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from marecg.errors import InputError, UsageError
from marecg.evaluate.evaluation import TrialCache, evaluate
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.tasks.task import TaskDefinition
from marecg.model.names import installed


def probe_many(
    runs: Sequence[str | Path],
    tasks: Mapping[TaskDefinition, Path],
    request: Request,
    features: Mapping[str, Path] | None = None,
    *,
    out: Path | None = None,
    features_in: Path | None = None,
) -> Iterator[tuple[Path, Report | InputError]]:
    """Probe every run on every task, and yield each report or its error, with the folder of the run.

    Features and fits that don't depend on a run are computed once. The features are kept in a single folder,
    by default the first run's. With several tasks, an `InputError` of a task is yielded instead of raised.
    """
    homes = _homes(runs, out)
    shared = features_in or ((homes[0] or Path(runs[0])) / "features" if len(runs) > 1 else None)
    models: Sequence[str | Path | None] = runs or (None,)
    cache: TrialCache = {}
    for run, home in zip(models, homes, strict=True):
        for definition, root in tasks.items():
            report: Report | InputError
            try:
                task = request.open(definition, root)
                report = evaluate(
                    run, task, request, features=features, out=home, features_in=shared, cache=cache
                )
            except InputError as error:
                if len(tasks) == 1:
                    raise
                report = error
            yield home or Path(run or ""), report


def _homes(runs: Sequence[str | Path], out: Path | None) -> list[Path | None]:
    """Return the folder for each run's reports; None is the run folder itself.

    With several runs, `out` has a folder for each run, by the run's name.
    """
    if len(runs) < 2:
        return [out]
    if out is None:
        if bare := [run for run in runs if installed(str(run))]:
            problem = f"{bare[0]} isn't a run, so its report has no place"
            raise UsageError(problem, remedy="Name a folder as --out")
        return [None] * len(runs)
    names = [Path(run).name for run in runs]
    if len(set(names)) < len(names):
        problem = f"runs must have different names, got {', '.join(names)}"
        raise UsageError(problem, remedy="Omit --out, or rename a run")
    return [out / name for name in names]
