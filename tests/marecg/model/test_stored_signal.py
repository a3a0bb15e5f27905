"""Windows as corpora store them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marecg.model.stored_signal import to_microvolts, window


@given(st.integers(0, 30))
def test_a_window_is_the_beginning_of_the_signal_and_zeros(length):
    x_CL = np.ones((12, length), np.float32)
    y_CL, n_valid = window(x_CL, 20)
    assert y_CL.shape == (12, 20)
    assert n_valid == min(length, 20)
    assert y_CL.sum() == 12 * n_valid
    assert not y_CL[:, n_valid:].any()


def test_microvolts_are_rounded_and_held_at_the_limits_of_int16():
    found = to_microvolts(np.array([[0.0014, -0.0016, 40.0, -40.0]], np.float32))
    assert found.dtype == np.int16
    assert found.tolist() == [[1, -2, 32767, -32767]]
