"""Further experiments on heads: left-out leaves in turn, and leaves with few records.

Both give rows of ready endpoints, by seed or draw, arm and σ.

Shapes: M records, N concepts, F features, L leaves that keep k records.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from marecg_research.graph.arms import EDGELESS, FAMILIES, REAL, SHUFFLE, GraphArm
from marecg_research.graph.endpoints import FEW_K, IN_TURN, LEAF, PRIMARY, READY, WITHIN
from marecg_research.graph.further import FEW_SIGMA, TURN_SIGMA
from marecg_research.graph.heads import unit
from marecg_research.graph.records import Split, Taught
from marecg_research.graph.tested import Row, Tested

STEPS = (100,)
RECORDS = (0, 1, 2, 5, 10, 20, 50)
SHUFFLES = {IN_TURN: 4, FEW_K: 8}
ENOUGH = 20
"""Records of a leaf on either half of the patients that make it one of those that keep k."""
LIMITED = 3
"""One in so many leaves keeps k."""


def some_arms(graphs: Sequence[GraphArm], sigma: float, shuffles: int) -> list[GraphArm]:
    """Return the arms of these experiments at one σ: real graph, shuffles, families, and no graph."""
    names = {REAL, "flat", FAMILIES, EDGELESS, *(f"{SHUFFLE} {number}" for number in range(shuffles))}
    return [arm for arm in graphs if arm.name in names and (np.isnan(arm.sigma) or arm.sigma == sigma)]


def in_turn(
    features: Sequence[NDArray[np.float32]], split: Split, graphs: Sequence[GraphArm], tested: Tested,
    leaves: Sequence[int], seed: int,
) -> pd.DataFrame:  # fmt: skip
    """Return the scores of one seed, with given leaves left out one at a time."""
    arms = some_arms(graphs, TURN_SIGMA, SHUFFLES[IN_TURN])
    rows: list[Row] = []
    for leaf in leaves:
        taught = split.taught(split.teach, "left-out", seed, [leaf])
        held = split.taught(split.held_out, "left-out", seed, [leaf])
        one = replace(tested, rare=(), hierarchy=None, within=(leaf,))
        every = unit(features, (taught, held), arms, one, split.corpus.y[split.teach], STEPS, seed)
        ends = {"auc": LEAF, "within": f"{WITHIN} "}
        rows += [
            {**row, "endpoint": f"{ends[row['metric']]}{row['of']}"}
            for row in every
            if row["metric"] in ends and row["of"] == tested.names[leaf]
        ]
    return _kept(rows, IN_TURN, seed)


def cross_fitted(
    x_MF: NDArray[np.float32], split: Split, graphs: Sequence[GraphArm], tested: Tested, draw: int,
    counts: Sequence[int] = RECORDS,
) -> pd.DataFrame:  # fmt: skip
    """Return the scores of one draw: heads taught PTB-XL's codes on half the patients, tested on the others.

    `x_MF` are features of the test records. A third of the leaves keep k records each, chosen so that a
    record which bears several counts for all; the records left over teach nothing. Values are means over
    both halves, each judged by the other's.
    """
    y_MN, arms = tested.y_MN, some_arms(graphs, FEW_SIGMA, SHUFFLES[FEW_K])
    half_M = np.array([_half(split.corpus.patients[row] or str(row)) for row in split.test])
    enough_N = np.min([y_MN[half_M == half].sum(0, dtype=int) for half in (0, 1)], axis=0) >= ENOUGH
    generator = np.random.default_rng(draw)
    eligible = np.flatnonzero(enough_N)
    limited = np.sort(generator.permutation(eligible)[: max(1, len(eligible) // LIMITED)])
    order_M = generator.permutation(len(y_MN))
    frames = []
    for count in counts:
        rows: list[Row] = []
        for half in (0, 1):
            keep_M = keeping(y_MN, limited, count, order_M[half_M[order_M] == half])
            others_M = half_M != half
            part = Taught(np.flatnonzero(keep_M), y_MN[keep_M], np.full(int(keep_M.sum()), -1))
            held = Taught(np.arange(len(y_MN)), y_MN, np.full(len(y_MN), -1))
            one = replace(tested, y_MN=y_MN[others_M], rare=(), hierarchy=None, within=())
            every = unit((x_MF, x_MF, x_MF[others_M]), (part, held), arms, one, part.y_MN, STEPS, draw)
            names = {tested.names[leaf] for leaf in limited}
            rows += [row for row in every if row["metric"] == "auc" and row["of"] in names]
        frames.append(_halves(rows, f"{FEW_K}{count}", draw))
    return pd.concat(frames, ignore_index=True)


def keeping(
    y_MN: NDArray[np.uint8], limited: Sequence[int] | NDArray[np.int64], count: int, order: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the mask of teaching records, bool [M]: up to `count` per limited leaf, and all others."""
    keep_M, left_L = np.zeros(len(y_MN), bool), np.full(len(limited), count)
    for row in order:
        bears_L = y_MN[row, limited] > 0
        if y_MN[row].any() and (left_L[bears_L] > 0).all():
            keep_M[row] = True
            left_L -= bears_L
    return keep_M


def _half(patient: str) -> int:
    return int(hashlib.sha256(patient.encode()).hexdigest(), 16) % 2


def _halves(rows: Sequence[Row], regime: str, draw: int) -> pd.DataFrame:
    """Means over halves of every leaf, and over leaves."""
    key = ["arm", "sigma"]
    by_leaf = pd.DataFrame(rows).groupby([*key, "of"], dropna=False)["value"].mean().reset_index()
    mean = by_leaf.groupby(key, dropna=False)["value"].mean().reset_index().assign(endpoint=PRIMARY)
    by_leaf["endpoint"] = LEAF + by_leaf["of"]
    return _kept([*by_leaf.to_dict("records"), *mean.to_dict("records")], regime, draw)


def _kept(rows: Sequence[Row], regime: str, seed: int) -> pd.DataFrame:
    frame = pd.DataFrame(rows)[["arm", "sigma", "endpoint", "value"]].rename(columns={"endpoint": "of"})
    return frame.assign(regime=regime, seed=seed, metric=READY, step=STEPS[-1])
