"""The local view: shares of a record's convolutions above thresholds."""

from itertools import combinations

import numpy as np
import pytest

from marecg.ecg.convolutions import (
    DILATIONS,
    KERNELS,
    TAPS,
    THRESHOLDS,
    VALUES,
    Bank,
    fitted,
    shares_above,
    shipped,
    slowed,
)


@pytest.fixture(scope="module")
def x_CL() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(12, 1003)).astype(np.float32)


def test_it_is_what_a_loop_over_kernels_leads_and_samples_counts(x_CL):
    bank, x_CN = shipped(), slowed(x_CL, 500)
    assert x_CN.shape == (12, 201)
    shares_SKQ = shares_above(x_CL, 500).reshape(len(DILATIONS), KERNELS, THRESHOLDS)
    highs = list(combinations(range(TAPS), 3))
    for s, k in ((0, 0), (3, 17), (7, 83), (12, 40)):
        summed_N = x_CN[bank.leads_SKC[s, k] == 1].sum(0)
        series = []
        for sample in range(201):
            taps = [(sample + (tap - 4) * DILATIONS[s], 2 if tap in highs[k] else -1) for tap in range(TAPS)]
            series.append(sum(weight * summed_N[at] for at, weight in taps if 0 <= at < 201))
        expected = [(np.array(series) > each).mean() for each in bank.threshold_SKQ[s, k].tolist()]
        np.testing.assert_allclose(shares_SKQ[s, k], expected, atol=1.5 / 201)


def test_the_shipped_bank_sums_some_leads_for_each_kernel():
    bank = shipped()
    assert bank.leads_SKC.shape == (len(DILATIONS), KERNELS, 12)
    assert bank.threshold_SKQ.size == VALUES == 13 * 84 * THRESHOLDS
    assert set(np.unique(bank.leads_SKC)) == {0, 1}
    assert bank.leads_SKC.sum(-1).min() >= 1
    assert np.isfinite(bank.threshold_SKQ).all()


def test_no_level_of_a_lead_moves_the_shares_and_its_height_does(x_CL):
    once = shares_above(x_CL, 500)
    assert once.shape == (VALUES,)
    assert once.min() >= 0
    assert once.max() <= 1
    raised = shares_above(x_CL + np.arange(12, dtype=np.float32)[:, None], 500)
    np.testing.assert_allclose(raised, once, atol=1.1 / 201)
    assert np.abs(shares_above(2 * x_CL, 500) - once).max() > 0.05


def test_thresholds_are_quantiles_of_the_records_that_they_are_fitted_on(x_CL):
    """Of one record alone, the share of samples above a threshold is one less the threshold's quantile."""
    bank, again = fitted(x_CL[None], 500, seed=3), fitted(x_CL[None], 500, seed=3)
    for one, other in zip(bank, again, strict=True):
        np.testing.assert_array_equal(one, other)
    quantile_V = np.arange(1, VALUES + 1) * (np.sqrt(5) + 1) / 2 % 1
    np.testing.assert_allclose(
        shares_above(x_CL, 500, bank), 1 - quantile_V, atol=4 / 201
    )  # ties by rounding


def test_a_kernel_whose_leads_are_still_has_all_samples_above_or_none(x_CL):
    leads_SKC = np.zeros((len(DILATIONS), KERNELS, 12), np.float32)
    leads_SKC[..., 0] = 1
    still_CL = x_CL.copy()
    still_CL[0] = 1.5
    shares_V = shares_above(still_CL, 500, Bank(leads_SKC, shipped().threshold_SKQ))
    assert set(np.unique(shares_V)) <= {0.0, 1.0}


def test_more_samples_above_than_a_byte_holds_are_counted():
    x_CL = np.random.default_rng(1).normal(size=(12, 11_003)).astype(np.float32)  # 276 words of 8 samples
    everything = Bank(np.ones((13, 84, 12), np.float32), np.full((13, 84, 9), -1e6, np.float32))
    assert (shares_above(x_CL, 500, everything) == 1).all()
