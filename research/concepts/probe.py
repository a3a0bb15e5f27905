"""Probe PTB-XL's four tasks by ridge regression that starts from each class's concept score (plan.md).

    python -m research.concepts.probe CORPUS FEATURES OUT

FEATURES is the folder that `research.graph.prior.features` wrote. OUT contains the file tasks.npz, which
`research.concepts.scores` wrote. An arm is a way to compute concept scores.

Shapes: M records, T training records, F features, K classes, A arms.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from marecg.corpus.prepared import Corpus
from marecg.evaluate.scores.metrics import class_auc
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import part_weights

TASKS = ("ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm")
ARMS = ("prototypes", "ridge, beats", "mixture")
ROTATIONS = (((1, 2, 3, 4, 5), (6,), (7, 8)), ((7, 8, 1, 2, 3), (4,), (5, 6)))
SHARES = {0.01: 5, 0.1: 3, 1.0: 1}
ALPHAS = np.logspace(1, 6, 6)
Floats = NDArray[np.float64]


def scored(
    x_MF: Floats, own_AMK: Floats, y_MK: NDArray[np.bool_], train: NDArray[np.int64], val: NDArray[np.int64],
    test: NDArray[np.int64], weight: float,
) -> dict[str, Floats]:  # fmt: skip
    """Return each arm's scores of the test records, [M, K].

    The penalty, and whether the concept score is used at all, are chosen on the validation records.
    """
    mean_F, std_F = x_MF[train].mean(0), x_MF[train].std(0) + 1e-6
    x_TF = (x_MF[train] - mean_F) / std_F
    rest = np.r_[val, test]
    x_RF = (x_MF[rest] - mean_F) / std_F
    k_TT, k_RT = x_TF @ x_TF.T, x_RF @ x_TF.T
    own_ATK, own_ARK = own_AMK[:, train], own_AMK[:, rest]
    middle_AK, spread_AK = own_ATK.mean(1), own_ATK.std(1) + 1e-6
    own_ATK = weight * (own_ATK - middle_AK[:, None]) / spread_AK[:, None]
    own_ARK = weight * (own_ARK - middle_AK[:, None]) / spread_AK[:, None]
    y_TK = y_MK[train].astype(float)
    classes = y_TK.shape[1]
    absent_K = ~y_MK[train].any(0) | y_MK[train].all(0)
    judged_K = y_MK[val].any(0) & ~y_MK[val].all(0)
    best = {name: (-1.0, np.zeros(0)) for name in ("beats", *ARMS)}
    for alpha in ALPHAS:
        factor = cho_factor(k_TT + alpha * np.eye(len(train)), lower=True)
        columns = np.concatenate([y_TK - y_TK.mean(0), *own_ATK], 1)
        solved = cho_solve(factor, columns)
        u_TK, v_ATK = solved[:, :classes], np.stack(np.split(solved[:, classes:], len(ARMS), 1))
        plain_RK = k_RT @ u_TK
        options = {"beats": [np.where(absent_K, 0.0, plain_RK)]}
        for a, name in enumerate(ARMS):
            share_K = (own_ATK[a] * u_TK).sum(0) / (1 + (own_ATK[a] * v_ATK[a]).sum(0))
            dual_TK = u_TK - v_ATK[a] * share_K
            with_own_RK = k_RT @ dual_TK + own_ARK[a] * (own_ATK[a] * dual_TK).sum(0)
            options[name] = [np.where(absent_K, own_ARK[a], score) for score in (with_own_RK, plain_RK)]
        for name, scores in options.items():
            for score_RK in scores:
                auc = float(class_auc(y_MK[val][:, judged_K], score_RK[: len(val)][:, judged_K]).mean())
                if auc > best[name][0]:
                    best[name] = (auc, score_RK[len(val) :])
    return {name: score for name, (_, score) in best.items()}


def main(corpus_folder: str, features: str, out: str) -> None:
    """Write the AUC of each task, rotation, share, draw, arm and class as `probe.csv`."""
    corpus = Corpus.open(corpus_folder)
    rows = np.flatnonzero(np.array([corpus.sources[row] == "ptbxl" for row in range(len(corpus))]))
    config = MarEcg.from_pretrained("marecg-small").config
    x_MF = np.load(Path(features) / "marecg-small.npy")[rows].astype(np.float64)
    x_MF = (x_MF - x_MF.mean(0)) / (x_MF.std(0) + 1e-6)
    weights = part_weights(config, "beats")
    file = np.load(Path(out) / "tasks.npz")
    fold_M = file["fold"]
    lines = ["task,rotation,share,draw,arm,class,positives,auc"]
    for task in TASKS:
        names = file[f"{task}/classes"]
        y_MK = np.unpackbits(file[f"{task}/y"], axis=1)[:, : len(names)] > 0
        labelled_M = np.unpackbits(file[f"{task}/labelled"])[: len(rows)] > 0
        own_AMK = np.stack([file[f"{task}/{name}"].astype(float) for name in ARMS])
        for rotation, (train_folds, val_folds, test_folds) in enumerate(ROTATIONS):
            parts = [
                np.flatnonzero(labelled_M & np.isin(fold_M, folds))
                for folds in (train_folds, val_folds, test_folds)
            ]
            for share, draws in SHARES.items():
                for draw in range(draws):
                    train, val, test = parts
                    count = round(share * len(train))
                    train = np.random.default_rng([rotation, draw]).permutation(train)[:count]
                    scores = scored(x_MF * weights, own_AMK, y_MK, train, val, test, np.sqrt(config.width))
                    for name, score_MK in scores.items():
                        auc_K = class_auc(y_MK[test].astype(np.uint8), score_MK)
                        positives_K = y_MK[test].sum(0)
                        lines += [
                            f'{task},{test_folds[0]}-{test_folds[1]},{share},{draw},"{name}",{one},{n},{auc:.5f}'
                            for one, n, auc in zip(names, positives_K, auc_K, strict=True)
                            if np.isfinite(auc)
                        ]
    (Path(out) / "probe.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
