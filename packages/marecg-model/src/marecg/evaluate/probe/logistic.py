"""Logistic regression with an L2 penalty, all classes at once, at one strength after another.

The features are turned to their principal axes, where their Gram matrix is diagonal. That matrix times a
class's mean p(1 − p) is nearly the curvature of its loss, so dividing each axis by its root lets L-BFGS
take few steps; one decomposition serves every class and every strength.
Shapes: M records, F features, G principal axes and the intercept, K classes.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from threadpoolctl import ThreadpoolController

from marecg.evaluate.scores.metrics import Floats

FLAT = 1e-6
"""The least curvature that is assumed of a class: that of separable records goes to nothing."""

SMALL = 10**8
"""Below so many operations per product one thread: on a busy machine several wait long for each other."""


@dataclass(frozen=True)
class Logistic:
    """A regression of K labels on features that are centred.

    Attributes:
        x_MG: the features on their principal axes, and a column of ones.
        y_MK: the labels as numbers; every class has both kinds.
        axis_FG: the principal axes, without the intercept.
        gram_G: the squared length of every column of x_MG.
    """

    x_MG: Floats
    y_MK: Floats
    axis_FG: Floats
    gram_G: Floats

    @classmethod
    def of(cls, x_MF: Floats, y_MK: NDArray[np.uint8]) -> "Logistic":
        """Turn the features to their axes: with fewer records than features to those of the records' span."""
        records, features = x_MF.shape
        if records < features:
            _, length_G, axes_GF = np.linalg.svd(x_MF, full_matrices=False)
            axis_FG, gram_G = axes_GF.T, length_G**2
        else:
            gram_G, axis_FG = np.linalg.eigh(x_MF.T @ x_MF)
        x_MG = np.column_stack([x_MF @ axis_FG, np.ones(records)])
        return cls(x_MG, y_MK.astype(np.float64), axis_FG, np.append(gram_G.clip(0), records))

    def start(self) -> Floats:
        """θ [G, K] of infinite strength: no weights, and every class's log-odds."""
        theta_GK = np.zeros((len(self.gram_G), self.y_MK.shape[1]))
        theta_GK[-1] = logit(self.y_MK.mean(axis=0))
        return theta_GK

    def fit(self, start_GK: Floats, strength: float, tolerance: float) -> Floats:
        """Minimise the summed cross-entropy plus ‖w‖² / 2C, C being `strength`: θ [G, K].

        Args:
            start_GK: where to start.
            strength: C; the intercept is not penalised.
            tolerance: the largest slope left, per record, along axes scaled to unit curvature.
        """
        if not start_GK.size:
            return start_GK
        records = len(self.x_MG)
        penalty_G1 = np.append(np.full(len(self.gram_G) - 1, 1 / strength), 0.0)[:, None]
        p_MK = expit(self.x_MG @ start_GK)
        curvature_K = (p_MK * (1 - p_MK)).mean(axis=0).clip(FLAT)
        scale_GK = np.sqrt(records / (self.gram_G[:, None] * curvature_K + penalty_G1))

        def loss(flat: Floats) -> tuple[float, Floats]:
            theta_GK = scale_GK * flat.reshape(scale_GK.shape)
            logits_MK = self.x_MG @ theta_GK
            value = (np.logaddexp(0, logits_MK) - self.y_MK * logits_MK).sum()
            value += (penalty_G1 * theta_GK**2).sum() / 2
            slope_GK = self.x_MG.T @ (expit(logits_MK) - self.y_MK) + penalty_G1 * theta_GK
            return value / records, (scale_GK * slope_GK).ravel() / records

        with _threads(2 * self.x_MG.size * self.y_MK.shape[1]):
            found = minimize(
                loss,
                (start_GK / scale_GK).ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"gtol": tolerance, "ftol": 0.0, "maxiter": 1000, "maxfun": 2000, "maxcor": 20},
            )
        return np.asarray(scale_GK * found.x.reshape(scale_GK.shape))

    def weights(self, theta_GK: Floats) -> tuple[Floats, Floats]:
        """(weights [F, K] of the features themselves, intercepts [K])."""
        return self.axis_FG @ theta_GK[:-1], theta_GK[-1]


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _threads(operations: int) -> AbstractContextManager[object]:
    """One thread for small products, as many as there are for others."""
    return _libraries().limit(limits=1 if operations < SMALL else None, user_api="blas")  # type: ignore[no-any-return]
