"""Run the experiment on the graph. The scores of each base, regime and seed are stored in a file.

A base is a trained encoder, which stays frozen. An arm is a graph with which heads are trained on the
features of a base. A regime defines which codes of the training records are used. σ is the width of the soft
targets.

Shapes: A arms, M records, N concepts, F features.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_base import guarded, replacing, write_text
from ecg_ontology import Kind, Ontology
from marecg.base.progress import Progress, passing, shown
from marecg.corpus.prepared import Corpus, read_about
from marecg.corpus.trained_on import signals_sha256
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of, weights_sha256
from marecg_research import perturb
from marecg_research.graph.arms import REAL, SHUFFLE, GraphArm, arms, members
from marecg_research.graph.branches import planned, trained_branches
from marecg_research.graph.endpoints import FEW_K, IN_TURN, LEFT_OUT
from marecg_research.graph.few_records import cross_fitted, in_turn
from marecg_research.graph.heads import unit
from marecg_research.graph.records import Design, Hierarchy, Regime, Split
from marecg_research.graph.tested import Tested

RARE, TESTED = 40, 10
"""Maximum number of training records of a rare leaf, and minimum number of positives for testing a leaf."""
FLOOR_SIGMA = 0.5
"""σ of `floor_shuffles`, the many shuffled graphs without which p can't be small after Holm's correction."""


class Experiment(NamedTuple):
    """Results of the experiment.

    Attributes:
        scores: scores by base, regime, seed, arm, σ, step and metric.
        leaves: numbers of records of each concept.
    """

    scores: pd.DataFrame
    leaves: pd.DataFrame


def controls_of(real: Ontology, design: Design) -> dict[str, Ontology]:
    """Return the control graphs: shuffles, a flat graph, and a graph without edges between siblings."""
    count = max(design.shuffles, design.floor_shuffles if design.floor_seeds else 0)
    controls = {f"{SHUFFLE} {seed}": perturb.shuffled(real, seed) for seed in range(count)}
    return controls | {"flat": perturb.flat(real), "no siblings": perturb.without(real, [Kind.sibling])}


def experiment(
    bases: Sequence[Path],
    data: Path,
    out: Path,
    design: Design,
    root: Path | None = None,
    progress: Progress = shown,
    *,
    any_base: bool = False,
) -> Experiment:
    """Train and score heads of all arms on all bases, then branches. Existing scores in `out` are reused.

    Args:
        bases: runs or models that differ only in their seed.
        data: prepared corpus.
        out: folder for scores. Bases, seeds and branches can be added later. Any other change of the settings
            needs a new folder.
        design: design of the experiment. The first `design.shuffles` shuffled graphs are in every regime.
        root: folder of PTB-XL, whose hierarchy is needed for severity and nDCG; None to leave them out.
        progress: shows progress.
        any_base: allow bases that were trained on other records. They may have been trained on test records.
    """
    corpus = Corpus.open(data)
    split, onto = Split.of(corpus, design.test_source), corpus.ontology()
    controls = controls_of(onto, design)
    models = _alike(bases, corpus, any_base=any_base)
    support = _support(corpus, split)
    y_MN = corpus.y[split.teach]
    usual = {name: graph for name, graph in controls.items() if _number(name) < design.shuffles}
    graphs = arms(onto, usual, design.sigmas, y_MN, design.random_families)
    settings = {
        "corpus": read_about(corpus.folder),
        "test": [design.test_source, len(split.test)],
        "arms": [[arm.name, arm.graph.sha256, str(arm.sigma)] for arm in graphs],
        "marks": list(design.steps),
        "hierarchy": root is not None,
    }
    _same_settings(out, settings)
    encoders = planned(split, design, controls, out) if design.branch_steps else []
    with replacing(out / "leaves.csv") as temporary:
        support.map(guarded).to_csv(temporary, index=False)
    names = [node.abbr for node in onto.nodes]
    rare = support.index[support["rare"]].tolist()
    hierarchy = Hierarchy.of(split, root) if root else None
    left_out = [concept for concept, name in enumerate(names) if name in LEFT_OUT]
    kernel_NN = np.exp(-onto.distances.astype(float) / FLOOR_SIGMA)
    kernel_NN /= kernel_NN.sum(1, keepdims=True)
    tested = Tested(corpus.y[split.test], names, rare, hierarchy, members(onto), left_out, kernel_NN)

    def features(base: int) -> list[NDArray[np.float32]]:
        return split.features(models[base], out / "features", progress)

    def run(base: int, regime: Regime, seed: int, graphs: Sequence[GraphArm]) -> pd.DataFrame:
        taught = split.taught(split.teach, regime, seed, left_out)
        held = split.taught(split.held_out, "left-out" if regime == "left-out" else "all", seed, left_out)
        rows = unit(features(base), (taught, held), graphs, tested, y_MN, design.steps, seed)
        return pd.DataFrame(rows).assign(regime=regime, seed=seed)

    counts: dict[Regime, int] = dict.fromkeys(("all", "left-out", "few", "coarse"), design.regime_seeds)
    counts["all"] = design.seeds
    plan = [
        (base, regime, seed)
        for regime, n in counts.items()
        for seed in range(n)
        for base in range(len(bases))
    ]
    frames = []
    for base, regime, seed in passing(plan, "heads", progress):
        path = out / "scores" / f"{weights_sha256(models[base])[:12]}-{regime}-seed{seed}.parquet"
        frames.append(_kept(path, lambda: run(base, regime, seed, graphs)).assign(base=base))  # noqa: B023 (at once)
    floor = [(base, seed) for seed in range(design.floor_seeds) for base in range(len(bases))]
    many = {name: graph for name, graph in controls.items() if _number(name) < math.inf}
    shuffles = arms(onto, many, [FLOOR_SIGMA], y_MN) if floor else []
    shuffles = [arm for arm in shuffles if arm.name == REAL or arm.name in many]
    for base, seed in passing(floor, "shuffles", progress):
        path = out / "scores" / f"{weights_sha256(models[base])[:12]}-floor{len(many)}-seed{seed}.parquet"
        rows = _kept(path, lambda: run(base, "all", seed, shuffles))  # noqa: B023 (at once)
        frames.append(rows[rows["arm"].str.startswith((REAL, SHUFFLE))].assign(base=base, regime="floor"))
    turned = support.index[support["tested"] & (support["taught"] > 0)].tolist()
    further: dict[str, Callable[[int, int], pd.DataFrame]] = {
        IN_TURN: lambda base, seed: in_turn(features(base), split, graphs, tested, turned, seed),
        FEW_K: lambda base, seed: cross_fitted(
            features(base)[2], split, graphs, tested, seed, design.kept_records
        ),
    }
    for name, compute in further.items():
        count = {IN_TURN: design.turn_seeds, FEW_K: design.kept_draws}[name]
        for base, seed in passing(
            [(base, seed) for seed in range(count) for base in range(len(bases))], name, progress
        ):
            path = (
                out / "scores" / f"{weights_sha256(models[base])[:12]}-{name.strip(' =')}-seed{seed}.parquet"
            )
            frames.append(_kept(path, lambda: compute(base, seed)).assign(base=base))  # noqa: B023 (at once)
    if design.branch_steps:
        frames.append(trained_branches(bases, encoders, split, tested, out, design.branch_steps, progress))
    return Experiment(pd.concat(frames, ignore_index=True), support)


def _kept(path: Path, compute: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Return the rows in a file. If the file doesn't exist, compute and write them."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            compute().to_parquet(temporary)
    return pd.read_parquet(path)


def _number(control: str) -> float:
    """Return the number of a shuffle, or minus infinity for another control."""
    prefix, _, number = control.partition(" ")
    return int(number) if prefix == SHUFFLE else -math.inf


def _alike(bases: Sequence[Path], corpus: Corpus, *, any_base: bool = False) -> list[MarEcg]:
    """Load the models of the bases. Raises `UsageError` if they can't be compared."""
    models = [MarEcg.from_pretrained(folder_of(base), ontology=corpus.ontology()) for base in bases]
    signals = signals_sha256(corpus)
    for base, model in zip(bases, models, strict=True):
        if any_base:  # the number of phases doesn't change the parts of the readout
            same = model.config.model_copy(update={"phases": models[0].config.phases})
        else:
            same = model.config
        if same != models[0].config:
            problem = f"must have the same model config as {bases[0]}"
            raise UsageError(problem, where=base, remedy="Give bases of the same recipe")
        if not any_base and model.provenance and model.provenance.signals not in (None, signals):
            problem = f"must be trained on {corpus.folder}, because it may know test records otherwise"
            raise UsageError(problem, where=base, remedy="Train it on this corpus, or use --any-base")
    return models


