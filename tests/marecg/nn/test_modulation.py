"""The modulation spectrum: where beats repeat, and how evenly."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from marecg.nn.modulation import BANDS, FLOOR, GRID, HIGHEST, LOWEST, modulation_spectrum

EDGES = np.geomspace(LOWEST, HIGHEST, BANDS + 2)
CENTRES = EDGES[1:-1]


def beats(times: NDArray[np.floating], fs: int = 500, seconds: float = 7, height: float = 1) -> torch.Tensor:
    """Records [1, 12, L] of one narrow wave at each time."""
    t = np.arange(round(fs * seconds)) / fs
    wave = sum(np.exp(-0.5 * ((t - at) / 0.015) ** 2) for at in times)
    return torch.from_numpy(height * np.tile(wave, (1, 12, 1))).float()


def spectrum(x_BCL: torch.Tensor, fs: int = 500) -> NDArray[np.floating]:
    return modulation_spectrum(x_BCL, torch.full((len(x_BCL),), x_BCL.shape[-1]), fs)[0].numpy()


@pytest.mark.parametrize("rate", [0.8, 1.25, 2.5])
def test_even_beats_stand_out_at_their_rate_and_its_multiples(rate):
    spectrum_M = spectrum(beats(np.arange(0.2, 7, 1 / rate)))
    at, between = (np.abs(CENTRES - hz).argmin() for hz in (rate, 1.5 * rate))
    twice = np.abs(CENTRES - 2 * rate).argmin()
    assert spectrum_M[at] > 1.5
    assert spectrum_M[between] < min(spectrum_M[at], spectrum_M[twice]) - 2
    assert abs(CENTRES[: twice - 3][spectrum_M[: twice - 3].argmax()] - rate) < 0.15


def test_uneven_beats_of_the_same_number_make_it_flat():
    even = np.arange(0.3, 6.9, 0.6)
    uneven = np.sort(even + np.random.default_rng(0).uniform(-0.25, 0.25, len(even)))
    regular, irregular = (spectrum(beats(times)) for times in (even, uneven))
    above = CENTRES > 1.2
    assert regular[above].max() > irregular[above].max() + 0.5
    assert regular[above].std() > 1.2 * irregular[above].std()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n_valid=st.integers(2, 400), fs=st.sampled_from([100, 240, 500]))
def test_it_is_what_plain_sums_make_of_the_envelope(seed, n_valid, fs):
    x_BCL = torch.randn(2, 12, 400, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found_M = modulation_spectrum(x_BCL, torch.tensor([n_valid, 400]), fs)[0].numpy()
    slope = np.sqrt(np.square(np.diff(x_BCL[0, :, :n_valid].numpy())).sum(0))
    step, reach = max(1, round(fs / 50)), round(fs * 0.05)
    bump = np.hanning(2 * reach + 3)[1:-1]
    envelope = np.convolve(np.append(slope, 0), bump / bump.sum())[reach : reach + n_valid : step]
    place = np.arange(len(envelope))
    taper = np.sin(np.pi * (place + 0.5) / len(envelope)) ** 2
    wave = (envelope - envelope.mean()) / max(envelope.std(), 1e-6) * taper
    hz = np.arange(1, round(10 * HIGHEST) + 1) / 10
    power = abs(np.exp(-2j * np.pi * np.outer(hz, place) * step / fs) @ wave) ** 2 / len(envelope)
    for band, centre in enumerate(CENTRES):
        ends = [min(EDGES[band], centre - GRID), centre, max(EDGES[band + 2], centre + GRID)]
        mean = np.average(power, weights=np.interp(hz, ends, [0, 1, 0]))
        assert found_M[band] == pytest.approx(math.log(mean + FLOOR), abs=2e-3)


def test_height_offset_and_what_lies_in_padding_change_nothing():
    x_BCL = beats(np.arange(0.2, 7, 0.8))
    padded = torch.cat([x_BCL, torch.full((1, 12, 500), 3.0)], -1)
    expected = spectrum(x_BCL)
    np.testing.assert_allclose(spectrum(5 * x_BCL + 2), expected, atol=1e-2)
    spectrum_M = modulation_spectrum(padded, torch.tensor([3500]), 500)[0].numpy()
    np.testing.assert_allclose(spectrum_M, expected, atol=1e-4)


def test_a_still_record_is_all_floor():
    np.testing.assert_allclose(spectrum(torch.ones(1, 12, 3500)), math.log(FLOOR), atol=1e-5)
