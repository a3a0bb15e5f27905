"""A filter without delay gives what scipy's own call gives."""

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from ecg_records.signal.filters import zero_phase


@pytest.mark.parametrize(
    ("order", "hertz", "kind"),
    [(2, 0.5, "high"), (2, 40, "low"), (2, (5, 15), "bandpass"), (4, 12, "low"), (1, (5, 15), "bandpass")],
)
@pytest.mark.parametrize("shape", [(3, 900), (2, 3, 575), (40,)])
def test_a_filter_run_both_ways_gives_what_scipy_gives(order, hertz, kind, shape):
    x = 3 + np.random.default_rng(0).normal(size=shape).cumsum(-1)
    sos = butter(order, hertz, kind, fs=500, output="sos")
    np.testing.assert_array_equal(zero_phase(x, sos), sosfiltfilt(sos, x))