def _support(corpus: Corpus, split: Split) -> pd.DataFrame:
    """Return for each concept its name, its family, and its numbers of records.

    `teaching` is the number of training and held-out records, `taught` the number of training records, and
    `testing` the number of test records. A rare leaf has `teaching` of at most `RARE`.

    Raises `UsageError` if no rare leaf can be tested.
    """
    onto, coded = corpus.ontology(), np.concatenate([split.teach, split.held_out])
    table = pd.DataFrame(
        {
            "of": [node.abbr for node in onto.nodes],
            "family": [onto.nodes[root].abbr for root in onto.families],
            "teaching": corpus.y[coded].sum(0, dtype=int),
            "taught": corpus.y[split.teach].sum(0, dtype=int),
            "testing": corpus.y[split.test].sum(0, dtype=int),
        }
    )
    table["tested"] = table["testing"] >= TESTED
    table["rare"] = table["tested"] & (table["teaching"] <= RARE)
    if not table["rare"].any():
        problem = (
            f"a finding with at most {RARE} training records must have at least {TESTED} "
            f"of the {len(split.test)} test records, but there is none"
        )
        raise UsageError(problem, where=corpus.folder, remedy="Prepare more records of the test source")
    return table


def _same_settings(out: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings into a folder. Raises `UsageError` if it contains other settings."""
    path, text = out / "settings.json", json.dumps(settings, indent=1)
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        problem = "contains an experiment with other settings"
        raise UsageError(problem, where=out, remedy="Give another folder")
    out.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
