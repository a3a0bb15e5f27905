"""The losses of other methods, each against a plain reference that does what the paper says."""

import math

import numpy as np
import pytest
import torch
from scipy.special import softmax
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from marecg.nn.heads import BatchNormMLP
from marecg.nn.tokens import patchify
from marecg.objectives.contrast import minus_cosine
from marecg.objectives.gscl import GsclConfig
from marecg_research.comparators.astcl import adversarial_loss
from marecg_research.comparators.clocs import clocs_loss
from marecg_research.comparators.crt import cut, discrimination_loss, joined, spectrum
from marecg_research.comparators.labels import LabelsConfig, labels_loss
from marecg_research.comparators.masked_patches import masked_patch_loss
from marecg_research.comparators.momentum import ByolConfig, byol_loss, dino_loss, moco_loss
from marecg_research.comparators.tstcc import temporal_loss
from marecg_research.comparators.two_views import BarlowConfig, SimclrConfig, barlow_loss


@pytest.fixture
def pair() -> tuple[Tensor, Tensor]:
    drawn = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return drawn[0], drawn[1]


def info_nce(query: Tensor, key: Tensor, tau: float) -> float:
    weight = (cosine_similarity(query[:, None], key[None], -1) / tau).exp()
    return -float((weight.diag() / weight.sum(1)).log().mean())


@pytest.mark.parametrize(
    ("config", "values"),
    [
        (SimclrConfig(), {"tau": 0.1, "outputs": 128}),
        (ByolConfig(), {"hidden": 4096, "outputs": 256}),
        (BarlowConfig(), {"redundancy": 5e-3, "hidden": 8192, "outputs": 8192}),
        (LabelsConfig(), {"weight": 0.5}),
        (GsclConfig(), {"weight": 0.5, "node_width": 128, "dropout": 0.1}),
    ],
)
def test_a_method_has_the_values_of_its_paper(config, values):
    assert config.model_dump(include={*values}) == values


def test_moco_is_info_nce_over_the_keys_times_two_tau(pair):
    assert float(moco_loss(*pair, 0.2)) == pytest.approx(0.4 * info_nce(*pair, 0.2))


def test_clocs_goes_from_either_half_to_the_other(pair):
    there, back = info_nce(*pair, 0.1), info_nce(pair[1], pair[0], 0.1)
    assert there != pytest.approx(back)
    assert float(clocs_loss(*pair, 0.1)) == pytest.approx((there + back) / 2)


def test_byol_is_the_squared_distance_of_directions(pair):
    first, second = (normalize(one, dim=-1) for one in pair)
    assert float(byol_loss(*pair)) == pytest.approx(float((first - second).square().sum() / 5))


@pytest.mark.parametrize(
    "shape", [(5, 4), (3, 12, 4)], ids=["a record", "the future of each lead on its own"]
)
def test_simsiam_and_astcl_ask_for_minus_the_mean_cosine(shape):
    one, other = torch.randn(2, *shape, generator=torch.Generator().manual_seed(4))
    expected = -float((normalize(one, dim=-1) * normalize(other, dim=-1)).sum(-1).mean())
    assert float(minus_cosine(one, other)) == pytest.approx(expected, rel=1e-5)


def test_barlow_sums_over_every_entry_of_the_correlation():
    first, second = torch.randn(2, 40, 3, generator=torch.Generator().manual_seed(1))
    correlation = np.corrcoef(first.T, second.T)[:3, 3:]
    expected = (np.where(np.eye(3), 1 - correlation, 0.1 * correlation) ** 2).sum()
    assert float(barlow_loss(first, second, 0.01)) == pytest.approx(expected, rel=1e-3)
    alike = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert float(barlow_loss(alike, 3 * alike + 2, 1.0)) == pytest.approx(0, abs=1e-6)


def test_dino_is_the_cross_entropy_of_sharpened_answers(pair):
    student, teacher = pair
    expected = -float((softmax(teacher / 0.04, 1) * np.log(softmax(student / 0.1, 1))).sum() / 5)
    assert float(dino_loss(student, teacher, 0.1, 0.04)) == pytest.approx(expected)


