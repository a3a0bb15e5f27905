"""Numbers, arrays, frames and models of other types than float32 arrays and models in float32."""

import numpy as np
import pandas as pd
import pytest
import torch

import marecg
import marecg_small
from marecg.errors import UsageError

SIGNALS, FS, LEADS = marecg_small.example()
X = np.array(SIGNALS, np.float32)[None, :, :3500]
NAME = "marecg-small-codes"


@pytest.fixture(scope="module")
def rhythm() -> np.ndarray:
    return marecg.embed(NAME, X, fs=FS).rhythm


@pytest.fixture
def double_by_default():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_a_default_type_of_float64_changes_nothing(rhythm, double_by_default):
    np.testing.assert_array_equal(marecg.embed(NAME, X, fs=FS).rhythm, rhythm)
    net = marecg.MarEcg.from_pretrained(NAME).classifier(n_classes=2)
    assert net(torch.from_numpy(X)).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_cast_classifier_runs_and_a_cast_model_is_saved_in_float32(dtype, rhythm, tmp_path):
    model = marecg.MarEcg.from_pretrained(NAME).to(dtype)
    assert model.classifier(n_classes=2)(torch.from_numpy(X)).dtype == dtype
    model.save_pretrained(tmp_path / "cast")
    again = marecg.MarEcg.from_pretrained(tmp_path / "cast")
    assert again.prototypes.dtype == torch.float32
    np.testing.assert_allclose(marecg.embed(again, X, fs=FS).rhythm, rhythm, atol=0.1)


@pytest.mark.parametrize("n_classes", [0, None, 2.0])
def test_a_number_of_classes_is_a_positive_integer(n_classes):
    with pytest.raises(UsageError, match="n_classes must be a positive integer, got"):
        marecg.MarEcg(marecg.recipes.tiny().model).classifier(n_classes=n_classes)


def test_strict_floating_point_errors_of_numpy_change_nothing():
    expected = marecg.embed(NAME, X, fs=FS, readout="full").wide
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(marecg.embed(NAME, X, fs=FS, readout="full").wide, expected)


def test_a_data_frame_names_its_leads(rhythm):
    frame = pd.DataFrame(X[0].T, columns=list(LEADS))
    turned = frame[list(LEADS)[::-1]]
    for signals in (frame, turned, [turned]):
        np.testing.assert_allclose(marecg.embed(NAME, signals, fs=FS).rhythm, rhythm, atol=1e-5)
    two = marecg.embed(NAME, X[:, [1, 6]], fs=FS, leads=["II", "V1"]).rhythm
    np.testing.assert_allclose(marecg.embed(NAME, frame[["V1", "II"]], fs=FS).rhythm, two, atol=1e-5)
    np.testing.assert_allclose(marecg.embed(NAME, frame, fs=FS, leads=["II", "V1"]).rhythm, two, atol=1e-5)
    np.testing.assert_allclose(marecg.EcgEmbedder(NAME, fs=FS).fit_transform(turned), rhythm, atol=1e-5)
    with pytest.raises(UsageError, match="unknown leads \\['time'\\]"):
        marecg.embed(NAME, frame.assign(time=0.0), fs=FS)
    with pytest.raises(UsageError, match="a data frame must have a column for each lead, got none for V2"):
        marecg.EcgEmbedder(NAME, fs=FS).fit(frame.drop(columns="V2"))


def test_a_flat_record_is_reported(caplog):
    marecg.predict(NAME, np.concatenate([X, np.zeros_like(X)]), fs=FS)
    assert "1 of 2 records are flat in every lead, first record 1" in caplog.text
