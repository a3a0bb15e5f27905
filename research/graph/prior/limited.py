"""Score findings with few labels, with and without the score of a group of findings as a prior.

The records of a hospital are split into two halves. One half is for training (the teaching half), and the
other half is for scoring. One finding at a time keeps the labels of k positive records in the teaching half.
All other findings keep all labels. A leaf is a finding of the concept graph. The group of a finding has the
finding and similar findings (siblings), according to a graph. With a weight w, the score of the group is
added to the score of the finding.

All fits are ridge regressions. They differ in at most a few records, so each fit is computed as an update of
a common fit.

Shapes: M records, F features (the last is constant), N concepts, G groups, K kept rows, T scored rows.
An outcome has D draws, K values of k, G groups and W weights.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

COUNTS = (1, 2, 5, 10, 20)
WEIGHTS = (0.25, 0.5)
ALPHAS = (10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)
DRAWS, INNER_DRAWS = 20, 2
ENOUGH, ENOUGH_SIBLING, MOST = 20, 10, 0.5
NEAREST = 4
FREE = 1e-3
"""Penalty of the intercept."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Groups = Mapping[str, frozenset[int]]
"""Group of a finding in each graph, by the graph's name: the finding itself and its siblings."""


@dataclass(frozen=True)
class Hospital:
    """Records of a hospital.

    Attributes:
        name: name of the hospital.
        x_MF: features.
        y_MN: leaves.
        half_M: half of each record, 0 or 1.
        part_M: part of each record within its half, 0 or 1.
    """

    name: str
    x_MF: NDArray[np.float32]
    y_MN: NDArray[np.bool_]
    half_M: NDArray[np.int64]
    part_M: NDArray[np.int64]

    @cached_property
    def findings(self) -> list[int]:
        """List the leaves with enough positives, and with enough negatives."""
        count_N = self.y_MN.sum(0)
        return np.flatnonzero((count_N >= ENOUGH) & (count_N <= MOST * len(self.y_MN))).tolist()


def digit(name: str, salt: str) -> int:
    """Return 0 or 1 by a hash of `salt` and `name`."""
    return int(hashlib.sha256(f"{salt}{name}".encode()).hexdigest(), 16) % 2


def auc(y_T: Mask, score_GT: Floats) -> Floats:
    """Return the AUC of each row of scores, [G]. Tied records are ranked in their order."""
    positives = int(y_T.sum())
    pairs = positives * (len(y_T) - positives)
    if not pairs:
        return np.full(len(score_GT), np.nan)
    ordered_GT = y_T[np.argsort(score_GT, axis=1)]
    rank_sum_G = ordered_GT @ np.arange(1, len(y_T) + 1, dtype=float)
    return (rank_sum_G - positives * (positives + 1) / 2) / pairs


class Fit:
    """Ridge regression on base rows, to which kept rows can be added without a new fit of all rows.

    Args:
        x_MF: features of all records, of which the last is constant.
        gram_FF: sum of the outer products of the base rows.
        candidates: rows that may be added.
        target_FG: the base rows' products with the columns of G targets.
        alpha: the penalty.
    """

    def __init__(
        self, x_MF: Floats, gram_FF: Floats, candidates: NDArray[np.int64], target_FG: Floats, alpha: float
    ) -> None:
        penalty_F = np.full(len(gram_FF), alpha)
        penalty_F[-1] = FREE
        factor = cho_factor(gram_FF + np.diag(penalty_F), lower=True, check_finite=False)
        solved = cho_solve(factor, np.c_[x_MF[candidates].T, target_FG], check_finite=False)
        count = len(candidates)
        self._place = {int(row): place for place, row in enumerate(candidates)}
        self.gain_MK = x_MF @ solved[:, :count]
        self.base_MG = x_MF @ solved[:, count:]

    def scores(self, kept: Sequence[int], y_KG: Floats, columns: Sequence[int] | slice) -> Floats:
        """Return the scores of all records after kept rows with given targets were added, [M, G]."""
        places = [self._place[int(row)] for row in kept]
        base_MG = self.base_MG[:, columns]
        gain_MK = self.gain_MK[:, places]
        step_KG = np.linalg.solve(np.eye(len(kept)) + gain_MK[kept], y_KG - base_MG[kept])
        return base_MG + gain_MK @ step_KG


