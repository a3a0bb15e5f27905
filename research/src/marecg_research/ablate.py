"""Compare recipes by training them with several seeds and probing the runs (Table component-ablation).

The recipes may be variations of a single recipe. All recipes are trained with the same budget: the same
number of records, or the same FLOPs. An arm is a recipe with a budget, and a row of the table.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

from joblib import Parallel, delayed

import ecg_ontology
from ecg_records.storage.documents import read_json
from marecg.base.progress import Progress, Tell, shown, silent
from marecg.corpus.derived import relabelled
from marecg.corpus.prepared import Corpus
from marecg.errors import ConfigError, UsageError
from marecg.evaluate.evaluation import TrialCache, evaluate
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.table import read_report
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Task, TaskDefinition, task_sha256
from marecg.model.card import Provenance
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.recipes import RECIPES, Config, by_name
from marecg.recipes.overrides import Change, override, parsed
from marecg.train.preemption import default_sigterm
from marecg.train.run import train

Equal = Literal["records", "flops"]
FLOPS = ", equal FLOPs"
"""Suffix of the name of a recipe that is trained with the FLOPs of the first recipe."""


class ProbedRun(NamedTuple):
    """Run that was probed on a task: name of the arm, folder of the run, and report of the probe."""

    arm: str
    folder: Path
    report: Report


class Arm(NamedTuple):
    """Row of the table: a recipe whose number of steps fits the budget, and the file of its graph.

    If the graph is None, codes are read with the graph of the corpus.
    """

    name: str
    config: Config
    graph: Path | None = None


def ablate(
    recipes: Sequence[str | Config],
    data: str | Path,
    out: str | Path,
    *,
    tasks: Mapping[str, Path] | Mapping[TaskDefinition, Path],
    request: Request | None = None,
    seeds: int = 1,
    equal: Sequence[Equal] = ("records",),
    records: int | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = shown,
    loggers: Sequence[str] = (),
) -> list[ProbedRun]:
    """Train each recipe with each seed, and probe all runs. `leaderboard.averaged` makes a table of them.

    After an interruption, call it again: finished runs are only probed, and an unfinished run is resumed.

    Args:
        recipes: recipes, or names as for `marecg.recipes.by_name`, or `RECIPE@GRAPH`. With a graph, the codes
            of the same corpus are read with this graph.
        data: prepared corpus.
        out: folder for the runs.
        tasks: folder of the data for each task, or for each name of a task.
        request: options of the probes.
        seeds: number of runs per recipe.
        equal: budgets that all recipes have in common: `records`, `flops` of the first recipe, or both in
            turn.
        records: number of records to train on, for the first recipe if FLOPs are equal. If None, it follows
            from the epochs of the recipe.
        settings: changes of all recipes.
        jobs: number of runs at the same time.
        progress: shows the progress of each run, if `jobs` is 1.
        loggers: as for `marecg.train.run.train`.

    Returns:
        A probed run for each run and task, in the order of recipes and seeds.

    Raises:
        UsageError: two recipes have the same name, or a recipe has no concepts but the readout needs them.
        SourceError: a graph can't be read.
    """
    out, corpus = Path(out), Corpus.open(data)
    arms = _arms([_arm(recipe, settings) for recipe in recipes], equal, records, len(corpus))
    folders = {arm.graph: corpus.folder for arm in arms}
    for graph in filter(None, folders):
        folder = out / "corpora" / graph.stem
        folders[graph] = relabelled(corpus, ecg_ontology.load(graph, corpus.profile), folder).folder
    request = request or Request()
    without_gscl = [arm.name for arm in arms if arm.config.gscl is None]
    if request.readout == "concepts" and without_gscl:
        problem = f"readout=concepts needs GSCL, but {without_gscl[0]} trains without it"
        raise UsageError(problem, remedy="Leave the recipe out, or use --readout beats")
    cache: TrialCache = {}  # fits that don't depend on the run are made once per process
    opened = [
        request.open(task_named(task) if isinstance(task, str) else task, root)
        for task, root in tasks.items()
    ]

    def run(arm: Arm, seed: int) -> list[ProbedRun]:
        name = re.sub(r"[^\w.=+@-]", "_", arm.name.replace(FLOPS, "-flops"))
        folder = out / f"{name}-seed{seed}"

        def labelled(title: str) -> AbstractContextManager[Tell]:
            return progress(f"{arm.name}, seed {seed}: {title}") if jobs == 1 else silent(title)

        config = override(arm.config, [f"train.seed={seed}"])
        train(config, folders[arm.graph], folder, progress=labelled, loggers=loggers)

        # All runs use one folder, so that features that don't depend on the run are computed once.
        def probed(task: Sequence[Task]) -> Report:
            return earlier_report(folder, task, request) or evaluate(
                folder, task, request, features_in=out / "features", progress=labelled, cache=cache
            )

        return [ProbedRun(arm.name, folder, probed(task)) for task in opened]

    with nullcontext() if jobs == 1 else default_sigterm():
        runs = Parallel(n_jobs=jobs)(delayed(run)(arm, seed) for arm in arms for seed in range(seeds))
    return [probed for of_run in runs for probed in of_run]


def varied(config: Config, variations: Sequence[str]) -> list[Config]:
    """Return a variation of a recipe for each combination of values. Values are given as `KEY=1,2,3`.

    The name of a variation contains its values. Raises `ConfigError` if a key is unknown or has no values, or
    if a value is invalid.

    Example:
        >>> [each.name for each in varied(by_name("tiny"), ["gscl.sigma=0.5,1"])]
        ['tiny gscl.sigma=0.5', 'tiny gscl.sigma=1']
    """
    axes: list[list[Change]] = []
    for text in variations:
        key, _, listed = text.partition("=")
        if not listed:
            raise ConfigError("must have values, got none", where=f"--vary {text}", remedy="Write KEY=1,2,3")
        values = parsed(f"[{listed}]")
        values = values if isinstance(values, list) else [parsed(text) for text in listed.split(",")]
        axes.append([Change(key, value, f"--vary {text}") for value in values])

    configs = []
    for changes in product(*axes):
        texts = (f"{key}={new if isinstance(new, str) else json.dumps(new)}" for key, new, _ in changes)
        name = " ".join((config.name, *texts))
        configs.append(override(config, [*changes, Change("name", name, "")]))
    return configs


def earlier_report(folder: Path, rotations: Sequence[Task], request: Request) -> Report | None:
    """Return a run's existing report, or None if model, task or options have changed."""
    path = folder / "probe" / f"{rotations[0].name}-{request.protocol.name}.json"
    if not (path.is_file() and path.with_suffix(".npz").is_file()):
        return None
    report = read_report(path)
    model = weights_sha256(MarEcg.from_pretrained(folder / "model"))
    usable = [task.without(report.records.unreadable) for task in rotations]
    same = (task_sha256(usable), request.as_json, model)
    return report if (report.task_sha256, report.request, report.model_sha256) == same else None


