"""Component ablation: several recipes with several seeds, probed alike (Table component-ablation).

The recipes may be one with some values varied; equal are the records that they see, or their FLOPs.
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
"""Behind the name of a recipe that was cut to another's arithmetic."""


class ProbedRun(NamedTuple):
    """Run that was probed on a task: the arm's name, the run folder and the report."""

    arm: str
    folder: Path
    report: Report


class Arm(NamedTuple):
    """Row of the table: a recipe of adjusted length, and its graph (by default the corpus')."""

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
    """Train each recipe with each seed and probe all; `leaderboard.averaged` makes a table.

    Called again after an interruption, it goes on: a finished run is probed, a begun one resumed. Returns per
    run and task, recipes in their order and seeds ascending.

    Args:
        recipes: as for `marecg.recipes.by_name`, or `RECIPE@GRAPH`: the same corpus, its codes read by
            another graph; or recipes themselves. The first is what the others' FLOPs are held against.
        tasks: by task, or its name, the folder of its data.
        equal: what all recipes have alike: the records that they see, the FLOPs, or once the one and once the
            other.
        records: how many those are; what the recipes' epochs say if None.
        progress: shows each run's steps, features and fits go by, but not of runs side by side.

    Raises:
        UsageError: two recipes have one name, or one has no concepts where those are to be read.
        SourceError: a graph can't be read.
    """
    out, corpus = Path(out), Corpus.open(data)
    arms = _arms([_arm(recipe, settings) for recipe in recipes], equal, records, len(corpus))
    folders = {arm.graph: corpus.folder for arm in arms}
    for graph in filter(None, folders):
        place = out / "corpora" / graph.stem
        folders[graph] = relabelled(corpus, ecg_ontology.load(graph, corpus.profile), place).folder
    request = request or Request()
    untaught = [arm.name for arm in arms if arm.config.gscl is None]
    if request.readout == "concepts" and untaught:
        remedy = "Leave it out, or take probe.readout=beats"
        raise UsageError(f"{untaught[0]} trains without GSCL and has no concepts to read", remedy=remedy)
    cache: TrialCache = {}  # what isn't a run's own is fitted once by each process
    opened = [
        request.open(task_named(task) if isinstance(task, str) else task, root)
        for task, root in tasks.items()
    ]

    def run(arm: Arm, seed: int) -> list[ProbedRun]:
        name = re.sub(r"[^\w.=+@-]", "_", arm.name.replace(FLOPS, "-flops"))
        folder = out / f"{name}-seed{seed}"

        def labelled(what: str) -> AbstractContextManager[Tell]:
            return progress(f"{arm.name}, seed {seed}: {what}") if jobs == 1 else silent(what)

        config = override(arm.config, [f"train.seed={seed}"])
        train(config, folders[arm.graph], folder, progress=labelled, loggers=loggers)

        # One place for features: those that aren't run's own are computed for the first run alone.
        def probed(task: Sequence[Task]) -> Report:
            return earlier_report(folder, task, request) or evaluate(
                folder, task, request, features_in=out / "features", progress=labelled, cache=cache
            )

        return [ProbedRun(arm.name, folder, probed(task)) for task in opened]

    with nullcontext() if jobs == 1 else default_sigterm():
        runs = Parallel(n_jobs=jobs)(delayed(run)(arm, seed) for arm in arms for seed in range(seeds))
    return [probed for of_run in runs for probed in of_run]


def varied(config: Config, variations: Sequence[str]) -> list[Config]:
    """Return variations of a recipe, one per combination of values given as `KEY=1,2,3`, named after them.

    Raises `ConfigError` where a key is unknown or has no values, or a value is impossible.

    Example:
        >>> [each.name for each in varied(by_name("tiny"), ["gscl.sigma=0.5,1"])]
        ['tiny gscl.sigma=0.5', 'tiny gscl.sigma=1']
    """
    axes: list[list[Change]] = []
    for text in variations:
        key, _, listed = text.partition("=")
        if not listed:
            raise ConfigError("has no values", where=f"--vary {text}", remedy="Write KEY=1,2,3")
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
    """Return a run's existing report if model, task and options are still the same, else None."""
    path = folder / "probe" / f"{rotations[0].name}-{request.protocol.name}.json"
    if not (path.is_file() and path.with_suffix(".npz").is_file()):
        return None
    report = read_report(path)
    model = weights_sha256(MarEcg.from_pretrained(folder / "model"))
    usable = [task.without(report.records.unreadable) for task in rotations]
    same = (task_sha256(usable), request.as_json, model)
    return report if (report.task_sha256, report.request, report.model_sha256) == same else None


def _arm(asked: str | Config, settings: Sequence[str]) -> Arm:
    """A recipe, `RECIPE`, or `RECIPE@GRAPH` where a graph's file reads the corpus' codes."""
    if isinstance(asked, Config):
        return Arm(asked.name, override(asked, settings))
    recipe, _, graph = asked.rpartition("@")
    if recipe not in RECIPES and not (recipe and Path(graph).exists()):  # an @ of a file's own
        config = by_name(asked, settings)
        return Arm(config.name, config)
    config = by_name(recipe, settings)
    return Arm(f"{config.name}@{Path(graph).stem}", config, Path(graph))


def _arms(given: list[Arm], equal: Sequence[Equal], records: int | None, corpus: int) -> list[Arm]:
    """Return an arm per recipe and budget; one that equal FLOPs change by 5 % at most isn't repeated."""
    if twice := [name for name, count in Counter(arm.name for arm in given).items() if count > 1]:
        raise UsageError(f"the recipe {twice[0]} is named twice", remedy="Name it once, with more --seeds")
    first = given[0].config
    arms: list[Arm] = []
    for arm in given:
        alike = arm.config if records is None else equalled(arm.config, first, "records", records, corpus)
        if "records" in equal:
            arms.append(arm._replace(config=alike))
        if "flops" in equal:
            spent = equalled(arm.config, first, "flops", records or records_of(first, corpus), corpus)
            steps = (spent.train.max_steps or 0, alike.train.max_steps)
            same = arm is given[0] or (steps[1] is not None and abs(steps[0] / steps[1] - 1) <= 0.05)
            if not (same and "records" in equal):
                arms.append(Arm(arm.name + FLOPS, alike if same else spent, arm.graph))
    return arms


def records_of(config: Config, corpus: int) -> int:
    """Return the number of records, counted each time, that a recipe's steps read of a corpus of a size."""
    train = config.train
    step = train.records_per_step()
    steps = math.ceil(train.max_epochs * corpus / step)
    return step * min(steps, train.max_steps or steps)


def equalled(config: Config, reference: Config, equal: Equal, records: int, corpus: int) -> Config:
    """Return the recipe with as many steps as the reference's budget of `records` records allows.

    `equal` is the records themselves, or the FLOPs of all training steps together; `corpus` has so many.
    """
    train = config.train
    if equal == "flops":
        records = round(records * reference.step_flops() / config.step_flops())
    steps = max(1, round(records / train.records_per_step()))
    epochs = max(train.max_epochs, math.ceil(steps * train.records_per_step() / corpus))
    return override(config, [f"train.max_steps={steps}", f"train.max_epochs={epochs}"])


def cost_of(run: Path) -> dict[str, float | None]:
    """Return a run's cost: `records` read, `flops` of all steps, `seconds`; None if unknown.

    Seconds are wall time since the last resumption, where there was one.
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
