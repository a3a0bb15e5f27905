"""`embed` takes any signal that has a meaning, and what has none is one clear error."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from ecg_records.signal.leads import LEADS
from marecg.classify.classifier import EcgClassifier
from marecg.embedding.embed import embed
from marecg.errors import CheckpointError, UsageError
from marecg.model.card import Provenance
from marecg.model.mar_ecg import MarEcg
from marecg.use.predict import predict
from marecg.use.sklearn import EcgEmbedder

SIGNALS = np.random.default_rng(0).normal(size=(2, 12, 3500)).astype(np.float32)


def masked() -> np.ma.MaskedArray:
    hidden = np.zeros(SIGNALS.shape, bool)
    hidden[1, 3, 100:200] = True
    return np.ma.masked_array(SIGNALS, hidden)


def broken(value: float) -> NDArray[np.float64]:
    signals = SIGNALS.astype(np.float64)
    signals[1, 0, 0] = value
    return signals


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"signals": masked()}, "signals must not have masked values"),
        ({"signals": list(masked())}, "signals must not have masked values"),
        ({"signals": torch.from_numpy(SIGNALS).requires_grad_()}, r"array .* Give signals\.detach\(\)"),
        ({"signals": torch.from_numpy(SIGNALS).bfloat16()}, r"array .* Give signals\.detach\(\)"),
        ({"signals": broken(3e38)}, r"signals must be at most .* mV, got 3e\+38 mV in record 1"),
        ({"signals": broken(-3e38)}, r"signals must be at most .* mV, got 3e\+38 mV in record 1"),
        ({"signals": broken(1e300)}, "NaN or infinite values in 1 of 2 records"),
        ({"signals": broken(np.nan)}, "NaN or infinite values in 1 of 2 records, first in 1"),
        ({"signals": broken(np.inf)}, "NaN or infinite values in 1 of 2 records, first in 1"),
        *[
            ({"signals": signals, "leads": ["I"]}, r"signals must be (real numbers|an array)")
            for signals in ([["a"]], [[[1j]]], [[[1.0]], [[1.0, 2.0]]], [[[None]]])
        ],
        *[({"fs": fs}, "fs must be 50 to 100000 Hz, got") for fs in ("500", float("nan"), 0, -500, 0.5, 5e6)],
        ({"fs": None}, "^fs, the sampling rate in Hz, is required"),
        ({"batch_size": 0}, "batch_size must be .*, got 0"),
        ({"batch_size": 10**22}, "batch_size must be .*, got 10000000000000000000000"),
        ({"batch_size": 2.5}, "batch_size must be .*, got 2.5"),
        ({"leads": [None, *LEADS[1:]]}, r"leads must be a sequence of names, got \[None, "),
        ({"leads": None}, "leads must be a sequence of names, got None"),
        ({"leads": 12}, "leads must be a sequence of names, got 12"),
    ],
)
def test_what_is_no_signal_is_one_clear_error(model, change, problem):
    with pytest.raises(UsageError, match=problem) as error:
        embed(model, **({"signals": SIGNALS, "fs": 500, "leads": LEADS} | change))
    assert "\n" not in str(error.value)


def test_the_name_of_a_run_stands_for_its_model(model, tmp_path):
    model.save_pretrained(tmp_path / "run" / "model")
    for run in (tmp_path / "run", str(tmp_path / "run" / "model")):
        found = embed(run, SIGNALS, fs=500)
        np.testing.assert_allclose(found.rhythm, embed(model, SIGNALS, fs=500).rhythm, atol=1e-6)


def test_a_model_that_gives_nan_is_one_clear_error(micro):
    diverged = MarEcg(micro.model)
    torch.nn.init.constant_(diverged.tokens.project.weight, 1e38)
    with pytest.raises(CheckpointError, match="returns NaN or infinite values"):
        embed(diverged, SIGNALS, fs=500)


def test_a_model_that_saw_no_label_predicts_nothing(micro):
    model = MarEcg(micro.model)
    model.prototypes.normal_()
    about = {"recipe": "micro", "steps": 1, "records": 2, "sources": {}}
    model.provenance = Provenance(**about, support={"AF": 1, "NSR": 0})
    assert predict(model, SIGNALS, fs=500).shape == (2, 40)
    model.provenance = Provenance(**about, support={"AF": 0, "NSR": 0})
    with pytest.raises(UsageError, match="no training record had codes"):
        predict(model, SIGNALS, fs=500)


@pytest.mark.parametrize(
    ("shape", "leads", "problem"),
    [
        ((12, 3500), LEADS, r"signals\[None\]"),
        ((1, 3500, 12), LEADS, r"the leads are the last axis.*swapaxes"),
        ((1, 7, 3500), LEADS, r"12 leads, samples\], got shape \(1, 7, 3500\)"),
        ((0, 12, 3500), LEADS, "at least one record, got none"),
        ((0,), LEADS, "at least one record, got none"),  # an empty list
        ((1, 1, 3500), ("X",), r"unknown leads \['X'\].*aVR"),
        ((1, 2, 3500), ("I", "i"), "must have different names"),
        ((1, 0, 3500), (), "leads must not be empty"),
        ((1, 12, 49), LEADS, "must last at least 0.1 s"),
        ((1, 12, 0), LEADS, "must last at least 0.1 s"),
    ],
)
def test_a_wrong_shape_or_lead_is_one_clear_error(model, shape, leads, problem):
    with pytest.raises(UsageError, match=f"(?is){problem}"):
        embed(model, np.zeros(shape, np.float32), fs=500, leads=leads)


@pytest.mark.parametrize(("scale", "units"), [(1000, "microvolts"), (200, "microvolts"), (1e-3, "volts")])
def test_other_units_than_millivolts_are_embedded_with_a_warning(model, caplog, scale, units):
    x = np.random.default_rng(0).normal(scale=0.3, size=(2, 12, 3500)).astype(np.float32)
    embed(model, x, fs=500)
    assert not caplog.records
    adc = (x * scale).astype(np.int16) if scale > 1 else x * scale
    assert np.isfinite(embed(model, adc, fs=500).rhythm).all()
    assert [units in record.message for record in caplog.records] == [True]


def test_a_sampling_rate_is_asked_for_and_never_guessed(model, place):
    asking = [
        lambda: embed(model, SIGNALS),
        lambda: predict(model, SIGNALS),
        lambda: EcgEmbedder(place / "model").fit(SIGNALS),
        lambda: clone(EcgEmbedder(place / "model", fs=100)).set_params(fs=None).fit(SIGNALS),
        lambda: EcgClassifier(model).fit(SIGNALS, [0, 1]),
    ]
    for ask in asking:
        with pytest.raises(
            UsageError, match=r"^fs, the sampling rate in Hz, is required\. For example"
        ) as error:
            ask()
        assert "nan" not in str(error.value)
    for estimator in (EcgEmbedder, EcgClassifier):
        assert estimator("run").get_params()["fs"] is None