class Teaching:
    """Teaching half of a hospital, standardised on its own records."""

    def __init__(self, hospital: Hospital, half: int, tests: Mapping[str, Hospital]) -> None:
        self.hospital, self.half = hospital, half
        self.rows = np.flatnonzero(hospital.half_M == half)
        mean_F, std_F = hospital.x_MF[self.rows].mean(0), hospital.x_MF[self.rows].std(0) + 1e-6

        def standardised(x_MF: NDArray[np.float32]) -> Floats:
            return np.c_[(x_MF - mean_F) / std_F, np.ones(len(x_MF))].astype(np.float64)

        self.x_MF = standardised(hospital.x_MF)
        self.y_MN = hospital.y_MN
        self.elsewhere = {name: (standardised(other.x_MF), other.y_MN) for name, other in tests.items()}

    def gram(self, rows: NDArray[np.int64]) -> Floats:
        """Return the sum of the outer products of rows."""
        x_KF = self.x_MF[rows]
        return x_KF.T @ x_KF

    def bears(self, group: frozenset[int], rows: NDArray[np.int64]) -> Floats:
        """Return whether each row has a leaf of a group, as 0.0 or 1.0."""
        return self.y_MN[np.ix_(rows, sorted(group))].any(1).astype(float)

    def order(self, finding: int, draw: int, rows: NDArray[np.int64], salt: int = 0) -> NDArray[np.int64]:
        """Return the rows that have a finding, in the random order of a draw."""
        positives = rows[self.y_MN[rows, finding]]
        generator = np.random.default_rng([salt, self.half, finding, draw])
        return generator.permutation(positives)


def spread(score_MG: Floats, rows: NDArray[np.int64]) -> Floats:
    """Return scores divided by their spread over the teaching rows."""
    return score_MG / (score_MG[rows].std(0) + 1e-12)


def looks(
    teaching: Teaching, base: NDArray[np.int64], finding: int, kept: NDArray[np.int64]
) -> frozenset[int]:
    """Return a finding, and the findings whose mean features are most similar to its kept records."""
    y_KN = teaching.y_MN[base]
    others = np.flatnonzero(y_KN.sum(0) >= ENOUGH_SIBLING)
    x_BF = teaching.x_MF[base][:, :-1]
    means_NF = (y_KN[:, others].T.astype(float) @ x_BF) / y_KN[:, others].sum(0)[:, None]
    mean_F = teaching.x_MF[kept][:, :-1].mean(0)
    cosine_N = means_NF @ mean_F / np.linalg.norm(means_NF, axis=1)
    return frozenset([finding, *others[np.argsort(-cosine_N)[:NEAREST]].tolist()])


def labels_by_alpha(hospital: Hospital, half: int, draws: int = DRAWS) -> Floats:
    """Return the AUC of plain labels by α, k, finding and draw, to choose α for another hospital."""
    teaching = Teaching(hospital, half, {})
    test = np.flatnonzero(hospital.half_M != half)
    out = np.full((len(ALPHAS), len(COUNTS), len(hospital.findings), draws), np.nan)
    for place, finding in enumerate(hospital.findings):
        bearing = teaching.rows[teaching.y_MN[teaching.rows, finding]]
        gram_FF = teaching.gram(teaching.rows) - teaching.gram(bearing)
        nothing_FG = np.zeros((gram_FF.shape[0], 1))
        for a, alpha in enumerate(ALPHAS):
            fit = Fit(teaching.x_MF, gram_FF, bearing, nothing_FG, alpha)
            for draw in range(draws):
                order = teaching.order(finding, draw, teaching.rows)
                for c, count in enumerate(COUNTS):
                    if len(order) >= count:
                        score_MG = fit.scores(order[:count], np.ones((count, 1)), slice(None))
                        out[a, c, place, draw] = auc(teaching.y_MN[test, finding], score_MG[test].T)[0]
    return out


def families_by_alpha(hospital: Hospital, half: int, families: Sequence[frozenset[int]]) -> Floats:
    """Return the AUC of each family by α, with all labels."""
    teaching = Teaching(hospital, half, {})
    test, rows = np.flatnonzero(hospital.half_M != half), teaching.rows
    y_MG = np.stack([teaching.bears(group, np.arange(len(teaching.y_MN))) for group in families], 1)
    target_FG = teaching.x_MF[rows].T @ y_MG[rows]
    out = np.full((len(ALPHAS), len(families)), np.nan)
    for a, alpha in enumerate(ALPHAS):
        fit = Fit(teaching.x_MF, teaching.gram(rows), rows[:0], target_FG, alpha)
        for g in range(len(families)):
            out[a, g] = auc(y_MG[test, g] > 0, fit.base_MG[test, g][None])[0]
    return out


