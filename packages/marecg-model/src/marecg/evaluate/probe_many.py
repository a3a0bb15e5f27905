"""Several runs on several tasks: the paper's table, measured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from marecg.base.errors import InputError, UsageError
from marecg.evaluate.evaluation import TrialCache
from marecg.evaluate.scores.results import Report

ProbeOne = Callable[..., Report]
"""`evaluation.evaluate` with everything filled in but run, task, root, out, features_in and cache."""


def probe_many(
    runs: Sequence[str | Path],
    tasks: Mapping[str, Path],
    probe_one: ProbeOne,
    refused: Callable[[InputError], None],
    *,
    out: Path | None = None,
    features_in: Path | None = None,
) -> Iterator[tuple[Path, Report]]:
    """Probe every run on every task; each report comes with the folder that it was kept in.

    What no run owns is computed and fitted once: its features are kept in one place, by default the first
    run's.

    Args:
        runs: run folders, or other names as for `MarEcg.from_pretrained`; none where only other models'
            features are judged.
        tasks: by name, the folder of their data.
        probe_one: probes one run on one task.
        refused: called when a task can't be asked of the records at hand, if there are further ones.
        out: where the report goes; the run folder if None.
        features_in: where features are kept.

    Raises:
        UsageError: several runs and one place for their reports.
        InputError: the only task can't be asked.
    """
    if out is not None and len(runs) > 1:
        raise UsageError("several runs can't be kept in one --out", remedy="Leave it out, or name one run")
    shared = features_in or (Path(runs[0]) / "features" if len(runs) > 1 else None)
    models: Sequence[str | Path | None] = runs or (None,)
    cache: TrialCache = {}
    for run in models:
        for task, root in tasks.items():
            try:
                report = probe_one(run, task, root, out=out, features_in=shared, cache=cache)
            except InputError as error:
                if len(tasks) == 1:
                    raise
                refused(error)
            else:
                yield out or Path(run or ""), report
