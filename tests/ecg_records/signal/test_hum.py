"""Mains hum is subtracted, and a signal without it stays as it is."""

import numpy as np
import pytest

from ecg_records.signal.hum import without_hum

FS = 500


@pytest.mark.parametrize("seconds", [3, 10, 47])
def test_hum_is_subtracted_from_the_leads_that_have_it(seconds):
    rng, t_L = np.random.default_rng(1), np.arange(seconds * FS) / FS
    clean_KL = rng.normal(0, 0.01, (3, len(t_L))) + np.sin(2 * np.pi * 1.2 * t_L)
    hum_KL = np.array([[0.3], [0.0], [0.05]]) * np.sin(2 * np.pi * 49.95 * t_L)
    left_KL = without_hum(clean_KL + hum_KL, FS)
    assert abs(left_KL - clean_KL).max() < 0.03
    np.testing.assert_array_equal(left_KL[1], clean_KL[1])


def test_a_signal_without_hum_stays_as_it_is():
    noise_KL = np.random.default_rng(2).normal(0, 0.3, (2, 5000))
    for x_KL, fs in ((noise_KL, FS), (noise_KL, 100), (noise_KL[:, :30], FS), (np.zeros((2, 5000)), FS)):
        np.testing.assert_array_equal(without_hum(x_KL, fs), x_KL)
