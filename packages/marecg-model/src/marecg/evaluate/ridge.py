"""Ridge regression on ±1 targets: the classifier that MiniRocket's authors pair it with.

Shapes: M records, F features, K classes, G singular values, S strengths.
"""

import numpy as np
from sklearn.preprocessing import StandardScaler

from marecg.evaluate.metrics import macro_auc, scorable
from marecg.evaluate.probe import Part, Probe, check_val

ALPHAS = tuple(10.0**exponent for exponent in range(6, -3, -1))
"""The candidates for α, strongest first; Dempster et al. 2021 use 10⁻³ … 10³ on unscaled features."""


def choose_ridge(train: Part, val: Part) -> Probe:
    """Standardise on train, fit at every α by one singular value decomposition, keep the best on val.

    Raises:
        InputError: no class has both positives and negatives in val.
    """
    check_val(val)
    scaler = StandardScaler().fit(train.x_MF.astype(np.float64))
    x_MF, val_x_MF = (scaler.transform(part.x_MF.astype(np.float64)) for part in (train, val))
    target_MK = 2.0 * train.y_MK - 1
    bias_K = target_MK.mean(axis=0)
    u_MG, s_G, v_GF = np.linalg.svd(x_MF, full_matrices=False)
    projected_GK = u_MG.T @ (target_MK - bias_K)
    shrink_SG = s_G / (s_G**2 + np.array(ALPHAS)[:, None])
    seen_MG = val_x_MF @ v_GF.T
    auc_S = [macro_auc(val.y_MK, seen_MG @ (shrink_G[:, None] * projected_GK)) for shrink_G in shrink_SG]
    best = int(np.argmax(auc_S))
    weight_FK = v_GF.T @ (shrink_SG[best][:, None] * projected_GK)
    untrained = tuple(int(k) for k in np.flatnonzero(~scorable(train.y_MK)))
    return Probe(ALPHAS[best], auc_S[best], untrained, scaler, weight_FK, bias_K)
