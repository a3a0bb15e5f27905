"""The median beat, and what is told of a beat by the others."""

import numpy as np

from marecg.ecg.intervals import _medians_of_others
from marecg.ecg.median_beat import median_beat


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
