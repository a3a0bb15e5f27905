"""Run two further experiments on heads: leave out one leaf at a time, and limit the records of leaves.

Both return values of endpoints by arm, σ, and seed or draw. An arm is a training with a certain graph. A leaf
is a finding of the graph.

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
"""Minimum records of a leaf in each half of the patients. Leaves with fewer records aren't limited to k."""
LIMITED = 3
"""One in `LIMITED` leaves with `ENOUGH` records is limited to k records."""


def some_arms(graphs: Sequence[GraphArm], sigma: float, shuffles: int) -> list[GraphArm]:
    """Return the arms of these experiments at a σ: real graph, shuffles, families, and no graph."""
    names = {REAL, "flat", FAMILIES, EDGELESS, *(f"{SHUFFLE} {number}" for number in range(shuffles))}
    return [arm for arm in graphs if arm.name in names and (np.isnan(arm.sigma) or arm.sigma == sigma)]


def in_turn(
    features: Sequence[NDArray[np.float32]], split: Split, graphs: Sequence[GraphArm], tested: Tested,
    leaves: Sequence[int], seed: int,
) -> pd.DataFrame:  # fmt: skip
    """Return the scores of a seed, with `leaves` left out one at a time."""
    arms = some_arms(graphs, TURN_SIGMA, SHUFFLES[IN_TURN])
    rows: list[Row] = []
    for leaf in leaves:
        taught = split.taught(split.teach, "left-out", seed, [leaf])
        held = split.taught(split.held_out, "left-out", seed, [leaf])
        of_leaf = replace(tested, rare=(), hierarchy=None, within=(leaf,))
        every = unit(features, (taught, held), arms, of_leaf, split.corpus.y[split.teach], STEPS, seed)
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
    """Return the scores of a draw: heads are trained on half of the test patients, and tested on the others.

    A third of the leaves are limited to k records each. A record with several of these leaves counts for each
    of them. Further records of these leaves aren't used. Values are means over both halves.

    Args:
        x_MF: features of the test records.
        split: split of the corpus.
        graphs: arms.
        tested: test records.
        draw: number of the draw.
        counts: values of k.
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
            tested_M = half_M != half
            part = Taught(np.flatnonzero(keep_M), y_MN[keep_M], np.full(int(keep_M.sum()), -1))
            held = Taught(np.arange(len(y_MN)), y_MN, np.full(len(y_MN), -1))
            of_half = replace(tested, y_MN=y_MN[tested_M], rare=(), hierarchy=None, within=())
            every = unit((x_MF, x_MF, x_MF[tested_M]), (part, held), arms, of_half, part.y_MN, STEPS, draw)
            names = {tested.names[leaf] for leaf in limited}
            rows += [row for row in every if row["metric"] == "auc" and row["of"] in names]
        frames.append(_halves(rows, f"{FEW_K}{count}", draw))
    return pd.concat(frames, ignore_index=True)


def keeping(
    y_MN: NDArray[np.uint8], limited: Sequence[int] | NDArray[np.int64], count: int, order: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the mask of training records, bool [M]: up to `count` per limited leaf, and all other records.

    `order` is the order in which records are considered.
    """
    keep_M, left_L = np.zeros(len(y_MN), bool), np.full(len(limited), count)
    for row in order:
        has_L = y_MN[row, limited] > 0
        if y_MN[row].any() and (left_L[has_L] > 0).all():
            keep_M[row] = True
            left_L -= has_L
    return keep_M


def _half(patient: str) -> int:
    return int(hashlib.sha256(patient.encode()).hexdigest(), 16) % 2


def _halves(rows: Sequence[Row], regime: str, draw: int) -> pd.DataFrame:
    """Return the mean over halves for each leaf, and the mean over leaves."""
    key = ["arm", "sigma"]
    by_leaf = pd.DataFrame(rows).groupby([*key, "of"], dropna=False)["value"].mean().reset_index()
    mean = by_leaf.groupby(key, dropna=False)["value"].mean().reset_index().assign(endpoint=PRIMARY)
    by_leaf["endpoint"] = LEAF + by_leaf["of"]
    return _kept([*by_leaf.to_dict("records"), *mean.to_dict("records")], regime, draw)


def _kept(rows: Sequence[Row], regime: str, seed: int) -> pd.DataFrame:
    frame = pd.DataFrame(rows)[["arm", "sigma", "endpoint", "value"]].rename(columns={"endpoint": "of"})
    return frame.assign(regime=regime, seed=seed, metric=READY, step=STEPS[-1])
