import numpy as np
import pytest
import torch
from sklearn.model_selection import train_test_split
from tests.marecg.evaluate.made_tasks import trials_on

from marecg.errors import InputError
from marecg.evaluate.probe.linear import Part
from marecg.evaluate.probe.merl import MERL, NOTES, fit, merl_view
from marecg.evaluate.tasks.task import Recordings


def part(records: int, seed: int) -> Part:
    generator = np.random.default_rng(seed)
    x_MF = generator.normal(size=(records, 4))
    return Part(x_MF, (x_MF[:, :2] + generator.normal(0, 0.5, (records, 2)) > 0).astype(np.uint8))


def slow_fit(train: Part, epochs: int) -> np.ndarray:
    """Adam with L2 decay on the mean cross-entropy, written out in numpy, over the same batches.

    Returns:
        Weights and biases [K, F + 1].
    """
    generator = torch.Generator().manual_seed(42)
    torch.manual_seed(42)
    head = torch.nn.Linear(4, 2)
    theta = np.c_[head.weight.detach().numpy(), head.bias.detach().numpy()].astype(float)
    m, v, step = np.zeros_like(theta), np.zeros_like(theta), 0
    for epoch in range(1, epochs + 1):
        rate = 1e-3 if epoch <= 40 else 1e-4
        order = torch.randperm(len(train.x_MF), generator=generator).numpy()
        for first in range(0, len(order), 16):
            rows = order[first : first + 16]
            x = np.c_[train.x_MF[rows], np.ones(len(rows))]
            p = 1 / (1 + np.exp(-x @ theta.T))
            gradient = (p - train.y_MK[rows]).T @ x / p.size + 1e-4 * theta
            step += 1
            m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
            theta = theta - rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return theta


def test_the_head_is_that_of_a_slow_adam():
    train = part(40, 0)
    head, epoch, _ = fit(train, part(30, 1), epochs=45)
    fitted_KG = torch.cat([head.weight, head.bias[:, None]], 1).detach().numpy()
    np.testing.assert_allclose(fitted_KG, slow_fit(train, epoch), atol=1e-5)


def test_the_epoch_is_the_one_with_the_best_val_auc():
    train, val = part(40, 2), part(30, 3)
    best = max(range(1, 13), key=lambda epochs: fit(train, val, epochs)[2])
    assert fit(train, val, epochs=12)[1] == best


def test_a_fit_repeats_and_leaves_torchs_random_state_alone():
    train, val = part(40, 4), part(30, 5)
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    one, two = fit(train, val, 3)[0], fit(train, val, 3)[0]
    assert torch.equal(one.weight, two.weight)
    assert torch.equal(torch.rand(2), expected)


def test_shares_are_merls_draw():
    x, y = np.zeros((250, 2)), np.random.default_rng(0).integers(0, 2, (250, 2)).astype(np.uint8)
    split = np.repeat(["train", "val", "test"], [200, 25, 25])
    (trial,) = trials_on(MERL, x, y, split, (0.1,), seeds=9)
    drawn, _ = train_test_split(np.arange(200), train_size=0.1, random_state=42)
    assert trial.train.tolist() == drawn.tolist()


RAW_CL = np.random.default_rng(0).normal(1, 3, (12, 6000)).astype(np.float32)


def viewed(name: str, x_CL: np.ndarray) -> Recordings:
    return merl_view(Recordings(name, ("a",), "0" * 64, "everything", lambda row: x_CL))


def test_ptbxl_is_cut_to_5000_samples_and_scaled_to_0_1_over_all_leads():
    view = viewed("ptbxl", RAW_CL)
    x_CL = view.read(0)
    assert x_CL.shape == (12, 5000)
    assert (x_CL.min(), x_CL.max()) == (0.0, pytest.approx(1.0))
    assert view.sha256 != "0" * 64
    assert np.isfinite(viewed("ptbxl", np.zeros((12, 5000), np.float32)).read(0)).all(), (
        "a constant record too"
    )


def test_cpsc2018_keeps_2500_samples_scaled_as_if_zeros_followed_but_none_do():
    """A method is never handed padding as signal."""
    x_CL = viewed("cpsc2018", RAW_CL).read(0)
    assert x_CL.shape == (12, 2500)
    padded = np.pad(RAW_CL[:, :2500], ((0, 0), (0, 2500)))
    expected = (padded - padded.min()) / np.ptp(padded)
    np.testing.assert_allclose(x_CL, expected[:, :2500], rtol=1e-5)
    above = viewed("cpsc2018", RAW_CL - RAW_CL.min() + 1)
    assert above.read(0).min() > 0  # zeros would have been the least


def test_every_known_trap_of_the_published_code_is_among_the_differences():
    text = " ".join(NOTES)
    for trap in ("frozen", "test", "position", "scheduler", "aVL", "precision", "draw"):
        assert trap in text


def test_val_records_that_tell_no_classes_apart_are_refused_as_in_strict():
    x, y = np.zeros((30, 2)), np.ones((30, 1), np.uint8)
    y[[0, 25]] = 0
    split = np.repeat(["train", "val", "test"], [10, 10, 10])
    with pytest.raises(InputError, match="among the 10 validation records, got none"):
        trials_on(MERL, x, y, split, (1.0,), seeds=1)


def test_a_silent_lead_stays_zero():
    x_CL = RAW_CL.copy()
    x_CL[[2, 7]] = 0
    assert np.flatnonzero(~viewed("ptbxl", x_CL).read(0).any(axis=1)).tolist() == [2, 7]
