"""Rhythms are what their names say."""

from itertools import pairwise

import numpy as np
import pytest

from ecg_synth import Noise, SyntheticRecord, record

SEEDS = range(6)
CLEAN = Noise().times(0)


def made(name: str, seed: int) -> SyntheticRecord:
    return record(name, rng=np.random.default_rng((11, seed)), noise=CLEAN)


def rr(of: SyntheticRecord) -> np.ndarray:
    return np.diff(of.beats.r_peak)


@pytest.mark.parametrize(
    ("name", "slowest", "fastest"),
    [("NSR", 59, 101), ("SBrad", 37, 58.5), ("STach", 101, 152), ("SVT", 150, 220), ("VT", 135, 210)],
)
def test_the_rate_is_within_the_rhythms_limits(name, slowest, fastest):
    for seed in SEEDS:
        bpm = 60 / np.mean(rr(made(name, seed)))
        assert slowest <= bpm <= fastest


def test_fibrillation_has_no_p_waves_and_no_regularity():
    for seed in SEEDS:
        of = made("AF", seed)
        assert of.p_onsets.size == 0
        assert np.isnan(of.beats.p_onset).all()
        assert np.std(rr(of)) / np.mean(rr(of)) > 0.10


def test_flutter_repeats_four_to_six_times_a_second_between_the_beats():
    for seed in SEEDS:
        of = made("AFL", seed)
        spectrum = np.abs(np.fft.rfft(of.leads_mv[5] - of.leads_mv[5].mean(), 20000))
        hertz = np.fft.rfftfreq(20000, 1 / of.fs)
        saw = spectrum[(hertz > 3.9) & (hertz < 5.5)].max()
        assert saw > 4 * np.median(spectrum[(hertz > 3) & (hertz < 15)])


def test_sinus_arrhythmia_sways_by_more_than_120_ms_and_normal_rhythm_by_less():
    assert all(np.ptp(rr(made("SinusA", seed))) > 0.12 for seed in SEEDS)
    assert all(np.ptp(rr(made("NSR", seed))) < 0.12 for seed in SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_premature_beat_is_early_and_an_atrial_one_resets_the_sinus_node(seed):
    for name, letter, latest in (("PVC", "V", 0.85), ("PAC", "A", 0.8)):
        beats, gaps = made(name, seed).beats, rr(made(name, seed))
        usual = np.median(gaps)
        inner = [k for k in np.flatnonzero(beats.kind == letter) if 0 < k < beats.kind.size - 1]
        assert inner
        for k in inner:
            assert gaps[k - 1] < latest * usual
            if letter == "V":  # the pause is fully compensatory
                assert gaps[k - 1] + gaps[k] == pytest.approx(2 * usual, rel=0.12)
            else:
                assert gaps[k - 1] + gaps[k] < 1.9 * usual
                assert np.isfinite(beats.p_onset[k])


def test_scattered_ectopy_keeps_its_density_in_a_long_record():
    long = record("PVC", rng=np.random.default_rng(1), seconds=120.0)
    assert 6 <= np.count_nonzero(long.beats.kind == "V") <= 25
    assert long.beats.r_peak[-1] > 118


@pytest.mark.parametrize(("name", "period"), [("Bigeminy", 2), ("Trigeminy", 3)])
def test_every_second_or_third_beat_is_ventricular(name, period):
    for seed in SEEDS:
        ventricular = np.flatnonzero(made(name, seed).beats.kind == "V")
        assert ventricular.size >= 2
        assert set(np.diff(ventricular)) == {period}


def test_wenckebachs_pr_grows_until_a_p_wave_is_not_conducted():
    for seed in SEEDS:
        of = made("2AVB", seed)
        pr = of.beats.qrs_onset - of.beats.p_onset
        assert of.p_onsets.size > of.beats.kind.size
        for (before, after), gap in zip(pairwise(pr), rr(of), strict=True):
            dropped = gap > 1.35 * np.median(np.diff(of.p_onsets))
            assert (after < before) if dropped else (after > before)


def test_mobitz_two_drops_beats_while_pr_is_constant():
    for seed in SEEDS:
        of = made("Mobitz2", seed)
        assert np.ptp(of.beats.qrs_onset - of.beats.p_onset) < 1e-9
        assert of.p_onsets.size > of.beats.kind.size


def test_in_complete_block_p_waves_and_beats_go_their_own_ways():
    for seed in SEEDS:
        of = made("3AVB", seed)
        assert np.isnan(of.beats.p_onset).all()
        assert set(of.beats.kind) <= {"j", "E"}
        assert of.p_onsets.size > 1.4 * of.beats.kind.size
        delays = [float(onset - of.p_onsets[of.p_onsets <= onset].max()) for onset in of.beats.qrs_onset[1:]]
        assert np.ptp(delays) > 0.08


def test_a_pacemaker_is_regular_and_its_spike_stands_before_the_qrs():
    for seed in SEEDS:
        of = made("Paced", seed)
        assert set(of.beats.kind) == {"/"}
        assert np.std(rr(of)) < 0.01
        slope = np.abs(np.diff(of.leads_mv[1])).argsort()[-of.beats.kind.size :] / of.fs
        before = [np.min(np.abs(of.beats.qrs_onset - time)) for time in slope]
        assert np.median(before) < 0.015
