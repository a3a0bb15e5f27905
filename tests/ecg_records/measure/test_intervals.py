"""Intervals over all leads: of waves with known ends, of noise, of ectopic beats, and of LUDB's records."""

import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import wfdb
from numpy.typing import NDArray

from benchmarks import delineation
from ecg_records.measurements.intervals import Measurements, measure
from ecg_records.measurements.median_beat import beats
from ecg_records.signal.leads import LEADS

FS = 500
RNG = np.random.default_rng(7)
SINUS = (0.6, 2.2, 3.8, 5.4, 7.0, 8.6)
"""Seconds at which the complexes of a bigeminy begin that aren't ectopic."""


def drawn(
    pr: float = 0.16,
    qrs: float = 0.1,
    qt: float = 0.4,
    *,
    p: float = 0.12,
    t: float = 0.3,
    rr: float = 0.8,
    fs: float = FS,
    onsets: Sequence[float] = (),
    foot: int = 2,
    noise: float = 0.005,
) -> NDArray[np.float32]:
    """Twelve leads of 10 s; a wave is a period of a cosine, a QRS complex its square or another power."""
    t_L = np.arange(round(10 * fs)) / fs
    weights = np.array([[0.8, 1.0, 0.3, -0.9, 0.3, 0.6, -0.6, -0.3, 0.5, 1.0, 0.9, 0.7]]).T
    x_KL = np.random.default_rng(7).normal(0, noise, (12, len(t_L)))
    for beat in onsets or np.arange(0.6, 9.6, rr):
        for begin, length, height, power in ((-pr, 0.1, p, 1), (0, qrs, 1.2, foot), (qt - 0.18, 0.18, t, 1)):
            phase_L = (t_L - beat - begin) / length
            inside_L = (phase_L > 0) & (phase_L < 1)
            x_KL += weights * height * inside_L * ((1 - np.cos(2 * np.pi * phase_L)) / 2) ** power
    return x_KL.astype(np.float32)


@pytest.mark.parametrize(("pr", "qrs", "qt"), [(0.16, 0.1, 0.4), (0.26, 0.1, 0.4), (0.18, 0.16, 0.46)])
def test_waves_are_measured_as_long_as_they_were_drawn(pr, qrs, qt):
    found = measure(drawn(pr, qrs, qt), FS, LEADS)
    assert found.rate == pytest.approx(75, abs=0.5)
    assert found.pr == pytest.approx(1000 * pr, abs=15)
    assert found.qrs == pytest.approx(1000 * qrs, abs=15)
    assert found.qt == pytest.approx(1000 * qt, abs=25)
    assert found.reasons == {}


@pytest.mark.parametrize("noise", [0, 0.025])
@pytest.mark.parametrize("qrs", [0.08, 0.1, 0.12])
def test_a_qrs_complex_with_sharp_edges_begins_and_ends_at_them(qrs, noise):
    found = measure(drawn(qrs=qrs, noise=noise, foot=1), FS, LEADS)
    assert found.qrs == pytest.approx(1000 * qrs, abs=10)
    assert found.pr == pytest.approx(160, abs=10)
    assert found.qt == pytest.approx(400, abs=12)


def test_low_last_forces_keep_the_margin_of_a_gradual_complex():
    """A slurred S wave or R' ends steeply, as in a bundle branch block. Here it ends at 130 ms."""
    x_KL, t_L = drawn(qrs=0.08, foot=1), np.arange(10 * FS) / FS
    r_K1 = drawn(noise=0, foot=1)[:, [round(0.65 * FS)]]
    for onset in np.arange(0.6, 9.6, 0.8):
        phase_L = np.clip((t_L - onset - 0.05) / 0.08, 0, 1)
        x_KL += np.roll(r_K1, 3, axis=0) * np.float32(0.1 * (1 - np.cos(2 * np.pi * phase_L)))
    assert 130 <= measure(x_KL, FS, LEADS).qrs <= 150


def test_a_late_r_wave_in_v1_is_a_part_of_the_complex():
    """The last forces of a right bundle branch block, which ends at 140 ms, are steep in V1 only."""
    x_KL, t_L = drawn(), np.arange(10 * FS) / FS
    for onset in np.arange(0.6, 9.6, 0.8):
        phase_L = np.clip((t_L - onset - 0.08) / 0.06, 0, 1)
        x_KL[6] += np.float32(0.4 * (1 - np.cos(2 * np.pi * phase_L)))
    assert measure(x_KL, FS, LEADS).qrs == pytest.approx(140, abs=15)


