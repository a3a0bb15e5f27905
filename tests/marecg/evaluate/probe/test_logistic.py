import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from marecg.evaluate.probe.linear import EXACT
from marecg.evaluate.probe.logistic import Logistic


def centred(records: int, features: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features with mean zero, and labels that follow them; every class has both kinds."""
    generator = np.random.default_rng(seed)
    x_MF = generator.normal(size=(records, features)) @ generator.normal(size=(features, features))
    y_MK = (x_MF[:, :classes] + generator.normal(0, 3, (records, classes)) > 1).astype(np.uint8)
    y_MK[0], y_MK[1] = 0, 1
    return x_MF - x_MF.mean(axis=0), y_MK


def fitted(x_MF: np.ndarray, y_MK: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray]:
    regression = Logistic.of(x_MF, y_MK)
    return regression.weights(regression.fit(regression.start(), strength, EXACT))


@pytest.mark.parametrize("features", [8, 90], ids=["fewer features than records", "more"])
@pytest.mark.parametrize("strength", [1e-4, 1e-1, 1e2])
def test_the_optimum_is_that_of_scikit_learn_at_a_tight_tolerance(features, strength):
    x_MF, y_MK = centred(60, features, 3)
    weight_FK, bias_K = fitted(x_MF, y_MK, strength)
    for y_M, weight_F, bias in zip(y_MK.T, weight_FK.T, bias_K, strict=True):
        slow = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-12).fit(x_MF, y_M)
        np.testing.assert_allclose(x_MF @ weight_F + bias, slow.decision_function(x_MF), 1e-3, 1e-4)


@given(st.integers(4, 40), st.integers(1, 40), st.floats(-4, 2), st.integers(0, 5))
def test_at_the_optimum_the_loss_has_no_slope(records, features, exponent, seed):
    x_MF, y_MK = centred(records, features, 1, seed)
    weight_FK, bias_K = fitted(x_MF, y_MK, 10**exponent)
    residual_MK = expit(x_MF @ weight_FK + bias_K) - y_MK
    slope_FK = x_MF.T @ residual_MK + weight_FK / 10**exponent
    assert abs(slope_FK).max() < 1e-4 * abs(x_MF).sum()
    assert abs(residual_MK.sum()) < 1e-4 * records


def test_classes_fitted_together_are_fitted_as_if_alone():
    x_MF, y_MK = centred(80, 10, 3)
    together_FK, _ = fitted(x_MF, y_MK, 0.1)
    alone_FK = np.hstack([fitted(x_MF, y_MK[:, [k]], 0.1)[0] for k in range(3)])
    np.testing.assert_allclose(together_FK, alone_FK, atol=1e-5)


def test_a_warm_start_changes_the_way_and_not_the_end():
    x_MF, y_MK = centred(80, 10, 2)
    regression = Logistic.of(x_MF, y_MK)
    warm_GK = regression.fit(regression.fit(regression.start(), 10.0, 1e-5), 0.1, EXACT)
    np.testing.assert_allclose(warm_GK, regression.fit(regression.start(), 0.1, EXACT), atol=1e-5)


def test_no_classes_are_fitted_in_no_time():
    weight_FK, bias_K = fitted(np.zeros((5, 3)), np.zeros((5, 0), np.uint8), 1.0)
    assert (weight_FK.shape, bias_K.shape) == ((3, 0), (0,))