@dataclass(frozen=True)
class Outcome:
    """Scores of a finding when one half is the teaching half.

    `labels_DK` and `prior_DKGW` are AUC. `sibling_DKGW` is the siblings' mean gain, 0 without siblings.
    `over_*` are the same AUC on another hospital.
    """

    labels_DK: Floats
    prior_DKGW: Floats
    sibling_DKGW: Floats
    over_labels_DK: Floats
    over_prior_DKGW: Floats


def one_finding(
    teaching: Teaching,
    finding: int,
    groups: Groups,
    alpha_K: Sequence[float],
    family_alpha: float,
    draws: int = DRAWS,
    counts: Sequence[int] = COUNTS,
    look: bool = True,
    inner_draws: int = INNER_DRAWS,
    weights: Sequence[float] = WEIGHTS,
) -> Outcome:
    """Return the outcome of a finding. `alpha_K` has the penalty without a prior for each k.

    The last group is the one by looks, if `look`.
    """
    rows, y_MN = teaching.rows, teaching.y_MN
    test = np.flatnonzero(teaching.hospital.half_M != teaching.half)
    bearing = rows[y_MN[rows, finding]]
    base = rows[~y_MN[rows, finding]]
    orders = [teaching.order(finding, draw, rows) for draw in range(draws)]
    named = list(groups.values())
    shape = (draws, len(counts), len(named) + look, len(weights))
    looked = {
        (d, c): looks(teaching, base, finding, orders[d][:count])
        for d in range(draws)
        for c, count in enumerate(counts)
        if look and len(orders[d]) >= count
    }
    distinct = [*named, *dict.fromkeys(looked.values())]
    number = {group: place for place, group in reversed(list(enumerate(distinct)))}

    def columns(d: int, c: int) -> list[int]:
        own = [number[looked[d, c]]] if look else []
        return [*(number[group] for group in named), *own]

    labels_DK = np.full(shape[:2], np.nan)
    prior_DKGW = np.full(shape, np.nan)
    over_labels_DK, over_prior_DKGW = labels_DK.copy(), prior_DKGW.copy()
    gram_FF = teaching.gram(rows) - teaching.gram(bearing)
    has_BG = np.stack([teaching.bears(group - {finding}, base) for group in distinct], 1)
    both = teaching.x_MF, *(x_MF for x_MF, _ in teaching.elsewhere.values())
    x_MF = np.concatenate(both)
    over = [y[:, finding] for _, y in teaching.elsewhere.values()]
    beyond = np.arange(len(teaching.x_MF), len(x_MF))
    family = Fit(x_MF, gram_FF, bearing, x_MF[base].T @ has_BG, family_alpha)
    nothing_FG = np.zeros((gram_FF.shape[0], 1))
    plain = {alpha: Fit(x_MF, gram_FF, bearing, nothing_FG, alpha) for alpha in {*alpha_K}}
    empty_G = np.array([len(group) == 1 for group in named] + [False] * look)
    for d, order in enumerate(orders):
        for c, count in enumerate(counts):
            if len(order) < count:
                continue
            kept = order[:count]
            taught = np.r_[base, kept]
            leaf_M1 = spread(plain[alpha_K[c]].scores(kept, np.ones((count, 1)), slice(None)), taught)
            at = columns(d, c)
            family_MG = spread(family.scores(kept, np.ones((count, len(at))), at), taught)
            family_MG[:, empty_G] = 0
            mixed_WGM = np.stack([(leaf_M1 + weight * family_MG).T for weight in weights])
            flat_GM = np.concatenate([leaf_M1.T, *mixed_WGM])
            for where, y_T, labels, prior in (
                (test, y_MN[test, finding], labels_DK, prior_DKGW),
                *((beyond, y_T, over_labels_DK, over_prior_DKGW) for y_T in over),
            ):
                value_G = auc(y_T, flat_GM[:, where])
                labels[d, c] = value_G[0]
                prior[d, c] = value_G[1:].reshape(len(weights), -1).T
    sibling_DKGW = np.zeros(shape)
    known_DKG1 = np.zeros((*shape[:3], 1))
    for sibling in sorted(frozenset().union(*distinct) - {finding}):
        if y_MN[base, sibling].sum() < ENOUGH_SIBLING:
            continue
        gains = _sibling_gains(
            teaching,
            finding,
            sibling,
            distinct,
            columns,
            orders,
            alpha_K,
            family_alpha,
            counts,
            inner_draws,
            weights,
        )
        has_DKG = np.zeros(shape[:3], bool)
        for d, order in enumerate(orders):
            for c, count in enumerate(counts):
                if len(order) >= count:
                    has_DKG[d, c] = [sibling in distinct[g] for g in columns(d, c)]
        usable = has_DKG & np.isfinite(gains[..., 0])
        sibling_DKGW += np.where(usable[..., None], np.nan_to_num(gains), 0)
        known_DKG1 += usable[..., None]
    return Outcome(
        labels_DK, prior_DKGW, sibling_DKGW / np.maximum(known_DKG1, 1), over_labels_DK, over_prior_DKGW
    )


