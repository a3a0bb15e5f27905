"""`embed`: any sampling rate, length and set of leads."""

import numpy as np
import pytest
import torch

from marecg.config import LEADS, Config
from marecg.errors import UsageError
from marecg.inference import embed
from marecg.model import MarEcg


@pytest.fixture(scope="module")
def model(micro: Config) -> MarEcg:
    torch.manual_seed(0)
    return MarEcg(micro.model)


def test_a_record_of_the_contexts_length_is_one_forward_pass(model: MarEcg) -> None:
    x = np.random.default_rng(0).normal(size=(3, 12, 3500)).astype(np.float32)
    embeddings = embed(model, x, fs=500, batch_size=2)
    with torch.no_grad():
        direct = model.eval()(torch.from_numpy(x), torch.full((3,), 3500))
    np.testing.assert_allclose(embeddings.rhythm, direct.rhythm_BD.numpy(), atol=1e-5)
    np.testing.assert_allclose(embeddings.patch, direct.patch_BTD.numpy(), atol=1e-5)


def test_a_longer_record_is_read_in_windows_that_cover_it(model: MarEcg) -> None:
    x = np.random.default_rng(0).normal(size=(1, 12, 5000)).astype(np.float32)
    whole = embed(model, x, fs=500)
    first, last = (embed(model, x[..., start : start + 3500], fs=500) for start in (0, 1500))
    np.testing.assert_allclose(whole.rhythm, (first.rhythm + last.rhythm) / 2, atol=1e-5)
    assert whole.patch.shape == (1, 100, 16)
    np.testing.assert_allclose(whole.patch[:, :30], first.patch[:, :30], atol=1e-5)
    np.testing.assert_allclose(whole.patch[:, -30:], last.patch[:, -30:], atol=1e-5)
    np.testing.assert_allclose(
        whole.patch[:, 30:70], (first.patch[:, 30:] + last.patch[:, :40]) / 2, atol=1e-5
    )


def test_the_order_and_the_case_of_the_leads_do_not_matter(model: MarEcg) -> None:
    x = np.random.default_rng(0).normal(size=(1, 12, 3500)).astype(np.float32)
    order = np.random.default_rng(1).permutation(12)
    names = [LEADS[place].upper() for place in order]
    expected = embed(model, x, fs=500).rhythm
    np.testing.assert_allclose(embed(model, x[:, order], fs=500, leads=names).rhythm, expected, atol=1e-5)


def test_an_absent_lead_is_hidden_not_taken_for_a_flat_one(model: MarEcg) -> None:
    x = np.random.default_rng(0).normal(size=(1, 12, 3500)).astype(np.float32)
    absent = embed(model, x[:, :6], fs=500, leads=LEADS[:6]).rhythm
    flat = np.concatenate([x[:, :6], np.zeros_like(x[:, 6:])], axis=1)
    assert np.abs(absent - embed(model, flat, fs=500).rhythm).max() > 1e-4
    noise = torch.from_numpy(np.concatenate([x[:, :6], 5 * x[:, 6:]], axis=1))
    hidden = torch.arange(12) >= 6
    with torch.no_grad():
        direct = model(noise, torch.tensor([3500]), hidden[None]).rhythm_BD.numpy()
    np.testing.assert_allclose(absent, direct, atol=1e-5)


def test_another_sampling_rate_gives_nearly_the_same_embedding(model: MarEcg) -> None:
    time = np.arange(7000) / 1000
    x = np.stack([np.sin(2 * np.pi * (lead + 1) * time) for lead in range(12)])[None]
    at_1000 = embed(model, x, fs=1000).rhythm
    at_500 = embed(model, x[..., ::2], fs=500).rhythm
    assert np.corrcoef(at_1000[0], at_500[0])[0, 1] > 0.999


def test_a_short_record_is_embedded_as_the_padded_one_that_training_knows(model: MarEcg) -> None:
    x = np.random.default_rng(0).normal(size=(1, 12, 1000)).astype(np.float32)
    padded = torch.zeros(1, 12, 3500)
    padded[..., :1000] = torch.from_numpy(x)
    with torch.no_grad():
        direct = model(padded, torch.tensor([1000])).rhythm_BD.numpy()
    np.testing.assert_allclose(embed(model, x, fs=500).rhythm, direct, atol=1e-5)


def test_embedding_changes_no_parameter_and_no_buffer(model: MarEcg) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    embed(model.train(), np.zeros((1, 12, 3500), np.float32), fs=500)
    assert not model.training
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())


@pytest.mark.parametrize(
    ("shape", "leads", "problem"),
    [
        ((12, 3500), LEADS, "shape"),
        ((1, 3500, 12), LEADS, "shape"),
        ((1, 1, 3500), ("X",), "unknown"),
        ((1, 2, 3500), ("I", "i"), "twice"),
    ],
)
def test_a_wrong_shape_or_lead_is_one_clear_error(
    model: MarEcg, shape: tuple[int, ...], leads: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        embed(model, np.zeros(shape, np.float32), fs=500, leads=leads)


def test_values_that_are_not_finite_are_refused(model: MarEcg) -> None:
    x = np.zeros((1, 12, 3500), np.float32)
    x[0, 3, 5] = np.nan
    with pytest.raises(UsageError, match="NaN"):
        embed(model, x, fs=500)