def _arm(source: str | Config, settings: Sequence[str]) -> Arm:
    """Return the arm of a recipe, which is given as a `Config`, by name, or as `RECIPE@FILE` with a graph."""
    if isinstance(source, Config):
        return Arm(source.name, override(source, settings))
    recipe, _, graph = source.rpartition("@")
    if recipe not in RECIPES and not (recipe and Path(graph).exists()):  # the name of a file may contain @
        config = by_name(source, settings)
        return Arm(config.name, config)
    config = by_name(recipe, settings)
    return Arm(f"{config.name}@{Path(graph).stem}", config, Path(graph))


def _arms(recipes: list[Arm], equal: Sequence[Equal], records: int | None, corpus: int) -> list[Arm]:
    """Return an arm for each recipe and budget.

    If equal records and equal FLOPs give a recipe numbers of steps that differ by at most 5 %, the recipe has
    a single arm.
    """
    if twice := [name for name, count in Counter(arm.name for arm in recipes).items() if count > 1]:
        problem = f"recipes must have different names, got {twice[0]} twice"
        raise UsageError(problem, remedy="Give it once, and use --seeds for more runs")
    first = recipes[0].config
    arms: list[Arm] = []
    for arm in recipes:
        alike = arm.config if records is None else equalled(arm.config, first, "records", records, corpus)
        if "records" in equal:
            arms.append(arm._replace(config=alike))
        if "flops" in equal:
            spent = equalled(arm.config, first, "flops", records or records_of(first, corpus), corpus)
            steps = (spent.train.max_steps or 0, alike.train.max_steps)
            same = arm is recipes[0] or (steps[1] is not None and abs(steps[0] / steps[1] - 1) <= 0.05)
            if not (same and "records" in equal):
                arms.append(Arm(arm.name + FLOPS, alike if same else spent, arm.graph))
    return arms


def records_of(config: Config, corpus: int) -> int:
    """Return the number of records that a recipe reads in all its steps, with repetitions.

    Args:
        config: the recipe.
        corpus: number of records in the corpus.
    """
    train = config.train
    step = train.records_per_step()
    steps = math.ceil(train.max_epochs * corpus / step)
    return step * min(steps, train.max_steps or steps)


def equalled(config: Config, reference: Config, equal: Equal, records: int, corpus: int) -> Config:
    """Return a recipe with the number of steps that a budget allows.

    Args:
        config: the recipe.
        reference: recipe that defines the FLOPs of the budget.
        equal: type of the budget. With `flops`, the budget is what the reference needs for `records` records.
        records: number of records.
        corpus: number of records in the corpus.
    """
    train = config.train
    if equal == "flops":
        records = round(records * reference.step_flops() / config.step_flops())
    steps = max(1, round(records / train.records_per_step()))
    epochs = max(train.max_epochs, math.ceil(steps * train.records_per_step() / corpus))
    return override(config, [f"train.max_steps={steps}", f"train.max_epochs={epochs}"])


def cost_of(run: Path) -> dict[str, float | None]:
    """Return a run's cost: `records` read, `flops` of all steps, and `seconds` of wall time.

    An unknown cost is None. If the run was resumed, the seconds are counted from the last resumption.
    """
    try:
        config = Config.model_validate(
            read_json(run / "config.json", "")["config"], context={"elsewhere": True}
        )
        fields = read_json(run / "model" / "config.json", "")["provenance"]
        provenance = Provenance.model_validate(fields)
    except (OSError, ValueError, KeyError, TypeError):
        return dict.fromkeys(("records", "flops", "seconds"))
    devices = int((provenance.devices or "1").partition(" ")[0])
    records = provenance.steps * config.train.records_per_step(devices)
    return {"records": records, "flops": records * config.step_flops(), "seconds": provenance.seconds}
