"""The beat readout: which patches show the beats, and the mean over them."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit

from ecg_records.measurements.rpeaks import detect_best
from ecg_records.signal.leads import LEADS
from marecg import EcgClassifier
from marecg.embedding.beat_windows import beat_patches
from marecg.embedding.embed import embed, encode
from marecg.errors import UsageError
from marecg.model.config import ModelConfig
from marecg.model.readout import BEAT, part_weights, readout_width, wide_columns
from marecg.model.windows import Recording, stacked, tta_windows
from marecg.use.export import export

GRID = ModelConfig(patch=100, stride=100, context=800, positions=8)


@pytest.mark.parametrize(
    ("peaks", "phases", "expected"),
    [
        ([245], 1, [1, 2, 3, 4]),  # the nearest patch, 205 samples in, begins at 200: its QRS is in patch 2
        ([240], 3, [1, 2, 3, 4]),
        ([257], 3, [1, 2, 3, 4]),  # 17 samples off, the most that three beginnings leave
        ([258], 3, None),  # another beginning is nearer
        ([139], 1, [0, 1, 2, 3]),
        ([89], 1, None),  # its P would lie before the window
        ([641], 1, None),  # and its T behind it
        ([], 1, None),
    ],
)
def test_a_beat_is_read_where_a_patch_begins_80_ms_before_its_r_peak(peaks, phases, expected):
    config = GRID.model_copy(update={"phases": phases})
    beats_JT = beat_patches(np.array(peaks, np.int64), 8, config)
    assert beats_JT.shape == (len(BEAT), 8)
    assert beats_JT.sum() == (4 if expected else 0)
    if expected:
        assert beats_JT.argmax(axis=1).tolist() == expected


def test_every_beat_far_from_the_edges_is_read_at_one_of_three_beginnings():
    config = GRID.model_copy(update={"phases": 3})
    peaks = (np.array([peak - by]) for peak in range(280, 580) for by in (0, 33, 66))
    reads = np.reshape([beat_patches(peak, 8, config)[1].sum() for peak in peaks], (300, 3))
    assert set(reads.max(axis=1)) == {1}
    assert reads.mean() < 0.36


def beating(seconds: float, seed: int = 0) -> NDArray[np.float32]:
    """Twelve leads in mV, each with a QRS and a T of its own height, 72 times a minute."""
    time = np.arange(round(500 * seconds)) / 500
    height_C = np.random.default_rng(seed).uniform(0.4, 1.5, 12)
    since_KL = time - np.arange(0.4, seconds, 60 / 72)[:, None]
    qrs_KL, t_KL = np.exp(-0.5 * (since_KL / 0.012) ** 2), np.exp(-0.5 * ((since_KL - 0.3) / 0.05) ** 2)
    noise_CL = np.random.default_rng(seed).normal(0, 0.01, (12, len(time)))
    return np.asarray(height_C[:, None] * (qrs_KL + 0.2 * t_KL).sum(0) + noise_CL, np.float32)


def test_it_is_what_a_loop_over_windows_and_beats_gathers(phased):
    config, x_CL = phased.config, beating(10)
    total, count = 0.0, 0
    for window in tta_windows(Recording(x_CL, np.zeros(12, bool)), config):
        if window.start % config.stride == 0:
            peaks = detect_best(window.x_CL, 500) + window.start
        with torch.no_grad():
            h_TCD = phased._encode(*stacked([window], config))[0][0].numpy()
        for peak in peaks:
            place = round((peak - 40 - window.start) / config.stride)
            beat = [place + round(0.2 * 500 / config.stride) * step for step in (-1, 0, 1, 2)]
            off = abs(peak - 40 - window.start - place * config.stride)
            if beat[0] >= 0 and beat[-1] < len(h_TCD) and off <= -(-config.stride // 6):
                total += np.concatenate([h_TCD[beat].mean(1).ravel(), h_TCD[place].ravel()])
                count += 1
    assert count >= 16  # twelve beats, four of them in both windows; some are near to two beginnings
    wide = embed(phased, x_CL[None], fs=500, readout="beats", batch_size=4).wide
    plain = embed(phased, x_CL[None], fs=500, readout="wide").wide
    assert wide.shape == (1, readout_width(config, "beats"))
    np.testing.assert_allclose(wide[0, readout_width(config) :], total / count, atol=1e-5)
    np.testing.assert_allclose(wide[:, : readout_width(config)], plain, atol=1e-6)


@pytest.mark.parametrize("x_CL", [np.zeros((12, 5000)), beating(0.5), beating(3)[:, :100]])
def test_a_record_without_beats_has_the_means_over_its_patches(phased, x_CL):
    wide = embed(phased, x_CL[None], fs=500, readout="beats").wide[0]
    columns = wide_columns(phased.config, "beats")
    np.testing.assert_array_equal(wide[columns["beat"]], np.tile(wide[columns["mean"]], len(BEAT)))
    np.testing.assert_array_equal(wide[columns["qrs"]], wide[columns["leads"]])


def test_records_do_not_meet_and_any_leads_will_do(phased):
    signals = [beating(seconds, seed) for seed, seconds in enumerate((10, 0.5, 4, 23))]
    recordings = [Recording(x_CL, np.zeros(12, bool)) for x_CL in signals]
    together = encode(phased, recordings, batch_size=5, readout="beats", patches=False)
    for each, x_CL in zip(together, signals, strict=True):
        alone = embed(phased, x_CL[None], fs=500, readout="beats").wide[0]
        np.testing.assert_allclose(each.wide, alone, atol=1e-6)
    one = embed(phased, beating(10)[None, [7]], fs=500, leads=["V2"], readout="beats").wide[0]
    columns = wide_columns(phased.config, "beats")
    assert np.isfinite(one).all()
    assert np.abs(one[columns["qrs"]] - one[columns["leads"]]).max() > 1e-3  # so beats were found
    assert len(LEADS) * phased.config.width == len(one[columns["qrs"]])


def test_a_classifier_reads_the_beats_of_any_record_and_comes_back_from_its_folder(phased, tmp_path):
    """By one lead; records of one patch and without a beat are answered too, and equal by hand."""
    x_BL = np.stack([beating(4, seed)[2] * (1 + seed % 2) for seed in range(12)])
    labels = np.where(np.arange(12) % 2, "high", "low")
    fitted = EcgClassifier(phased, fs=500, leads=("V2",), readout="beats").fit(x_BL[:, None], labels)
    fitted.save(tmp_path / "clf")
    back = EcgClassifier.load(tmp_path / "clf")
    assert back.readout == "beats"
    for others in (x_BL, np.zeros((2, 2000)), x_BL[:, :100]):
        p_BK = fitted.predict_proba(others[:, None])
        assert np.isfinite(p_BK).all()
        np.testing.assert_allclose(back.predict_proba(others[:, None]), p_BK, rtol=1e-5)
    wide_BV = embed(phased, x_BL[:, None], fs=500, leads=["V2"], readout="beats").wide
    net = fitted.tuned_.net
    head_KV, scale_V, mean_V = (each.detach().numpy() for each in (net.head.weight, net.scale_W, net.mean_W))
    logits_BK = (wide_BV - mean_V) / scale_V @ head_KV.T + net.head.bias.detach().numpy()
    expected_BK = fitted.probabilities(logits_BK.astype(np.float64))
    np.testing.assert_allclose(fitted.predict_proba(x_BL[:, None]), expected_BK, atol=1e-4)
    with pytest.raises(UsageError, match="readout of an exported classifier must be wide, got beats"):
        export(tmp_path / "clf", "torch", tmp_path / "clf.pt2")


def test_parts_of_a_beat_readout_count_alike_to_a_head(phased):
    """Standardised by hand and multiplied by the parts' weights, its values have the heads' scale."""
    x_BCL = np.stack([beating(4, seed) for seed in range(12)])
    labels = np.where(np.arange(12) % 2, "odd", "even")
    fitted = EcgClassifier(phased, fs=500, readout="beats").fit(x_BCL, labels)
    rows, _ = next(GroupShuffleSplit(1, test_size=0.2, random_state=0).split(x_BCL, groups=np.arange(12)))
    wide_MV = embed(phased, x_BCL[rows], fs=500, readout="beats").wide.astype(np.float64)
    expected_V = np.where(wide_MV.std(0) > 1e-6, wide_MV.std(0), 1) / part_weights(phased.config, "beats")
    np.testing.assert_allclose(fitted.tuned_.net.scale_W.numpy(), expected_V, rtol=1e-4)
