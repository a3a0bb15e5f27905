"""Ridge regression on ±1 targets: the classifier that MiniRocket's authors pair it with.

Shapes: M records, F features, K classes, G eigenvalues, S strengths.
"""

import numpy as np

from marecg.evaluate.probe.linear import Part, Probe, check_labels
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable

ALPHAS = tuple(10.0**exponent for exponent in range(6, -3, -1))
"""The candidates for α, strongest first; Dempster et al. 2021 use 10⁻³ … 10³ on unscaled features."""


def choose_ridge(train: Part, val: Part) -> Probe:
    """Standardise on train, fit at every α by one eigendecomposition, keep the best on val.

    Raises:
        InputError: no class has both positives and negatives in val.
    """
    check_labels(val.y_MK, "validation")
    scaler = train.scaler()
    x_MF, val_x_MF = (scaler.transform(part.x_MF.astype(np.float64)) for part in (train, val))
    target_MK = 2.0 * train.y_MK - 1
    bias_K = target_MK.mean(axis=0)
    basis_FG, projected_GK, eigenvalue_G = _decompose(x_MF, target_MK - bias_K)
    shrink_SG = 1 / (eigenvalue_G + np.array(ALPHAS)[:, None])
    seen_MG = val_x_MF @ basis_FG
    auc_S = [macro_auc(val.y_MK, seen_MG @ (shrink_G[:, None] * projected_GK)) for shrink_G in shrink_SG]
    best = int(np.argmax(auc_S))
    weight_FK = basis_FG @ (shrink_SG[best][:, None] * projected_GK)
    untrained = tuple(int(k) for k in np.flatnonzero(~scorable(train.y_MK)))
    return Probe(ALPHAS[best], auc_S[best], untrained, scaler, weight_FK, bias_K)


def _decompose(x_MF: Floats, target_MK: Floats) -> tuple[Floats, Floats, Floats]:
    """(basis [F, G], projected targets [G, K], eigenvalues [G]): the weights are basis · projected / (λ + α).

    By the smaller of the two Gram matrices: with fewer records than features that of the records.
    """
    if len(x_MF) <= x_MF.shape[1]:
        eigenvalue_G, u_MG = np.linalg.eigh(x_MF @ x_MF.T)
        return x_MF.T @ u_MG, u_MG.T @ target_MK, eigenvalue_G.clip(0)
    eigenvalue_G, v_FG = np.linalg.eigh(x_MF.T @ x_MF)
    return v_FG, v_FG.T @ (x_MF.T @ target_MK), eigenvalue_G.clip(0)
