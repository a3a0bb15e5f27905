"""Run the experiment of plan.md: what codes that name only a family are worth to a classifier of findings.

    python -m research.graph.coarse.run CORPUS FEATURES ENCODER…

FEATURES is the folder that `research.graph.prior.features` wrote. The scores of each encoder are added to
scores.npz.

Shapes: M records, F features (the last is constant), L leaves, G groups, N findings, D draws, K values of k.
"""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from research.graph.prior import run as prior_run
from research.graph.prior.limited import ENOUGH, MOST, Floats, auc
from research.graph.prior.run import PTBXL, read_features
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from ecg_ontology import Ontology
from marecg.corpus import index
from marecg.corpus.prepared import Corpus

logger = logging.getLogger(__name__)
SCORES = Path(__file__).with_name("scores.npz")
COUNTS = (1, 2, 5)
DRAWS, VOCABULARIES = 5, 99
SHUFFLES, SHUFFLE_COUNT, SHUFFLE_DRAWS = 20, 2, 2
ALPHAS = (1.0, 10.0, 100.0, 1_000.0, 10_000.0)
CALIBRATED = 10
"""Fewest positives of a leaf for which Platt's method is fitted."""
RISK = 0.1
NORMAL, ABNORMAL = 0, 1


class Hospital(NamedTuple):
    """Coded records of a hospital.

    `alone_ML` has the leaves of each family that a statement of the record names without a leaf.
    """

    x_MF: NDArray[np.float32]
    y_ML: NDArray[np.bool_]
    alone_MG: NDArray[np.bool_]
    half_M: NDArray[np.int64]
    part_M: NDArray[np.int64]

    @property
    def findings(self) -> NDArray[np.int64]:
        """Return the leaves with enough positives, and with enough negatives."""
        count_L = self.y_ML.sum(0)
        return np.flatnonzero((count_L >= ENOUGH) & (count_L <= MOST * len(self.y_ML)))


class Target(NamedTuple):
    """What a classifier is taught: shares of leaves and of groups, which add to 1 for each record.

    `group_L` is the group of each leaf.
    """

    leaf_ML: Floats
    mass_MG: Floats
    group_L: NDArray[np.int64]


def target(
    y_ML: NDArray[np.bool_], exact_M: NDArray[np.bool_], group_L: NDArray[np.int64], alone_MG: Floats
) -> Target:
    """Return the leaves of exact records, with the groups they have alone, and the groups of the others."""
    has_MG = y_ML.astype(float) @ np.eye(group_L.max() + 1)[group_L] > 0
    leaf_ML = y_ML * exact_M[:, None].astype(float)
    mass_MG = np.where(exact_M[:, None], alone_MG, has_MG)
    total_M1 = np.maximum(leaf_ML.sum(1, keepdims=True) + mass_MG.sum(1, keepdims=True), 1)
    return Target(leaf_ML / total_M1, mass_MG / total_M1, group_L)


def fit(x_MF: Floats, of: Target, alpha: float, start_FL: Floats) -> Floats:
    """Return the weights [F, L] of a softmax over leaves that minimises the loss of plan.md."""
    one_GL = np.eye(of.mass_MG.shape[1])[of.group_L].T
    penalty_F1 = np.full((x_MF.shape[1], 1), alpha)
    penalty_F1[-1] = 1e-3  # of the intercept
    weight_M1 = of.leaf_ML.sum(1, keepdims=True) + of.mass_MG.sum(1, keepdims=True)

    def loss(flat: Floats) -> tuple[float, Floats]:
        w_FL = flat.reshape(start_FL.shape)
        z_ML = x_MF @ w_FL
        z_ML -= logsumexp(z_ML, axis=1, keepdims=True)
        p_ML = np.exp(z_ML)
        mass_MG = p_ML @ one_GL.T + 1e-300
        value = -(of.leaf_ML * z_ML).sum() - (of.mass_MG * np.log(mass_MG)).sum()
        slope_ML = weight_M1 * p_ML - of.leaf_ML - p_ML * ((of.mass_MG / mass_MG) @ one_GL)
        grad_FL = x_MF.T @ slope_ML + penalty_F1 * w_FL
        return float(value + 0.5 * (penalty_F1 * w_FL**2).sum()), grad_FL.ravel()

    found = minimize(
        loss, start_FL.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300, "maxcor": 20}
    )
    return np.asarray(found.x.reshape(start_FL.shape))


