"""From a recording to a batch of windows."""

import numpy as np
import pytest
import torch

from ecg_records.signal.leads import LEADS
from marecg.errors import UsageError
from marecg.model.config import ModelConfig
from marecg.model.windows import recording, stacked, tta_windows


def test_leads_stand_in_their_order_whichever_comes_first():
    config = ModelConfig()
    x_CL = np.arange(12 * 5000, dtype=np.float32).reshape(12, 5000) / 60000
    whole = recording(x_CL, 500, LEADS, config)
    turned = recording(x_CL[::-1], 500, LEADS[::-1], config)
    np.testing.assert_array_equal(whole.x_CL, x_CL)
    np.testing.assert_array_equal(turned.x_CL, x_CL)
    assert not whole.absent_C.any()
    assert not turned.absent_C.any()


def test_leads_that_are_not_given_are_zero_and_absent():
    rising_KL = np.tile(np.linspace(0, 1, 5000, dtype=np.float32), (2, 1))
    whole = recording(rising_KL, 500, ["V6", "i"], ModelConfig())
    given = [lead in ("I", "V6") for lead in LEADS]
    np.testing.assert_array_equal(whole.x_CL.max(axis=1), np.array(given, np.float32))
    np.testing.assert_array_equal(~whole.absent_C, given)


def test_a_lead_that_never_moves_is_zero():
    x_CL = np.tile(np.linspace(0, 1, 5000, dtype=np.float32), (12, 1))
    x_CL[7] = 0.3
    assert np.flatnonzero(~recording(x_CL, 500, LEADS, ModelConfig()).x_CL.any(axis=1)).tolist() == [7]


def test_what_lies_behind_a_short_recording_is_zero_whatever_memory_held(monkeypatch):
    config = ModelConfig()
    whole = recording(np.tile(np.float32([1, 2]), (12, 500)), 500, LEADS, config)
    cut = list(tta_windows(whole, config))
    monkeypatch.setattr(np, "empty", lambda shape, dtype: np.full(shape, np.nan, dtype))
    x_BCL, n_valid_B, _ = (each.numpy() for each in stacked(cut, config))
    for x_CL, n_valid in zip(x_BCL, n_valid_B, strict=True):
        assert (x_CL[:, :n_valid] >= 1).all()
        assert (x_CL[:, n_valid:] == 0).all()


def test_windows_are_stacked_on_the_model_s_device():
    config = ModelConfig()
    cut = list(tta_windows(recording(np.ones((2, 5000), np.float32), 500, ["I", "II"], config), config))
    there = stacked(cut, config, "meta")
    shapes = [(len(cut), 12, config.context), (len(cut),), (len(cut), 12)]
    assert [each.shape for each in there] == shapes
    assert [each.dtype for each in there] == [torch.float32, torch.int64, torch.bool]
    assert {each.device.type for each in there} == {"meta"}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_recording_with_a_sample_that_is_not_finite_is_refused(value):
    x_CL = np.ones((12, 5000), np.float32)
    x_CL[3, 7] = value
    with pytest.raises(UsageError, match="must be finite"):
        recording(x_CL, 500, LEADS, ModelConfig())
