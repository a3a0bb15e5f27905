"""The S4 baseline: its kernel against the recurrence, and a network that learns and repeats."""

import numpy as np
import pytest
import torch
from tests.marecg.evaluate.methods.test_resnet1d import waves

from marecg.evaluate.methods.resnet1d import choose_network
from marecg.evaluate.scores.metrics import macro_auc
from marecg_research.s4 import CROP, S4, StateSpace, s4


def small_net(classes: int) -> S4:
    return S4(classes, width=16, layers=2)


def step_by_step(space: StateSpace, direction: int, u_BWL: np.ndarray) -> np.ndarray:
    """s ← Ā s + B̄ u, then Re(C s), a sample at a time, with B̄ = (Ā − 1) / A."""
    log_step_GW, log_decay_GWP, frequency_GWP, output_GWP2, _ = (p.numpy() for p in space.parameters())
    pole_WP = -np.exp(log_decay_GWP[direction]) + 1j * frequency_GWP[direction]
    kept_WP = np.exp(np.exp(log_step_GW[direction])[:, None] * pole_WP)
    output_WP = output_GWP2[direction] @ np.array([1, 1j])
    state_BWP = np.zeros((*u_BWL.shape[:2], kept_WP.shape[1]), complex)
    outputs = []
    for sample in range(u_BWL.shape[2]):
        state_BWP = kept_WP * state_BWP + (kept_WP - 1) / pole_WP * u_BWL[:, :, sample, None]
        outputs.append((output_WP * state_BWP).sum(-1).real)
    return np.stack(outputs, -1)


def test_one_pole_decays_by_its_rate():
    """A = −1, Δ = log 4 and C = 1: one sample adds ¾, and a quarter of it is left a step later."""
    space = StateSpace(1, 1).requires_grad_(False)
    space.log_step_GW[:], space.log_decay_GWP[:], space.frequency_GWP[:] = np.log(np.log(4)), 0, 0
    space.output_GWP2[:] = torch.tensor([1.0, 0.0])
    torch.testing.assert_close(space.kernel(3)[0, 0], torch.tensor([0.75, 0.1875, 0.046875]))


@pytest.mark.parametrize("length", [1, 2, 37])
def test_the_convolution_is_the_recurrence_over_the_past_and_over_the_future(length):
    torch.manual_seed(0)
    space = StateSpace(3, 4).double().requires_grad_(False)
    u_BWL = torch.randn(2, 3, length, dtype=torch.float64)
    past_BWL = step_by_step(space, 0, u_BWL.numpy())
    future_BWL = step_by_step(space, 1, u_BWL.flip(-1).numpy())[..., ::-1]
    later_BWL = np.concatenate([future_BWL[..., 1:], np.zeros((2, 3, 1))], -1)  # without this sample
    np.testing.assert_allclose(space(u_BWL), past_BWL + later_BWL + u_BWL.numpy(), atol=1e-10)


@pytest.mark.parametrize("samples", [4, 250, 1003])
def test_a_record_of_any_length_has_logits_and_every_parameter_a_gradient(samples):
    torch.manual_seed(0)
    net = small_net(5)
    logits_BK = net(torch.randn(2, 12, samples))
    assert logits_BK.shape == (2, 5)
    logits_BK.square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    if samples > 4:
        assert all(parameter.grad.any() for parameter in net.parameters())


def test_a_records_logits_are_the_mean_over_crops_and_training_sees_one_crop():
    torch.manual_seed(0)
    net = small_net(5).eval().requires_grad_(False)
    x_BCN = torch.randn(2, 12, 500)
    crops = [net(x_BCN[..., start : start + CROP]) for start in (0, 125, 250)]
    torch.testing.assert_close(net(x_BCN), torch.stack(crops).mean(0))
    net.train()
    x_BCN.requires_grad_(True)
    net(x_BCN).sum().backward()
    seen_N = x_BCN.grad.any(0).any(0).nonzero()[:, 0]
    assert seen_N[-1] - seen_N[0] < CROP


@pytest.mark.slow
def test_it_learns_repeats_and_reads_a_record_alone_as_among_others():
    val, test = waves(32, 1), waves(64, 2)
    one, two = (choose_network(small_net, waves(64, 0), val, epochs=6) for _ in range(2))
    logits_MK = one.logits(test.x_MF)
    assert macro_auc(test.y_MK, logits_MK) > 0.9
    np.testing.assert_array_equal(two.logits(test.x_MF), logits_MK)
    np.testing.assert_allclose(one.logits(test.x_MF[:1]), logits_MK[:1], atol=1e-5)


def test_the_baseline_is_named_and_reads_ten_seconds_of_twelve_leads_at_100_hz(task):
    method = s4(task)
    assert method.name == "S4, supervised"
    assert method.compute([task.recordings.read(task.row_M[0])]).shape == (1, 12_000)