def test_a_steep_st_segment_is_no_part_of_the_complex():
    """QRS of a left bundle branch block ends at 140 ms. Then ST slopes up to the top of T."""
    x_KL, t_L = drawn(p=0.0, t=0.0, qrs=0.14, rr=1.0), np.arange(10 * FS) / FS
    r_K1 = x_KL[:, [round(0.67 * FS)]]
    for onset in np.arange(0.6, 9.6, 1.0):
        x_KL -= r_K1 * np.float32(
            np.interp(t_L, onset + np.array([0.1, 0.28, 0.33, 0.4, 0.45]), [0, 0.42, 0.5, 0.1, 0])
        )
    assert measure(x_KL, FS, LEADS).qrs == pytest.approx(140, abs=30)


@pytest.mark.parametrize("ramp_s", [0.35, 0.55])
def test_a_ramp_that_ends_in_the_qrs_complex_is_no_edge_of_it(ramp_s):
    """Its sharp beginning lies far before the complex, or before the window of the beat."""
    x_KL, t_L = drawn(p=0.0, t=0.0, foot=1), np.arange(10 * FS) / FS
    r_K1 = x_KL[:, [round(0.65 * FS)]]
    for onset in np.arange(0.6, 9.6, 0.8):
        x_KL += r_K1 * np.float32(np.interp(t_L, [onset - ramp_s, onset, onset + 0.1], [0, 4 * ramp_s, 0]))
    found = measure(x_KL, FS, LEADS)
    assert 80 < found.qrs < 210
    assert found.pr is None or found.pr > 0


def test_a_fast_heart_has_no_pr_that_reaches_into_the_beat_before():
    found = measure(drawn(p=0.0, qrs=0.08, qt=0.24, rr=0.26), FS, LEADS)
    assert found.rate == pytest.approx(230, abs=3)
    assert (found.p, found.pr, found.reasons["pr"]) == (None, None, "p_on_t")


def test_any_rate_of_samples_and_any_leads_give_the_same_within_what_people_tell_apart():
    whole = measure(drawn(), FS, LEADS)
    for other in (
        measure(drawn(fs=257), 257, LEADS),
        measure(drawn()[[1]], FS, ["II"]),
        measure(drawn()[[7, 1, 0]], FS, ["v2", "ii", "i"]),
    ):
        for name, far in (("pr", 20), ("qrs", 16), ("qt", 30)):
            assert getattr(other, name) == pytest.approx(getattr(whole, name), abs=far), name


def test_qtc_follows_each_formula_and_is_fridericias_where_none_is_named():
    """400 ms at 75/min by hand: 400/√0.8, 400/∛0.8, 400 + 154 · 0.2."""
    slow = Measurements(rate=75, qt=400)
    assert slow.qtc("bazett") == pytest.approx(447.2, abs=0.1)
    assert slow.qtc("fridericia") == pytest.approx(430.9, abs=0.1)
    assert slow.qtc("framingham") == pytest.approx(430.8, abs=0.1)
    assert slow.qtc() == slow.qtc("fridericia")
    assert Measurements(rate=75).qtc() is None


def test_an_ectopic_beat_is_left_out():
    x_KL = drawn()
    x_KL[:, 2000:2400] = drawn(qrs=0.2)[::-1, 2000:2400] * 2
    found = beats(x_KL, tuple(range(12)))
    assert not found.alike_N.all()
    assert measure(x_KL, FS, LEADS).qrs == pytest.approx(100, abs=15)


def ectopic(onsets: Sequence[float]) -> NDArray[np.float32]:
    """Wide beats of another axis, without P waves."""
    return 1.5 * drawn(qrs=0.18, p=0.0, onsets=onsets)[::-1]


def test_one_loose_lead_decides_no_qrs():
    """A steep wave of its own behind each complex, in one lead of twelve."""
    x_KL = drawn()
    for onset in np.arange(0.6, 9.6, 0.8):
        first = round((onset + 0.11) * FS)
        x_KL[7, first : first + 25] += 1.2 * np.hanning(25)
    found = measure(x_KL, FS, LEADS)
    assert found.qrs == pytest.approx(100, abs=15)
    assert found.axis == pytest.approx(measure(drawn(), FS, LEADS).axis, abs=3)


