"""The full readout: behind the beats, all of their parts and what is measured."""

import numpy as np
import pytest
import torch
from tests.marecg.embedding.test_beat_windows import beating

from ecg_records.measurements import measured
from ecg_records.measurements.rpeaks import detect_best
from ecg_records.signal.leads import LEADS
from marecg import EcgClassifier
from marecg.embedding.embed import embed, encode
from marecg.errors import UsageError
from marecg.model.readout import part_weights, readout_width, views, wide_columns
from marecg.model.windows import Recording, stacked, tta_windows
from marecg.use.export import export

NONE_ABSENT = np.zeros(12, bool)


def test_it_begins_with_the_beat_readout_and_ends_with_what_the_whole_record_shows(phased):
    x_CL = beating(10)
    full = embed(phased, x_CL[None], fs=500, readout="full").wide[0]
    beats = embed(phased, x_CL[None], fs=500, readout="beats").wide[0]
    columns = wide_columns(phased.config, "full")
    assert len(full) == readout_width(phased.config, "full") == columns["measured"].stop
    np.testing.assert_array_equal(full[: len(beats)], beats)
    np.testing.assert_allclose(full[columns["measured"]], measured.measure(x_CL), rtol=1e-5, atol=1e-6)


def test_parts_and_heights_are_what_a_loop_over_windows_and_beats_gathers(phased):
    config, x_CL = phased.config, beating(10)
    step = round(0.2 * 500 / config.stride)
    total, count = 0.0, 0
    for window in tta_windows(Recording(x_CL, NONE_ABSENT), config):
        if window.start % config.stride == 0:
            peaks = detect_best(window.x_CL, 500) + window.start
        with torch.no_grad():
            h_TCD = phased._encode(*stacked([window], config))[0][0].numpy()
        mv_CL = window.x_CL - window.x_CL.mean(1, keepdims=True)
        for peak in peaks:
            place = round((peak - 40 - window.start) / config.stride)
            beat = [place + step * by for by in (-1, 0, 1, 2)]
            off = abs(peak - 40 - window.start - place * config.stride)
            if beat[0] < 0 or beat[-1] >= len(h_TCD) or off > -(-config.stride // 6):
                continue
            patches = [mv_CL[:, at * config.stride : at * config.stride + config.patch] for at in beat]
            heights = [np.stack([mv.max(1), mv.min(1), mv.mean(1)], 1) for mv in patches]
            tokens = h_TCD[[beat[0], *beat[2:]]]
            total += np.concatenate([tokens.ravel(), np.ravel(heights)])
            count += 1
    assert count >= 15
    columns = wide_columns(config, "full")
    full = embed(phased, x_CL[None], fs=500, readout="full").wide[0]
    gathered = full[columns["p"].start : columns["heights"].stop]
    np.testing.assert_allclose(gathered, total / count, atol=1e-4)


def test_records_do_not_meet_and_a_long_one_is_viewed_window_by_window(phased):
    signals = [beating(seconds, seed) for seed, seconds in enumerate((10, 0.5, 4, 41))]
    recordings = [Recording(x_CL, NONE_ABSENT) for x_CL in signals]
    together = list(encode(phased, recordings, batch_size=5, readout="full", patches=False))
    for each, x_CL in zip(together, signals, strict=True):
        alone = embed(phased, x_CL[None], fs=500, readout="full").wide[0]
        np.testing.assert_allclose(each.wide, alone, rtol=1e-5, atol=1e-5)
    starts = [
        each for each in tta_windows(recordings[-1], phased.config) if each.start % phased.config.stride == 0
    ]
    expected = np.mean([measured.measure(each.x_CL) for each in starts], axis=0)
    columns = wide_columns(phased.config, "full")
    np.testing.assert_allclose(together[-1].wide[columns["measured"]], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("x_CL", [np.zeros((12, 5000)), beating(0.5), beating(3)[:, :100]])
def test_a_record_without_beats_has_the_means_over_its_patches_and_no_heights(phased, x_CL):
    full = embed(phased, x_CL[None], fs=500, readout="full").wide[0]
    columns = wide_columns(phased.config, "full")
    for part in ("p", "st", "t"):
        np.testing.assert_array_equal(full[columns[part]], full[columns["leads"]])
    assert not full[columns["heights"]].any()
    assert np.isfinite(full).all()


def test_a_lead_that_is_absent_is_measured_as_the_others_are(phased):
    x_CL = beating(10)
    one = embed(phased, x_CL[None, [7]], fs=500, leads=["V2"], readout="full").wide[0]
    columns = wide_columns(phased.config, "full")
    assert np.isfinite(one).all()
    percentiles_VC = one[columns["measured"]][: 7 * 12].reshape(7, 12)
    np.testing.assert_allclose(percentiles_VC, np.tile(percentiles_VC[:, [7]], 12), rtol=1e-6)


def test_its_views_cover_it_and_each_part_of_it_weighs_alike(phased):
    columns = wide_columns(phased.config, "full")
    beats = slice(0, readout_width(phased.config, "beats"))
    assert views(phased.config, "full") == (slice(0, columns["heights"].stop), beats, columns["measured"])
    assert views(phased.config, "beats") == (beats,)
    weight_V = part_weights(phased.config, "full")
    squares = [float((weight_V[each] ** 2).sum()) for each in columns.values()]
    np.testing.assert_allclose(squares, phased.config.width, rtol=1e-5)
    assert len(LEADS) * phased.config.width == columns["st"].stop - columns["st"].start


def test_a_classifier_takes_the_readout_that_validation_likes_most_and_keeps_its_name(phased, tmp_path):
    """It answers as one that is asked for that readout alone; the file of a network reads no beats."""
    x_BCL = np.stack([beating(2, seed) * (1 + seed % 2) for seed in range(10)])
    labels = np.where(np.arange(10) % 2, "high", "low")
    best = EcgClassifier(phased, fs=500, readout="best").fit(x_BCL, labels)
    assert tuple(best.losses_) == ("wide", "beats", "full")
    assert best.readout_ == min(best.losses_, key=best.losses_.__getitem__)
    alone = EcgClassifier(phased, fs=500, readout=best.readout_).fit(x_BCL, labels)
    assert alone.losses_ == {best.readout_: pytest.approx(best.losses_[best.readout_], rel=1e-6)}
    np.testing.assert_allclose(alone.predict_proba(x_BCL[:2]), best.predict_proba(x_BCL[:2]), atol=1e-6)
    best.save(tmp_path / "clf")
    assert EcgClassifier.load(tmp_path / "clf").readout == best.readout_


def test_a_classifier_of_the_full_readout_comes_back_from_its_folder_and_is_in_no_file_of_a_network(
    phased, tmp_path
):
    x_BCL = np.stack([beating(2, seed) * (1 + seed % 2) for seed in range(6)])
    fitted = EcgClassifier(phased, fs=500, readout="full").fit(x_BCL, [0, 1] * 3)
    fitted.save(tmp_path / "clf")
    back = EcgClassifier.load(tmp_path / "clf")
    np.testing.assert_allclose(back.predict_proba(x_BCL[:2]), fitted.predict_proba(x_BCL[:2]), rtol=1e-4)
    with pytest.raises(UsageError, match=r"exported classifier must be wide, got full.*readout=wide"):
        export(tmp_path / "clf", "torch", tmp_path / "clf.pt2")


def test_fine_tuned_layers_are_read_by_the_wide_readout(phased):
    assert EcgClassifier(phased, fs=500, layers="all", readout="best").readouts() == ("wide",)
    with pytest.raises(UsageError, match="readout 'full' requires layers='head'"):
        EcgClassifier(phased, fs=500, layers="all", readout="full").tuning()
