"""The median beat, and what is told of a beat by the others."""

import numpy as np

from ecg_records.measurements.intervals import _medians_of_others
from ecg_records.measurements.median_beat import (
    ALIKE,
    HALF,
    NEAR,
    ROUNDS,
    SHIFT,
    _aligned,
    median_beat,
)


def test_beats_that_reach_beyond_the_record_count_where_they_are():
    windows_NKB = np.random.default_rng(0).normal(size=(5, 3, 20))
    windows_NKB[0, :, :6] = np.nan
    windows_NKB[4, :, 15:] = np.nan
    assert (median_beat(windows_NKB) == np.nanmedian(windows_NKB, axis=0)).all()
    windows_NKB[:, :, 0] = np.nan
    assert not median_beat(windows_NKB)[:, 0].any()


def test_each_beat_is_compared_with_the_median_of_all_others():
    for beats in (3, 4, 7, 8):
        x_NKB = np.random.default_rng(beats).integers(-2, 3, (beats, 2, 30)).astype(float)  # with ties
        expected = [np.median(np.delete(x_NKB, beat, axis=0), axis=0) for beat in range(beats)]
        assert (_medians_of_others(x_NKB) == expected).all()


def test_beats_are_aligned_as_a_loop_over_beats_and_shifts_aligns_them():
    for seed in range(6):
        draw = np.random.default_rng(seed)
        slope_KL = draw.normal(0, 0.02 * seed, (3, 2000))
        slope_KL[:, :300] = 0  # a stretch without a signal, in which a peak was found
        peaks_N = np.array([150, 370, 640, 900, 1200, 1510, 1934 - seed])
        shapes_GKW = draw.normal(size=(2, 3, 60))
        for beat, peak in enumerate(peaks_N[1:]):
            place = peak - 30 + (-12, 13, 13, 0, 5, -12)[beat]
            slope_KL[:, place : place + 60] += shapes_GKW[int(beat == 3)]
        places_N, alike_N = _aligned(slope_KL, peaks_N)
        expected_N, expected_alike_N = plainly_aligned(slope_KL, peaks_N)
        np.testing.assert_array_equal(alike_N, expected_alike_N)
        np.testing.assert_array_equal(places_N[alike_N], expected_N[alike_N])
        assert not alike_N[0]


def plainly_aligned(slope_KL: np.ndarray, peaks_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round by round, each beat to the shift at which its complex correlates most with the median one."""

    def unit(peak: int) -> np.ndarray:
        complex_KW = slope_KL[:, peak - HALF : peak + HALF]
        return complex_KW / max(np.linalg.norm(complex_KW), 1e-300)

    near_NN = np.array([[(unit(a) * unit(b)).sum() for b in peaks_N] for a in peaks_N])
    template_KW = unit(peaks_N[np.argmax((near_NN > NEAR).sum(1) + near_NN.mean(1) / 100)])
    for _ in range(ROUNDS):
        moved = []
        for peak in peaks_N:
            fits = [((unit(peak + by) * template_KW).sum(), peak + by) for by in range(-SHIFT, SHIFT + 1)]
            moved.append(max(fits))
        fits_N = np.array([fit for fit, _ in moved])
        alike_N = (fits_N > ALIKE) | (fits_N == fits_N.max())
        last = slope_KL.shape[1] - HALF - SHIFT - 1
        peaks_N = np.array([min(max(peak, HALF + SHIFT), last) for _, peak in moved])
        middle_KW = np.median([slope_KL[:, peak - HALF : peak + HALF] for peak in peaks_N[alike_N]], axis=0)
        template_KW = middle_KW / np.linalg.norm(middle_KW)
    return peaks_N, alike_N
