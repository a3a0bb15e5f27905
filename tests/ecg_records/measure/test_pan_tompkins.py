"""The paper's detector is NeuroKit2's, answer by answer."""

from functools import cache

import neurokit2 as nk
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.rpeaks import annotated, find_raw
from ecg_records.signal.filters import in_band, pan_tompkins

RATES = (250, 360, 500, 1000)


@cache
def leads() -> tuple[np.ndarray, ...]:
    """Lead I of synthetic records of every diagnosis."""
    return tuple(lead for lead, _ in annotated(40))


def agree(lead: np.ndarray, fs: int) -> bool:
    ours, theirs = pan_tompkins(in_band(lead[None], fs), fs)[0], find_raw(lead, fs)
    return ours == theirs.tolist()


def test_it_answers_what_neurokit_answers_on_every_rhythm():
    assert all(agree(lead, 500) for lead in leads())
    assert sum(len(find_raw(lead, 500)) for lead in leads()) > 300


def test_a_beat_that_was_missed_is_searched_for_as_neurokit_does():
    """One small beat among large ones stays below the threshold until the next is late."""
    place = np.arange(0.5, 20, 0.8)
    height = np.where(np.arange(len(place)) == 15, 0.35, 1.0)
    time = np.arange(10_000)[:, None] / 500 - place
    lead = (height * np.exp(-((time / 0.012) ** 2))).sum(1)
    assert agree(lead, 500)
    found = pan_tompkins(in_band(lead[None], 500), 500)[0]
    assert np.abs(np.array(found) / 500 - place[15]).min() < 0.15


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(300, 6000), st.sampled_from(RATES), st.booleans())
def test_it_answers_what_neurokit_answers_on_any_noise(seed, length, fs, steps):
    noise = np.random.default_rng(seed).normal(size=max(length, fs))
    assert agree(np.round(3 * noise) if steps else noise.cumsum(), fs)


@pytest.mark.parametrize("fs", RATES)
def test_its_filter_is_neurokits(fs):
    x_CL = np.stack(leads()[:3]) + 0.2
    theirs = [nk.ecg_clean(lead, sampling_rate=fs, method="pantompkins1985") for lead in x_CL]
    np.testing.assert_array_equal(in_band(x_CL, fs), theirs)
