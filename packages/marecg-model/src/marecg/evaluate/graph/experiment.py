"""The whole experiment: every base, regime and seed is one run, kept as a file of tidy rows.

Shapes: A arms, M records, N concepts, F features.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from ecg_ontology import Ontology, replacing
from marecg.base.errors import UsageError
from marecg.base.progress import Progress, passing, shown
from marecg.corpus.prepared import Corpus, read_about
from marecg.corpus.trained_on import signals_sha256
from marecg.evaluate.graph.branches import planned, trained_branches
from marecg.evaluate.graph.heads import Heads, Row, Tested, closed, scored, trained
from marecg.evaluate.graph.records import Design, Hierarchy, Regime, Split, arms
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of, weights_sha256

LEFT_OUT = ("1AVB", "LBBB", "AntMI", "STD", "PVC", "RBBB")
"""Leaves without which a regime is trained, and on which it is tested."""
RARE, TESTED = 40, 10
"""Teaching records that a rare leaf has at most, and positives that a leaf needs to be tested."""


def experiment(
    bases: Sequence[Path],
    data: Path,
    out: Path,
    design: Design,
    controls: Mapping[str, Ontology],
    root: Path | None = None,
    progress: Progress = shown,
) -> pd.DataFrame:
    """Train and score the heads of every arm on every base, then the branches; called again, it goes on.

    Bases are runs or models that were trained alike, but for their seed. Bases, seeds and branches may be
    added later, other settings are refused. `root` is PTB-XL's folder, for its hierarchy; without it there is
    neither severity nor nDCG. Returns a row per base, regime, seed, arm, σ, step and figure; `leaves.csv` in
    `out` says how many records teach and test each leaf.
    """
    corpus = Corpus.open(data)
    split, onto = Split.of(corpus, design.test_source), corpus.ontology()
    models = _alike(bases, corpus)
    graphs = arms(onto, controls, design.sigmas)
    settings = {
        "corpus": read_about(corpus.folder),
        "test": [design.test_source, len(split.test)],
        "arms": [[arm.name, arm.graph.sha256, str(arm.sigma)] for arm in graphs],
        "marks": list(design.steps),
        "hierarchy": root is not None,
    }
    _same_settings(out, settings)
    encoders = planned(split, design, controls, out) if design.branch_steps else []
    support = _support(corpus, split)
    with replacing(out / "leaves.csv") as temporary:
        support.to_csv(temporary, index=False)
    names = [node.abbr for node in onto.nodes]
    rare = support.index[support["rare"]].tolist()
    hierarchy = Hierarchy.of(split, root) if root else None
    tested = Tested(corpus.y[split.test], names, rare, hierarchy)
    propagate_ANN = torch.from_numpy(np.stack([arm.propagation() for arm in graphs]))
    left_out = [place for place, name in enumerate(names) if name in LEFT_OUT]

    def run(base: int, regime: Regime, seed: int) -> pd.DataFrame:
        features = split.features(models[base], out / "features", progress)
        teach_MF, held_MF, test_MF = map(torch.from_numpy, features)
        taught = split.taught(split.teach, regime, seed, left_out)
        held = split.taught(split.held_out, "left-out" if regime == "left-out" else "all", seed, left_out)
        target_AMN, held_AMN = (
            torch.from_numpy(np.stack([arm.targets(one.y_MN, one.root_M) for arm in graphs]))
            for one in (taught, held)
        )
        heads = Heads(propagate_ANN, teach_MF.shape[1], seed)
        rows: list[Row] = []
        x_MF, labels_MN = teach_MF[taught.row_M], torch.from_numpy(taught.y_MN)
        for mark in trained(heads, x_MF, target_AMN, labels_MN, design.steps, seed):
            figures = list(scored(heads, graphs, test_MF, tested))
            with torch.no_grad():
                closed_A = closed(heads.log_q(held_MF[held.row_M]), held_AMN, target_AMN.mean(1))
            figures += [
                {"arm": arm.name, "sigma": arm.sigma, "metric": "closed", "of": "", "value": float(share)}
                for arm, share in zip(graphs, closed_A, strict=True)
            ]
            rows += [{"regime": regime, "seed": seed, "step": mark, **row} for row in figures]
        return pd.DataFrame(rows)

    counts: dict[Regime, int] = dict.fromkeys(("all", "left-out", "few", "coarse"), design.regime_seeds)
    counts["all"] = design.seeds
    plan = [
        (at, regime, seed) for regime, n in counts.items() for seed in range(n) for at in range(len(bases))
    ]
    frames = []
    for at, regime, seed in passing(plan, "heads", progress):
        path = out / "scores" / f"{weights_sha256(models[at])[:12]}-{regime}-seed{seed}.parquet"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary:
                run(at, regime, seed).to_parquet(temporary)
        frames.append(pd.read_parquet(path).assign(base=at))
    if design.branch_steps:
        frames.append(trained_branches(bases, encoders, split, tested, out, design.branch_steps, progress))
    return pd.concat(frames, ignore_index=True)


def _alike(bases: Sequence[Path], corpus: Corpus) -> list[MarEcg]:
    """The bases' models, if they can be compared."""
    models = [MarEcg.from_pretrained(folder_of(base), ontology=corpus.ontology()) for base in bases]
    signals = signals_sha256(corpus)
    for base, model in zip(bases, models, strict=True):
        if model.config != models[0].config:
            raise UsageError(
                f"has another shape than {bases[0]}", where=base, remedy="Give bases of one shape"
            )
        if model.provenance and model.provenance.signals not in (None, signals):
            problem = "was trained on another corpus, so what it knows of the test records is another matter"
            raise UsageError(problem, where=base, remedy=f"Train it on {corpus.folder}")
    return models


def _support(corpus: Corpus, split: Split) -> pd.DataFrame:
    """Per concept: name and family, how many records teach and test it, and whether it is rare."""
    onto, coded = corpus.ontology(), np.concatenate([split.teach, split.held_out])
    table = pd.DataFrame(
        {
            "of": [node.abbr for node in onto.nodes],
            "family": [onto.nodes[root].abbr for root in onto.families],
            "teaching": corpus.y[coded].sum(0, dtype=int),
            "testing": corpus.y[split.test].sum(0, dtype=int),
        }
    )
    table["tested"] = table["testing"] >= TESTED
    table["rare"] = table["tested"] & (table["teaching"] <= RARE)
    return table


def _same_settings(out: Path, settings: Mapping[str, Any]) -> None:
    """See that a folder is new, or goes on with what it began."""
    path, text = out / "settings.json", json.dumps(settings, indent=1)
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise UsageError("holds an experiment with other settings", where=out, remedy="Name another folder")
    out.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