def test_qt_does_not_end_on_an_early_ectopic_beat_behind_every_other_beat():
    sinus = [0.6, 1.6, 3.6, 4.6, 6.6, 7.6]
    found = measure(drawn(onsets=sinus) + ectopic([2.07, 5.07, 8.07]), FS, LEADS)
    assert found.qt == pytest.approx(400, abs=25)
    assert found.qrs == pytest.approx(100, abs=15)


def test_qt_that_an_ectopic_beat_hides_each_time_is_a_dash():
    hidden = drawn(qt=0.5, onsets=SINUS) + ectopic([onset + 0.47 for onset in SINUS])
    found = measure(hidden, FS, LEADS)
    assert (found.qt, found.reasons["qt"]) == (None, "unseen")
    assert found.qrs == pytest.approx(100, abs=15)


def test_in_a_bigeminy_the_beats_that_do_not_come_early_are_measured():
    early = [onset + 0.6 for onset in SINUS]
    for x_KL in (drawn(onsets=SINUS) + ectopic(early), 0.5 * drawn(onsets=SINUS) + 2 * ectopic(early)):
        found = measure(x_KL, FS, LEADS)
        assert found.qrs == pytest.approx(100, abs=15)
        assert found.pr == pytest.approx(160, abs=15)


def test_two_shapes_that_are_as_frequent_and_differ_have_no_common_interval():
    halves = [0.6, 1.4, 2.2, 3.0, 3.8, 4.6], [5.4, 6.2, 7.0, 7.8, 8.6]
    found = measure(drawn(p=0.0, onsets=halves[0]) + ectopic(halves[1]), FS, LEADS)
    assert (found.qrs, found.reasons["qrs"]) == (None, "two_shapes")
    assert (found.axis, found.reasons["axis"]) == (None, "two_shapes")
    assert found.rate == pytest.approx(75, abs=0.5)


def test_a_pacemaker_s_spike_is_no_part_of_the_complex():
    """2 mV and 4 ms high and wide, 40 ms before each complex."""
    x_KL = drawn(qrs=0.16)
    for place in np.arange(0.56, 9.5, 0.8) * FS:
        x_KL[:, round(place) : round(place) + 2] += 2
    assert measure(x_KL, FS, LEADS).qrs == pytest.approx(160, abs=15)


def test_without_p_waves_there_is_no_pr_and_the_reason_is_told():
    found = measure(drawn(p=0.0), FS, LEADS)
    assert (found.pr, found.p, found.reasons["pr"]) == (None, None, "no_p")
    assert found.qrs is not None


def test_a_p_wave_on_the_t_wave_is_told_from_a_rhythm_without_one():
    """P begins 0.3 s before QRS in a cycle of 0.58 s whose T wave ends at 0.37 s; then fibrillation."""
    on_t = measure(drawn(pr=0.26, qt=0.37, rr=0.58), FS, LEADS)
    assert (on_t.pr, on_t.reasons["pr"]) == (None, "p_on_t")
    long_pr = measure(drawn(pr=0.3, qt=0.34, rr=0.6), FS, LEADS)
    assert (long_pr.pr, long_pr.reasons["pr"]) == (None, "p_on_t")
    steps = np.cumsum(RNG.uniform(0.5, 1.1, 12)) + 0.1
    fibrillating = sum(np.roll(drawn(p=0.0, rr=100.0), round(step * FS), axis=1) for step in steps[:11])
    assert measure(fibrillating, FS, LEADS).reasons["pr"] == "irregular_no_p"


def test_flutter_four_to_one_has_no_pr():
    """A sawtooth at 300/min through complexes that follow every fourth wave."""
    saw_L = 0.15 * (1 - 2 * (np.arange(5000) / FS * 5 % 1))
    heights_K1 = np.array([[0.2, 1.0, 0.9, -0.6, -0.4, 0.9, 0.6, 0.3, 0.2, 0.2, 0.2, 0.2]]).T
    found = measure(drawn(p=0.0, t=0.1, rr=0.8) + heights_K1 * saw_L, FS, LEADS)
    assert found.rate == pytest.approx(75, abs=1)
    assert (found.p, found.pr, found.p_axis) == (None, None, None)
    assert found.reasons["pr"] == "flutter"


