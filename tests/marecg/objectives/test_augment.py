"""The two augmentation sets."""

import numpy as np
import pytest
import torch
from torch import Tensor

from ecg_records.measurements.rpeaks import detect
from ecg_synth import record
from marecg.objectives.augment import (
    AUGMENTATIONS,
    _positions,
    _resized,
    denoised,
    rhythm_safe,
    unconstrained,
)

FS = 500


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def whole(records: Tensor) -> Tensor:
    """No record has padding."""
    return torch.full((len(records),), records.shape[-1])


@pytest.fixture(scope="module")
def records() -> Tensor:
    """Sixteen synthetic records in mV."""
    names = ("NSR", "AF", "SBrad", "STach", "LBBB", "PVC", "AntMI", "LVH") * 2
    drawn = [record(name, rng=np.random.default_rng([7, index])) for index, name in enumerate(names)]
    return torch.from_numpy(np.stack([one.leads_mv for one in drawn])).float()[..., :4700]


def test_the_rhythm_safe_set_moves_no_r_peak(records):
    for seed in range(3):
        moved = rhythm_safe(records, whole(records), FS, generator(seed))
        near, beats = 0, 0
        for before, after in zip(records.numpy(), moved.numpy(), strict=True):
            peaks, peaks_after = detect(before[0], FS), detect(after[0], FS)
            beats += len(peaks)
            near += sum(bool(len(peaks_after)) and np.abs(peaks_after - peak).min() <= 2 for peak in peaks)
        assert near / beats > 0.97


def test_the_unconstrained_set_does_move_them(records):
    moved = unconstrained(records, whole(records), FS, generator())
    in_lead_i = zip(records.numpy()[:, 0], moved.numpy()[:, 0], strict=True)
    peaks = ([detect(lead, FS) for lead in leads] for leads in in_lead_i)
    near = [
        np.abs(after[:, None] - before).min(1) <= 2 for before, after in peaks if len(before) * len(after)
    ]
    assert np.concatenate(near).mean() < 0.5


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_an_augmentation_follows_its_generator_and_keeps_shape_and_finiteness(records, name):
    before = records.clone()
    augment = AUGMENTATIONS[name]
    first, same, other = (augment(records, whole(records), FS, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, same)
    assert torch.equal(first, other) == (name == "denoised")  # a filter draws nothing
    assert first.shape == records.shape
    assert first.isfinite().all()
    assert torch.equal(records, before), "its input stays as it was"


def test_a_denoised_record_keeps_its_beats_and_loses_wander_and_hum():
    seconds = torch.arange(10 * FS) / FS
    beat = torch.sin(2 * torch.pi * 8 * seconds)
    noisy = beat + torch.sin(2 * torch.pi * 0.2 * seconds) + torch.sin(2 * torch.pi * 50 * seconds) + 3
    x = noisy.expand(2, 12, -1)
    clear = denoised(x, whole(x), FS, generator())
    torch.testing.assert_close(clear, beat.expand_as(clear), atol=1e-3, rtol=0)


def test_the_gain_of_a_lead_is_drawn_between_a_half_and_two(records):
    leads = records[:, :, :2000]
    augmented = [rhythm_safe(leads, whole(leads), FS, generator(seed)) for seed in range(5)]
    ratio = torch.cat([(each.std(-1) / leads.std(-1)).flatten() for each in augmented])
    assert 0.45 < ratio.min() < ratio.quantile(0.02) < 0.7
    assert 1.7 < ratio.quantile(0.98) < ratio.max() < 2.6


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_what_is_padding_stays_padding_and_moves_nothing(records, name):
    n_valid = torch.full((len(records),), 2500)
    n_valid[::2] = records.shape[-1]
    noise = torch.randn(records.shape, generator=generator(9))
    real = torch.arange(records.shape[-1]) < n_valid[:, None, None]
    inputs = (torch.where(real, records, rest) for rest in (torch.zeros(()), noise))
    padded, dirty = (AUGMENTATIONS[name](x_BCL, n_valid, FS, generator()) for x_BCL in inputs)
    assert not padded[~real.expand_as(padded)].any()
    torch.testing.assert_close(padded, dirty)


def test_the_crop_of_a_short_record_lies_in_the_record():
    ramp = torch.arange(4700.0).expand(8, 12, -1).clone()
    n_valid = torch.full((8,), 2500)
    cropped = _resized(ramp, n_valid, 0.2 + 0.5 * _positions(ramp, n_valid))
    expected = torch.tensor([0.2, 0.2 + 0.5 * 1000 / 2499, 0.7]) * 2499
    torch.testing.assert_close(cropped[0, 0, [0, 1000, 2499]], expected)
