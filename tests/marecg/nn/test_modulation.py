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
    found = spectrum(beats(np.arange(0.2, 7, 1 / rate)))
    at, between = (np.abs(CENTRES - hz).argmin() for hz in (rate, 1.5 * rate))
    twice = np.abs(CENTRES - 2 * rate).argmin()
    assert found[at] > 1.5
    assert found[between] < min(found[at], found[twice]) - 2
    assert abs(CENTRES[: twice - 3][found[: twice - 3].argmax()] - rate) < 0.15


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
    x = x_BCL[0].numpy()
    slope = [math.sqrt(sum((x[c, i + 1] - x[c, i]) ** 2 for c in range(12))) for i in range(n_valid - 1)]
    step, reach = max(1, round(fs / 50)), round(fs * 0.05)
    bump = [math.sin(math.pi * (k + 1) / (2 * reach + 2)) ** 2 for k in range(2 * reach + 1)]
    envelope = [
        sum(bump[k] * slope[at + k - reach] for k in range(len(bump)) if 0 <= at + k - reach < len(slope))
        / sum(bump)
        for at in range(0, n_valid, step)
    ]
    count, mean = len(envelope), sum(envelope) / len(envelope)
    spread = max(math.sqrt(sum((value - mean) ** 2 for value in envelope) / count), 1e-6)
    wave = [
        (value - mean) / spread * math.sin(math.pi * (i + 0.5) / count) ** 2
        for i, value in enumerate(envelope)
    ]
    for band in range(BANDS):
        centre = CENTRES[band]
        below, above = min(EDGES[band], centre - GRID), max(EDGES[band + 2], centre + GRID)
        weights, powers = [], []
        for tenth in range(1, round(10 * HIGHEST) + 1):
            hz = tenth / 10
            weights.append(max(min((hz - below) / (centre - below), (above - hz) / (above - centre)), 0))
            turn = 2 * math.pi * hz * step / fs
            real = sum(value * math.cos(turn * i) for i, value in enumerate(wave))
            imaginary = sum(value * math.sin(turn * i) for i, value in enumerate(wave))
            powers.append((real**2 + imaginary**2) / count)
        power = sum(w * p for w, p in zip(weights, powers, strict=True)) / sum(weights)
        assert found_M[band] == pytest.approx(math.log(power + FLOOR), abs=2e-3)


def test_height_offset_and_what_lies_in_padding_change_nothing():
    x_BCL = beats(np.arange(0.2, 7, 0.8))
    padded = torch.cat([x_BCL, torch.full((1, 12, 500), 3.0)], -1)
    expected = spectrum(x_BCL)
    np.testing.assert_allclose(spectrum(5 * x_BCL + 2), expected, atol=1e-2)
    found = modulation_spectrum(padded, torch.tensor([3500]), 500)[0].numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_still_record_is_all_floor():
    np.testing.assert_allclose(spectrum(torch.ones(1, 12, 3500)), math.log(FLOOR), atol=1e-5)
