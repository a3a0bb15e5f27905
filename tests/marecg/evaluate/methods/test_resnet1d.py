from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from tests.marecg.evaluate.made_tasks import ALONE, probed

from marecg.evaluate.methods import resnet1d as baseline
from marecg.evaluate.methods.resnet1d import ResNet1d, choose_resnet, resnet1d, slow_signals
from marecg.evaluate.probe.linear import Part
from marecg.evaluate.scores.metrics import macro_auc


def waves(records: int, seed: int) -> Part:
    """Ten seconds at 100 Hz, twelve equal leads: 1 Hz or 3 Hz at a random phase, in noise."""
    generator = np.random.default_rng(seed)
    y_MK = generator.integers(0, 2, (records, 1)).astype(np.uint8)
    phase = generator.random((records, 1)) * 2 * np.pi + np.arange(1000) / 100 * 2 * np.pi * (1 + 2 * y_MK)
    x_MCN = np.sin(phase)[:, None] + generator.normal(0, 0.5, (records, 12, 1000))
    return Part(x_MCN.reshape(records, -1).astype(np.float32), y_MK)


def test_the_network_is_small_and_learns_what_no_linear_probe_on_the_samples_could():
    val, test = waves(32, 1), waves(64, 2)
    trained = choose_resnet(waves(64, 0), val, epochs=4)
    assert macro_auc(test.y_MK, trained.logits(test.x_MF)) > 0.95
    assert 1 <= trained.chosen <= 4
    assert macro_auc(val.y_MK, trained.logits(val.x_MF)) == pytest.approx(trained.val_auc)
    alone, among_others = trained.logits(test.x_MF[:1]), trained.logits(test.x_MF)[:1]
    np.testing.assert_allclose(alone, among_others, atol=1e-5)
    assert sum(parameter.numel() for parameter in ResNet1d(5).parameters()) < 500_000


def test_a_worse_later_epoch_is_not_kept(monkeypatch):
    """The first of three epochs is the best on val: its weights are kept, not the last ones."""
    judged: list[np.ndarray] = []

    def falling(y_MK, logits_MK):
        judged.append(logits_MK.copy())
        return 1 / len(judged)

    monkeypatch.setattr(baseline, "macro_auc", falling)
    val = waves(16, 1)
    trained = choose_resnet(waves(32, 0), val, epochs=3)
    assert (trained.chosen, trained.val_auc, len(judged)) == (1, 1.0, 3)
    np.testing.assert_array_equal(trained.logits(val.x_MF), judged[0])
    assert np.abs(judged[2] - judged[0]).max() > 1e-3


def test_training_repeats_and_leaves_torchs_random_state_alone():
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    one, two = (choose_resnet(waves(32, 0), waves(16, 1), epochs=1) for _ in range(2))
    x_MF = waves(4, 3).x_MF
    np.testing.assert_array_equal(one.logits(x_MF), two.logits(x_MF))
    assert torch.equal(torch.rand(2), expected)


def test_signals_are_ten_seconds_at_100_hz_with_zeros_behind_shorter_ones():
    long, short = np.ones((12, 6000), np.float32), np.ones((12, 2500), np.float32)
    x_BCN = slow_signals([long, short])
    assert x_BCN.shape == (2, 12, 1000)
    np.testing.assert_allclose(x_BCN[0], 1, atol=1e-5)
    np.testing.assert_array_equal(x_BCN[1, :, 500:], 0)


def test_a_supervised_network_stands_beside_the_probes(gscl_run, ptbxl_root):
    def briefly(task):
        return replace(resnet1d(task), choose=partial(choose_resnet, epochs=2))

    report = probed(gscl_run, "ptbxl-super", ptbxl_root, replace(ALONE, baselines=(briefly,)))
    cell = next(cell for cell in report.cells if cell.method == "ResNet1d, supervised")
    assert (cell.dimension, cell.records) == (12_000, 48)
