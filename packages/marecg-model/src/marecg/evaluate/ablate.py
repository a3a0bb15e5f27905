"""The component ablation: several recipes, several seeds, one probe, one table (Table component-ablation)."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from joblib import Parallel, delayed

import ecg_ontology
from marecg.base.errors import UsageError
from marecg.base.progress import Progress, Tell, shown, silent
from marecg.corpus.derived import relabelled
from marecg.corpus.prepared import Corpus
from marecg.evaluate.cost import Equal, equalled, records_of
from marecg.evaluate.evaluation import TrialCache, evaluate
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.table import read_report
from marecg.evaluate.tasks.task import Task, task_sha256
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.recipes import RECIPES, Config, by_name
from marecg.recipes.overrides import override
from marecg.train.preemption import left_to_others
from marecg.train.run import train

_UNUSUAL = re.compile(r"[^\w.=+@-]")
"""What no folder is called by; a recipe's name may hold whatever it was varied by."""
FLOPS = ", equal FLOPs"
"""Behind the name of a recipe that was cut to another's arithmetic."""
NEARLY = 0.05
"""A run whose steps FLOPs would change by no more than this is not trained twice."""


class ProbedRun(NamedTuple):
    """One run probed on one task: the arm's name, the run folder and the report."""

    arm: str
    folder: Path
    report: Report


@dataclass(frozen=True)
class Arm:
    """A row of the table: a recipe, cut to size, and the graph that reads its codes.

    Attributes:
        name: as it was asked for, and what is equal where that is not the records.
        config: the recipe.
        graph: a graph's file; that of the corpus if None.
    """

    name: str
    config: Config
    graph: Path | None = None

    @classmethod
    def named(cls, asked: str | Config, settings: Sequence[str]) -> "Arm":
        """A recipe, `RECIPE`, or `RECIPE@GRAPH` where a graph's file reads the corpus' codes."""
        if isinstance(asked, Config):
            return cls(asked.name, override(asked, settings))
        recipe, _, graph = asked.rpartition("@")
        if recipe not in RECIPES and not (recipe and Path(graph).exists()):  # an @ of a file's own
            config = by_name(asked, settings)
            return cls(config.name, config)
        config = by_name(recipe, settings)
        return cls(f"{config.name}@{Path(graph).stem}", config, Path(graph))

    def seeded(self, seed: int, out: Path) -> tuple["Arm", Path]:
        """With a seed, and the folder of that run."""
        folder = self.name.replace(FLOPS, "-flops")
        config = override(self.config, [f"train.seed={seed}"])
        return Arm(self.name, config, self.graph), out / f"{_UNUSUAL.sub('_', folder)}-seed{seed}"


def ablate(
    recipes: Sequence[str | Config],
    data: str | Path,
    out: str | Path,
    *,
    tasks: Mapping[str, Path],
    request: Request | None = None,
    seeds: int = 1,
    equal: Sequence[Equal] = ("records",),
    records: int | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = shown,
    loggers: Sequence[str] = (),
) -> list[ProbedRun]:
    """Train each recipe with each seed and probe them all; `leaderboard.averaged` makes a table of it.

    Called again after an interruption, it goes on: a finished run is probed, a begun one resumed.

    Args:
        recipes: as for `marecg.recipes.by_name`, or `RECIPE@GRAPH`: the same corpus, its codes read by
            another graph; or recipes themselves. The first is what the others' FLOPs are held against.
        equal: what all recipes have alike: the records that they see, the FLOPs, or once the one and once the
            other.
        records: how many those are; what the recipes' epochs say if None.
        progress: shows each run's steps, features and fits go by, but not of runs side by side.
        loggers: where each run is followed beside metrics.csv; see `marecg.train.run.train`.

    Returns:
        Per run and task, recipes in their order and seeds ascending.

    Raises:
        UsageError: two recipes have one name.
        SourceError: a graph can't be read.
    """
    out, corpus = Path(out), Corpus.open(data)
    arms = _arms([Arm.named(each, settings) for each in recipes], equal, records, len(corpus))
    folders = {each.graph: corpus.folder for each in arms}
    for graph in filter(None, folders):
        place = out / "corpora" / graph.stem
        folders[graph] = relabelled(corpus, ecg_ontology.load(graph, corpus.profile), place).folder
    request = request or Request()
    cache: TrialCache = {}  # what isn't a run's own is fitted once by each process
    rotations = {task: request.open(task, root) for task, root in tasks.items()}

    def run(arm: Arm, seed: int) -> list[ProbedRun]:
        seeded, folder = arm.seeded(seed, out)
        label = f"{arm.name}, seed {seed}"

        def labelled(what: str) -> AbstractContextManager[Tell]:
            return progress(f"{label}: {what}") if jobs == 1 else silent(what)

        train(seeded.config, folders[arm.graph], folder, progress=labelled, loggers=loggers)

        # One place for features: those that aren't run's own are computed for the first run alone.
        def probed(task: str) -> Report:
            return earlier_report(folder, rotations[task], request) or evaluate(
                folder,
                task,
                tasks[task],
                request,
                features_in=out / "features",
                progress=labelled,
                cache=cache,
            )

        return [ProbedRun(arm.name, folder, probed(task)) for task in tasks]

    with nullcontext() if jobs == 1 else left_to_others():
        runs = Parallel(n_jobs=jobs)(delayed(run)(each, seed) for each in arms for seed in range(seeds))
    return [probed for of_run in runs for probed in of_run]


def earlier_report(folder: Path, rotations: Sequence[Task], request: Request) -> Report | None:
    """The report that the run has already, if it answers the very same question."""
    path = folder / "probe" / f"{rotations[0].name}-{request.protocol.name}.json"
    if not (path.is_file() and path.with_suffix(".npz").is_file()):
        return None
    report = read_report(path)
    model = weights_sha256(MarEcg.from_pretrained(folder / "model"))
    usable = [task.without(report.records.unreadable) for task in rotations]
    same = (task_sha256(usable), request.as_json, model)
    return report if (report.task_sha256, report.request, report.model_sha256) == same else None


def _arms(named: list[Arm], equal: Sequence[Equal], records: int | None, corpus: int) -> list[Arm]:
    """One per recipe and what is equal; one that FLOPs leave nearly as it is stands there once."""
    if twice := [name for name, count in Counter(each.name for each in named).items() if count > 1]:
        raise UsageError(f"the recipe {twice[0]} is named twice", remedy="Name it once, with more --seeds")
    first = named[0].config
    arms: list[Arm] = []
    for each in named:
        alike = each.config if records is None else equalled(each.config, first, "records", records, corpus)
        if "records" in equal:
            arms.append(Arm(each.name, alike, each.graph))
        if "flops" in equal:
            spent = equalled(each.config, first, "flops", records or records_of(first, corpus), corpus)
            same = each is named[0] or _as_long(spent, alike)
            if not (same and "records" in equal):
                arms.append(Arm(each.name + FLOPS, alike if same else spent, each.graph))
    return arms


def _as_long(one: Config, other: Config) -> bool:
    steps = [config.train.max_steps for config in (one, other)]
    return None not in steps and abs(steps[0] / steps[1] - 1) <= NEARLY  # type: ignore[operator]
