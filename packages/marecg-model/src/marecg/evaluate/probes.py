"""Probe several runs on several tasks. The runs share the features and fits of baselines."""

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
    """Probe every run on every task. Yield each report with the folder whose subfolder `probe` contains it.

    Features and fits that don't depend on a run are computed once. With several tasks, an `InputError` of a
    task is yielded instead of raised.

    Args:
        runs: run folders; may be empty if there are `features`.
        tasks: tasks with the folders of their data.
        request: options of the probes.
        features: files with features of other models, by name.
        out: folder of the reports, with a subfolder for each run if there are several. The run folders if
            None.
        features_in: folder in which features are stored. With several runs, the default is `features` in
            the folder of the first run's reports.
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
    """Return the folder for each run's reports. None stands for the run folder.

    With several runs, `out` contains a folder for each run, with the name of the run.
    """
    if len(runs) < 2:
        return [out]
    if out is None:
        if models := [run for run in runs if installed(str(run))]:
            problem = f"--out must name a folder, because {models[0]} isn't a run folder"
            raise UsageError(problem, remedy="Give a folder as --out")
        return [None] * len(runs)
    names = [Path(run).name for run in runs]
    if len(set(names)) < len(names):
        problem = f"runs must have different names, got {', '.join(names)}"
        raise UsageError(problem, remedy="Leave out --out, or rename a run")
    return [out / name for name in names]