def test_without_a_steady_p_wave_there_is_no_pr():
    """A second atrial wave comes later in every other beat."""
    x_KL, t_L = drawn(p=0.0, rr=0.95, noise=0.003), np.arange(10 * FS) / FS
    r_K1 = drawn(noise=0)[:, [round(0.65 * FS)]] / 1.2
    for beat, onset in enumerate(np.arange(0.6, 9.6, 0.95)):
        for begin, length, height in ((0, 0.08, 0.05), (0.055 + beat % 2 * 0.05, 0.054, 0.0325)):
            phase_L = np.clip((t_L - onset + 0.3 - begin) / length, 0, 1)
            x_KL += r_K1 * np.float32(height * (1 - np.cos(2 * np.pi * phase_L)))
    found = measure(x_KL, FS, LEADS)
    assert (found.p, found.pr, found.reasons["pr"]) == (None, None, "unsteady")


def test_a_fast_rhythm_with_wide_complexes_has_no_pr():
    found = measure(drawn(pr=0.13, qrs=0.13, qt=0.27, rr=0.49), FS, LEADS)
    assert found.rate == pytest.approx(122, abs=1)
    assert (found.pr, found.reasons["pr"]) == (None, "fast_wide")


def test_a_p_wave_at_the_end_of_t_of_a_very_fast_heart_is_not_believed():
    found = measure(drawn(pr=0.1, qrs=0.08, qt=0.24, rr=0.38), FS, LEADS)
    assert found.rate == pytest.approx(158, abs=2)
    assert found.pr is None


def test_a_t_end_beyond_four_fifths_of_the_cycle_is_not_believed():
    found = measure(drawn(qt=0.58, rr=0.7, p=0.0), FS, LEADS)
    assert found.rate == pytest.approx(60 / 0.7, abs=2)
    assert (found.qt, found.qtc(), found.reasons["qt"]) == (None, None, "unseen")


