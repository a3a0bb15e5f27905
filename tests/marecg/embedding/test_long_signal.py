"""A recording of hours is embedded piece by piece as one in memory is."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.made_records import make_ecg

from ecg_records.signal.leads import LEADS
from ecg_records.stretch import Stretch
from marecg.embedding import recordings
from marecg.embedding.embed import embed, encode
from marecg.embedding.recordings import LongSignal, read_recording
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.use.predict import concepts, predict


def reader(x_CL: NDArray[np.float32], fs: float):
    def read(seconds=None, start=0.0):
        cut = Stretch(start, seconds).samples(fs, x_CL.shape[1])
        return SimpleNamespace(x_KL=x_CL[:, cut], fs=fs, leads=LEADS, length=x_CL.shape[1])

    return read


@pytest.fixture(scope="module")
def x_CL() -> NDArray[np.float32]:
    """Five and a half minutes at 500 Hz: more than two pieces."""
    seconds = [make_ecg(seed=seed).astype(np.float32) for seed in range(7)]
    return np.tile(np.concatenate(seconds, axis=1)[:, :31_111], 5)


@pytest.mark.parametrize(("step", "tolerance"), [(1, 1e-6), (2, 2e-3)])
def test_it_is_embedded_as_the_same_array_is(model, x_CL, step, tolerance):
    y_CL, fs = np.ascontiguousarray(x_CL[:, ::step]), 500 / step
    record, whole = read_recording(reader(y_CL, fs), model.config)
    assert isinstance(whole.x_CL, LongSignal)
    assert record.x_KL.shape[1] == recordings.PIECE_S * fs
    (alone,) = encode(model, [whole])
    whole = embed(model, y_CL[None], fs=fs, readout="wide")
    for piecewise, expected in ((alone.wide, whole.wide[0]), (alone.patch, whole.patch[0])):
        np.testing.assert_allclose(piecewise, expected, atol=tolerance * np.abs(expected).max())


def test_a_gap_at_its_end_is_found_before_it_is_half_embedded(model, x_CL):
    broken = x_CL.copy()
    broken[3, -5] = np.nan
    with pytest.raises(UsageError, match="NaN or infinite"):
        read_recording(reader(broken, 500), model.config)


def test_no_more_is_held_than_two_pieces_and_what_a_shifted_window_may_ask_again(model, x_CL):
    signal = LongSignal(reader(x_CL, 500), x_CL.shape[1], 500, model.config)
    held = []
    for start in range(0, signal.shape[1] - 3500, 3500):
        np.testing.assert_array_equal(signal[:, start : start + 3500], x_CL[:, start : start + 3500])
        held.append(signal._samples.shape[1])
    assert max(held) <= 2 * recordings.PIECE_S * 500 + 3500


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_a_model_that_was_cast_takes_signals_of_its_kind(micro, kind, x_CL):
    cast = MarEcg(micro.model).to(kind)
    torch.nn.init.normal_(cast.prototypes)
    rhythm_BD = embed(cast, x_CL[None, :, :5000], fs=500).rhythm
    assert np.isfinite(concepts(cast, rhythm_BD)).all()


def test_a_signal_without_its_sampling_rate_is_refused(model, x_CL):
    for function in (embed, predict):
        with pytest.raises(UsageError, match="fs, the sampling rate in Hz, is required"):
            function(model, x_CL[None, :, :5000])