def standardised(hospital: Hospital, rows: NDArray[np.int64]) -> Floats:
    """Return the features of all records, standardised on the rows, with a constant column."""
    mean_F, std_F = hospital.x_MF[rows].mean(0), hospital.x_MF[rows].std(0) + 1e-6
    return np.c_[(hospital.x_MF - mean_F) / std_F, np.ones(len(hospital.x_MF))].astype(np.float64)


def drawn(y_ML: NDArray[np.bool_], half: int, draw: int, count: int) -> NDArray[np.bool_]:
    """Return which records are coded exactly: `count` of each leaf, or as many as it has."""
    exact_M = np.zeros(len(y_ML), bool)
    for leaf in range(y_ML.shape[1]):
        positives = np.flatnonzero(y_ML[:, leaf])
        exact_M[np.random.default_rng([half, leaf, draw]).permutation(positives)[:count]] = True
    return exact_M


def groups(onto: Ontology, leaves: NDArray[np.int64], shuffles: int) -> dict[str, NDArray[np.int64]]:
    """Return the group of each leaf: its family, Normal or not, and shuffled families outside Normal."""
    roots = list(onto.roots)
    real_L = np.array([roots.index(onto.families[leaf]) for leaf in leaves])
    normal = next(place for place, root in enumerate(roots) if onto.nodes[root].abbr == "Normal")
    out = {"real": real_L, "abnormal": np.where(real_L == normal, NORMAL, ABNORMAL)}
    for seed in range(shuffles):
        moved_L = real_L.copy()
        moved_L[real_L != normal] = np.random.default_rng(seed).permutation(real_L[real_L != normal])
        out[f"shuffle {seed}"] = moved_L
    return out


def teach(hospital: Hospital, half: int, alphas: list[float], by: dict[str, NDArray[np.int64]]) -> Floats:
    """Return the AUC of each finding by arm, k and draw, [1 + G, K, D, N]; `exact` is the first arm."""
    rows, test = np.flatnonzero(hospital.half_M == half), np.flatnonzero(hospital.half_M != half)
    x_MF, y_ML = standardised(hospital, rows), hospital.y_ML[rows]
    nothing_MG = np.zeros((len(rows), hospital.alone_MG.shape[1]))
    every_M, one_L = np.ones(len(rows), bool), np.zeros(y_ML.shape[1], np.int64)
    out = np.full((1 + len(by), len(COUNTS), DRAWS, len(hospital.findings)), np.nan)
    for k, (count, alpha) in enumerate(zip(COUNTS, alphas, strict=True)):
        for draw in range(DRAWS):
            exact_M = drawn(y_ML, half, draw, count)
            own = target(y_ML[exact_M], every_M[: exact_M.sum()], one_L, nothing_MG[exact_M, :1])
            w_FL = fit(x_MF[rows[exact_M]], own, alpha, np.zeros((x_MF.shape[1], y_ML.shape[1])))
            out[0, k, draw] = aucs(hospital, test, x_MF[test] @ w_FL)
            for place, (name, group_L) in enumerate(by.items()):
                if name.startswith("shuffle") and (count != SHUFFLE_COUNT or draw >= SHUFFLE_DRAWS):
                    continue
                coarse = target(y_ML, exact_M, group_L, nothing_MG[:, : group_L.max() + 1])
                of_FL = fit(x_MF[rows], coarse, alpha, w_FL)
                out[1 + place, k, draw] = aucs(hospital, test, x_MF[test] @ of_FL)
        logger.info("half %d, k = %d", half, count)
    return out


