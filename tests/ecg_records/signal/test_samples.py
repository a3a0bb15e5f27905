"""Leads in order, and samples at another rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecg_records.errors import RecordError
from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import order_leads, resample


@given(st.permutations(range(12)))
def test_ordering_undoes_any_permutation_of_the_leads(order):
    x_CL = np.arange(24, dtype=np.float32).reshape(12, 2)
    np.testing.assert_array_equal(order_leads(x_CL[order], [LEADS[lead] for lead in order]), x_CL)


def test_a_lead_that_is_missing_is_named():
    with pytest.raises(RecordError, match="aVR, V6"):
        order_leads(np.zeros((10, 2), np.float32), [lead for lead in LEADS if lead not in ("aVR", "V6")])


@pytest.mark.parametrize("fs", [100, 250, 257, 360, 1000])
def test_a_slow_wave_keeps_its_shape_at_another_rate(fs):
    wave = [np.sin(2 * np.pi * 5 * np.arange(4 * rate) / rate) for rate in (fs, 500)]
    found = resample(wave[0][None].astype(np.float32), fs)[0]
    assert len(found) == len(wave[1])
    np.testing.assert_allclose(found[100:-100], wave[1][100:-100], atol=0.01)


def test_a_constant_offset_does_not_ring_at_the_edges():
    np.testing.assert_allclose(resample(np.full((12, 1000), 3, np.float32), 1000), 3, atol=1e-3)


def test_noise_above_the_new_half_rate_is_removed():
    hum = np.sin(2 * np.pi * 400 * np.arange(4000) / 1000)[None].astype(np.float32)
    assert np.abs(resample(hum, 1000)[:, 100:-100]).max() < 0.01