def test_the_temporal_contrast_asks_each_horizon_of_each_record():
    predicted, future = torch.randn(2, 3, 2, 4, generator=torch.Generator().manual_seed(0))
    share_H33 = [softmax(predicted[:, horizon] @ future[:, horizon].T, 1) for horizon in range(2)]
    expected = -np.mean([np.log(np.diag(share)) for share in share_H33])
    assert float(temporal_loss(predicted, future)) == pytest.approx(expected, rel=1e-5)


def test_masked_patches_are_asked_for_normalised_and_only_where_masked_and_real():
    generator = torch.Generator().manual_seed(2)
    predicted, x = torch.randn(2, 2, 3, 4, 6, generator=generator)
    masked = torch.rand(2, 3, 4, generator=generator) < 0.5
    real = torch.tensor([[True, True, True], [True, True, False]])
    normal = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)
    expected = float((predicted - normal)[masked & real[..., None]].square().mean())
    assert float(masked_patch_loss(predicted, x, masked, real)) == pytest.approx(expected, rel=1e-4)
    assert float(masked_patch_loss(predicted, x, torch.zeros_like(masked), real)) == 0


def test_the_adversary_is_asked_which_view_it_sees():
    noisy, clear = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 0.0])
    right = torch.cat([noisy.sigmoid(), 1 - clear.sigmoid()])
    assert float(adversarial_loss(noisy, clear)) == pytest.approx(-float(right.log().mean()), rel=1e-5)


def test_discrimination_is_the_log_mean_exp_of_all_cosines_between_records(pair):
    z = pair[0]
    cosine = cosine_similarity(z[:, None], z[None], -1)[~torch.eye(5, dtype=torch.bool)]
    assert float(discrimination_loss(z)) == pytest.approx(float(cosine.exp().mean().log()), rel=1e-5)
    assert float(discrimination_loss(z[:1])) == 0


def test_magnitude_and_phase_are_those_of_a_fourier_transform():
    wave = torch.randn(1, 1, 8, generator=torch.Generator().manual_seed(5))
    magnitude, phase = spectrum(wave)
    bins = np.fft.rfft(wave, norm="ortho")[..., 1:4]
    np.testing.assert_allclose(magnitude[..., 1:4], np.log1p(abs(bins)), rtol=1e-4)
    np.testing.assert_allclose(phase[..., 1:4], np.angle(bins) / np.pi, atol=1e-4)


def test_patches_join_to_the_signal_and_bins_are_cut_with_zeros_behind():
    x = torch.arange(2 * 12 * 18.0).view(2, 12, 18)
    assert torch.equal(joined(patchify(x, 6, 4), 4), x[..., :16])
    patches = cut(x, 8)
    assert patches.shape == (2, 3, 12, 8)
    assert torch.equal(patches[:, 2, :, :2], x[..., 16:])
    assert not patches[:, 2, :, 2:].any()


def test_labels_are_independent_and_records_without_any_count_for_nothing():
    logits = torch.tensor([[0.0, 2.0], [5.0, 5.0]])
    y = torch.tensor([[True, False], [False, False]])
    expected = -math.log(0.5) - math.log(1 - 1 / (1 + math.exp(-2)))
    assert float(labels_loss(logits, y)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", [byol_loss, minus_cosine, lambda q, k: moco_loss(q, k, 0.2)])
def test_no_gradient_goes_into_a_target(loss, pair):
    first, second = (one.requires_grad_() for one in pair)
    loss(first, second).backward()
    assert first.grad.any()
    assert second.grad is None


def test_a_projector_uses_the_batch_and_remembers_none():
    head = BatchNormMLP(4, 8, 3, closing=True)
    x = torch.randn(16, 4)
    torch.testing.assert_close(head(x).mean(0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(head.train()(x), head.eval()(x))
    assert not list(head.buffers())
    assert [type(one) for one in head] == [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Linear, nn.BatchNorm1d]
    first, *_, last = BatchNormMLP(16, 256, 8)  # it begins as the encoder does
    assert first.weight.std().item() == pytest.approx(math.sqrt(2 / (16 + 256)), rel=0.1)
    assert not last.bias.any()