def with_noise_and_wander(x_KL: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """25 µV of noise, and a wander of another height in each lead."""
    rng, t_L = np.random.default_rng(seed), np.arange(x_KL.shape[1]) / FS
    heights_K1 = rng.normal(0, 0.1, (len(x_KL), 1))
    wander_KL = heights_K1 * np.sin(2 * np.pi * rng.uniform(0.3, 0.9) * t_L + rng.uniform(0, 6))
    return (x_KL + rng.normal(0, 0.025, x_KL.shape) + wander_KL).astype(np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_qt_of_a_t_wave_that_noise_hides_is_a_dash_and_of_a_low_one_is_right_or_a_dash(seed):
    none, low, tall = (
        measure(with_noise_and_wander(drawn(t=height, rr=0.9), seed)[[1, 10]], FS, ("II", "V5"))
        for height in (0.0, 0.05, 0.2)
    )
    assert none.qt is None
    assert none.reasons["qt"] in {"flat_t", "ends_apart", "unsteady", "unseen"}
    assert low.qt is None or low.qt == pytest.approx(400, abs=30)
    assert tall.qt == pytest.approx(400, abs=25)


def test_one_lead_with_a_late_wave_decides_no_qt():
    x_KL = np.stack([*drawn(rr=1.0)[[1, 7]], drawn(qt=0.56, t=0.9, rr=1.0)[10]])
    found = measure(x_KL, FS, ("II", "V2", "V5"))
    assert found.qt is None or found.qt == pytest.approx(400, abs=25)


def test_the_next_beats_p_wave_is_not_the_end_of_t():
    """By the noise it is the end of T that is found, or none."""
    found = measure(drawn(pr=0.2, qt=0.3, rr=0.577, p=0.35), FS, LEADS)
    assert found.qt is None or found.qt == pytest.approx(300, abs=25)


def test_a_complex_that_runs_on_into_st_and_t_has_no_length():
    x_KL = np.mean(
        [np.roll(drawn(qrs=0.2, qt=0.6, rr=1.0, p=0.0), shift, axis=1) for shift in (0, 60)], axis=0
    )
    found = measure(x_KL, FS, LEADS)
    assert (found.qrs, found.reasons["qrs"]) == (None, "unseen")


def test_a_paced_complex_begins_behind_its_spike_and_is_said_to_be_paced():
    x_KL = drawn(qrs=0.16, p=0.0)
    for place in np.arange(0.6, 9.6, 0.8) * FS:
        x_KL[:, round(place) - 3 : round(place) - 1] += 2
    found = measure(x_KL, FS, LEADS)
    assert found.paced
    assert found.qrs == pytest.approx(160, abs=15)
    assert not measure(drawn(), FS, LEADS).paced


def test_p_and_t_waves_have_axes_of_their_own():
    """All waves are drawn with the same heights over leads, so they share one direction."""
    found = measure(drawn(), FS, LEADS)
    assert found.p_axis == pytest.approx(found.axis, abs=5)
    assert found.t_axis == pytest.approx(found.axis, abs=5)


def test_noise_and_flat_lines_give_reasons_in_place_of_values():
    assert measure(np.zeros((12, 5000), np.float32), FS, LEADS).reasons["qrs"] == "few_beats"
    assert measure(np.full((12, 300), np.nan, np.float32), FS, LEADS).rate is None
    noisy = measure(drawn() + RNG.normal(0, 0.4, (12, 5000)).astype(np.float32), FS, LEADS)
    assert noisy.pr is None
    assert noisy.reasons["pr"] in {"no_p", "unsteady", "unseen", "few_alike"}


@pytest.mark.parametrize("hertz", [50, 60, 49.9])
def test_mains_hum_changes_no_value(hertz):
    """0.5 mV in all leads with another phase in each, and harmonics."""
    t_L, phases_K1 = np.arange(5000) / FS, np.arange(12)[:, None]
    hum_KL = sum(
        height * np.sin(2 * np.pi * order * hertz * t_L + phases_K1)
        for order, height in ((1, 0.5), (2, 0.05), (3, 0.15))
    )
    clean, found = measure(drawn(), FS, LEADS), measure(drawn() + hum_KL, FS, LEADS)
    assert found.reasons == {}
    for name in ("p", "pr", "qrs", "qt"):
        assert getattr(found, name) == pytest.approx(getattr(clean, name), abs=10), name


def test_the_axis_follows_from_i_and_avf():
    lead_L = drawn()[1]
    for i, avf, degrees in ((1, 1e-3, 0), (1, np.sqrt(3) / 2, 45), (-1, 1e-3, 180)):
        found = measure(np.stack([i * lead_L, avf * lead_L]), FS, ("I", "aVF"))
        assert abs(found.axis) == pytest.approx(degrees, abs=2)
    assert measure(np.stack([lead_L, 0 * lead_L]), FS, ("I", "aVF")).axis is None


def test_a_long_qt_of_a_real_fibrillation_with_a_flat_t_is_a_dash(realdata):
    """Median beat and single beats end 36 ms apart. QTc of the median beat would be 566 ms."""
    record = wfdb.rdrecord(str(realdata / "cinc2021" / "cpsc_2018" / "A0101"))
    found = measure(record.p_signal.T, record.fs, record.sig_name)
    assert (found.qt, found.reasons["qt"]) == (None, "ends_apart")
    assert found.qrs == pytest.approx(86, abs=10)


@pytest.fixture(scope="module")
def ludb(tmp_path_factory) -> Path:
    packed = Path(os.environ.get("MARECG_REALDATA", "")) / "more" / "ludb-odd.tar.xz"
    if not packed.is_file():
        pytest.skip("LUDB is not at hand (MARECG_REALDATA)")
    folder = tmp_path_factory.mktemp("ludb")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    for header in (folder / "ludb").glob("*.hea"):
        if int(header.stem) % 16 != 3:
            header.unlink()
    return folder / "ludb"


def test_intervals_are_near_those_that_cardiologists_marked(ludb):
    """An eighth of the records at hand; docs/evaluation/delineation.md has them all."""
    errors: dict[str, list[float]] = {"pr": [], "qrs": [], "qt": []}
    for header in ludb.glob("*.hea"):
        record = wfdb.rdrecord(str(header.with_suffix("")))
        found, truth = measure(record.p_signal.T, 500, record.sig_name), delineation.reference(header, 1)
        for name, values in errors.items():
            values.append(abs((getattr(found, name) or np.nan) - 2 * truth[name]))
    for name, median, ninety in (("qrs", 8, 25), ("pr", 10, 25), ("qt", 15, 40)):
        assert np.nanmedian(errors[name]) <= median, name
        assert np.nanpercentile(errors[name], 90) <= ninety, name