def aucs(hospital: Hospital, test: NDArray[np.int64], z_TL: Floats) -> Floats:
    """Return the AUC of each finding by the log of its share."""
    log_p_TL = z_TL - logsumexp(z_TL, axis=1, keepdims=True)
    return np.array([auc(hospital.y_ML[test, n], log_p_TL[:, n][None])[0] for n in hospital.findings])


def exact_by_alpha(hospital: Hospital) -> Floats:
    """Return the mean AUC of exact records alone by α and k, to choose α for the other hospital."""
    return np.array(
        [
            np.nanmean(
                [teach(hospital, half, [alpha] * len(COUNTS), {})[0] for half in (0, 1)], axis=(0, 2, 3)
            )
            for alpha in ALPHAS
        ]
    )


def with_all(hospital: Hospital, half: int, alpha: float, real_L: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the AUC of each finding, without and with families alone [2, N], and the logits without."""
    rows, test = np.flatnonzero(hospital.half_M == half), np.flatnonzero(hospital.half_M != half)
    x_MF, y_ML = standardised(hospital, rows), hospital.y_ML[rows]
    start_FL, out, logits = np.zeros((x_MF.shape[1], y_ML.shape[1])), [], []
    for alone_MG in (np.zeros_like(hospital.alone_MG[rows], float), hospital.alone_MG[rows].astype(float)):
        of = target(y_ML, np.ones(len(rows), bool), real_L, alone_MG)
        start_FL = fit(x_MF[rows], of, alpha, start_FL)
        logits.append(x_MF @ start_FL)
        out.append(aucs(hospital, test, logits[-1][test]))
    return np.array(out), logits[0]


def platt(score_M: Floats, y_M: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and shift of Platt's method, with his smoothed targets."""
    positives, negatives = int(y_M.sum()), int((~y_M).sum())
    target_M = np.where(y_M, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(of: Floats) -> float:
        z_M = of[0] * score_M + of[1]
        return float((np.logaddexp(0, z_M) - target_M * z_M).sum())

    slope, shift = minimize(loss, np.array([1.0, 0.0]), method="L-BFGS-B").x
    return float(slope), float(shift)


def probability(
    log_p_M: Floats, y_M: NDArray[np.bool_], fitted: NDArray[np.int64], test: NDArray[np.int64]
) -> Floats:
    """Return calibrated probabilities of the test records from logs of shares."""
    score_M = log_p_M - np.log1p(-np.exp(np.minimum(log_p_M, -1e-9)))
    slope, shift = platt(score_M[fitted], y_M[fitted])
    return np.asarray(expit(slope * score_M[test] + shift))


def answers(
    log_p_ML: Floats,
    y_ML: NDArray[np.bool_],
    fitted: NDArray[np.int64],
    test: NDArray[np.int64],
    group_L: NDArray[np.int64],
    normal: int,
) -> NDArray[np.int64]:
    """Return the numbers of families that test records have, of answers, and of right answers."""
    y_TL = y_ML[test]
    p_TL = np.full(y_TL.shape, -1.0)
    for leaf in np.flatnonzero(y_ML[fitted].sum(0) >= CALIBRATED):
        p_TL[:, leaf] = probability(log_p_ML[:, leaf], y_ML[:, leaf], fitted, test)
    counts = np.zeros(3, np.int64)
    for group in sorted({*group_L.tolist()} - {normal}):
        members = np.flatnonzero(group_L == group)
        has_M = y_ML[:, members].any(1)
        mass_T = probability(logsumexp(log_p_ML[:, members], axis=1), has_M, fitted, test)
        best_T = members[p_TL[:, members].argmax(1)]
        leaf_T = p_TL[np.arange(len(test)), best_T] >= 1 - RISK
        right_T = np.where(leaf_T, y_TL[np.arange(len(test)), best_T], has_M[test])
        answered_T = leaf_T | (mass_T >= 1 - RISK)
        counts += [int(has_M[test].sum()), int(answered_T.sum()), int((right_T & answered_T).sum())]
    return counts


def vocabularies(
    hospital: Hospital, logits: list[Floats], by: dict[str, NDArray[np.int64]], normal: int
) -> NDArray[np.int64]:
    """Return the counts of `answers` for each graph, over both halves and parts, [G, 3]."""
    total = np.zeros((len(by), 3), np.int64)
    for half, z_ML in enumerate(logits):
        log_p_ML = np.log(softmax(z_ML, axis=1) + 1e-12)
        other = hospital.half_M != half
        for part in (0, 1):
            fitted = np.flatnonzero(other & (hospital.part_M == part))
            test = np.flatnonzero(other & (hospital.part_M != part))
            for place, group_L in enumerate(by.values()):
                total[place] += answers(log_p_ML, hospital.y_ML, fitted, test, group_L, normal)
    return total


def read_hospitals(corpus: Corpus, x_MF: NDArray[np.float32]) -> Iterator[tuple[str, Hospital]]:
    """Yield PTB-XL and the other hospitals, each with its coded records."""
    onto = corpus.ontology()
    leaves = [n for n in range(len(onto)) if n not in onto.roots]
    routes = {}
    codes = index.of(corpus.folder, ["codes"])["codes"].to_pylist()
    for code in {code for record in codes for code in record}:
        route = onto.route(code)
        routes[code] = [] if route.leaves else [n for n in route.nodes if n in onto.roots]
    alone_MG = np.array(
        [[root in {r for c in record for r in routes[c]} for root in onto.roots] for record in codes]
    )
    coded_M = corpus.primary >= 0
    of_ptbxl_M = np.array([corpus.sources[m] == PTBXL for m in range(len(corpus))])
    for name, of in prior_run.read_hospitals(corpus, x_MF).items():
        rows = np.flatnonzero(coded_M & (of_ptbxl_M == (name == PTBXL)))
        yield name, Hospital(of.x_MF, of.y_MN[:, leaves], alone_MG[rows], of.half_M, of.part_M)


def main(corpus_folder: str, features: str, *encoders: str) -> None:
    """Add the scores of each encoder to scores.npz."""
    corpus = Corpus.open(corpus_folder)
    onto = corpus.ontology()
    leaves = np.array([n for n in range(len(onto)) if n not in onto.roots])
    by, normal = groups(onto, leaves, SHUFFLES), [onto.nodes[r].abbr for r in onto.roots].index("Normal")
    words = {
        name: group_L for name, group_L in groups(onto, leaves, VOCABULARIES).items() if name != "abnormal"
    }
    for encoder in encoders:
        hospitals = dict(read_hospitals(corpus, read_features(Path(features), encoder)))
        by_alpha = {name: exact_by_alpha(hospital) for name, hospital in hospitals.items()}
        logger.info("%s: %s", encoder, by_alpha)
        kept = dict(np.load(SCORES)) if SCORES.exists() else {}
        for name, hospital in hospitals.items():
            other = next(key for key in hospitals if key != name)
            alphas = [ALPHAS[place] for place in by_alpha[other].argmax(0)]
            graphs = by if encoder == "marecg-small" else {key: by[key] for key in ("real", "abnormal")}
            arms = np.stack([teach(hospital, half, alphas, graphs) for half in (0, 1)])
            every, logits = zip(
                *(with_all(hospital, half, alphas[-1], by["real"]) for half in (0, 1)), strict=True
            )
            key = f"{encoder}/{name}"
            kept |= {
                f"{key}/findings": np.array([onto.nodes[leaves[n]].abbr for n in hospital.findings]),
                f"{key}/by_alpha": by_alpha[name],
                f"{key}/alpha": np.array(alphas),
                f"{key}/arms": arms.astype(np.float32),
                f"{key}/all": np.stack(every).astype(np.float32),
                f"{key}/answers": vocabularies(hospital, list(logits), words, normal),
            }
            np.savez_compressed(SCORES, **kept)
            logger.info("%s, %s", encoder, name)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