def _sibling_gains(
    teaching: Teaching,
    finding: int,
    sibling: int,
    distinct: Sequence[frozenset[int]],
    columns: Callable[[int, int], list[int]],
    orders: Sequence[NDArray[np.int64]],
    alpha_K: Sequence[float],
    family_alpha: float,
    counts: Sequence[int],
    inner_draws: int,
    weights: Sequence[float],
) -> Floats:
    """Return the AUC that a sibling gains by the prior if the teaching half limits it to k, [D, K, G, W]."""
    rows, y_MN, part_M = teaching.rows, teaching.y_MN, teaching.hospital.part_M
    groups_of = [g for g, group in enumerate(distinct) if sibling in group]
    column = {g: place for place, g in enumerate(groups_of)}
    width = len(columns(0, 0)) if len(orders[0]) else 0
    total = np.zeros((len(orders), len(counts), width, len(weights)))
    times = np.zeros((len(orders), len(counts), 1, 1))
    for part in (0, 1):
        inner = rows[part_M[rows] == part]
        either = inner[y_MN[inner, finding] | y_MN[inner, sibling]]
        base = inner[~(y_MN[inner, finding] | y_MN[inner, sibling])]
        limited = inner[y_MN[inner, sibling] & ~y_MN[inner, finding]]
        apart = rows[(part_M[rows] != part) & ~y_MN[rows, finding]]
        if not len(limited) or not y_MN[apart, sibling].any():
            continue
        scored = np.r_[inner, rows[part_M[rows] != part]]
        place = np.full(len(y_MN), -1)
        place[scored] = np.arange(len(scored))
        x_TF = teaching.x_MF[scored]
        gram_FF = x_TF[: len(inner)].T @ x_TF[: len(inner)] - teaching.gram(either)
        has_BG = np.stack([teaching.bears(distinct[g] - {finding, sibling}, base) for g in groups_of], 1)
        target_FG = teaching.x_MF[base].T @ has_BG
        candidates = place[either]
        family = Fit(x_TF, gram_FF, candidates, target_FG, family_alpha)
        nothing_FG = np.zeros((gram_FF.shape[0], 1))
        plain = {alpha: Fit(x_TF, gram_FF, candidates, nothing_FG, alpha) for alpha in {*alpha_K}}
        for d, order in enumerate(orders):
            for c, count in enumerate(counts):
                if len(order) < count:
                    continue
                at = columns(d, c)
                chosen = [column[g] for g in at if g in column]
                if not chosen:
                    continue
                own = order[:count]
                beside = own[(part_M[own] == part) & ~y_MN[own, sibling]]
                test = np.r_[apart, own[part_M[own] != part]]
                for inner_draw in range(inner_draws):
                    drawn = teaching.order(sibling, d * inner_draws + inner_draw, limited, salt=1 + finding)
                    drawn = drawn[:count]
                    kept = place[np.r_[drawn, beside]]
                    taught = np.r_[place[base], kept]
                    is_K1 = np.r_[np.ones(len(drawn)), np.zeros(len(beside))][:, None]
                    leaf_T1 = spread(plain[alpha_K[c]].scores(kept, is_K1, slice(None)), taught)
                    family_TG = spread(family.scores(kept, np.ones((len(kept), len(chosen))), chosen), taught)
                    mixed = [(leaf_T1 + weight * family_TG).T for weight in weights]
                    flat_GT = np.concatenate([leaf_T1.T, *mixed])[:, place[test]]
                    value_G = auc(y_MN[test, sibling], flat_GT)
                    gain_GW = (value_G[1:] - value_G[0]).reshape(len(weights), -1).T
                    where = [j for j, g in enumerate(at) if g in column]
                    total[d, c, where] += gain_GW
                    times[d, c] += 1
    return np.where(times > 0, total / np.maximum(times, 1), np.nan)
