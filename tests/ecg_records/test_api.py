"""What the records' side offers: read a file, scan a folder, measure a record."""

import doctest
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ecg_records.measure.test_intervals import drawn
from tests.made_records import make_ecg, make_record

import ecg_records
from ecg_records import Layout, Measured, Record, delineate, measure, read, scan
from ecg_records.errors import CorpusError, Reason
from ecg_records.signal.leads import LEADS


@pytest.fixture
def record(tmp_path):
    return read(make_record(tmp_path, x_CL=drawn(pr=0.16, qrs=0.1, qt=0.4, rr=0.8).astype(float)))


def test_a_header_and_an_array_of_the_same_samples_are_the_same_record(tmp_path):
    x_CL = make_ecg()
    header = make_record(tmp_path, x_CL=x_CL, comments=("Age: 63", "Sex: Female", "Dx: 164889003"))
    np.save(tmp_path / "a.npy", x_CL.astype(np.float32))
    found, array = read(header), read(tmp_path / "a.npy", Layout(500))
    np.testing.assert_allclose(found.signals, array.signals, atol=6e-4)
    assert (found.leads, found.fs) == (array.leads, array.fs) == (LEADS, 500)
    assert (found.age, found.sex, found.codes, found.statements) == (63, "F", ("164889003",), ())
    assert array.notes == ("no diagnosis",)


def test_a_plot_has_the_size_of_ecg_paper(tmp_path):
    """25 mm for a second, and 20 mm, which is 2 mV, for each of the twelve leads."""
    record = read(make_record(tmp_path, x_CL=make_ecg(30)))
    figure = record.plot(seconds=4)
    (axes,) = figure.axes
    inches = axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
    assert (inches.width * 25.4, inches.height * 25.4) == pytest.approx((4 * 25, 12 * 20))
    lead_ii = axes.lines[1].get_ydata()
    np.testing.assert_allclose(np.diff(lead_ii), np.diff(record.signals[1, :2000]), atol=1e-5)
    assert [text.get_text() for text in axes.texts] == list(LEADS)


@pytest.mark.filterwarnings("error")
def test_a_plot_leaves_a_lead_without_samples_empty(record):
    x_KL = record.x_KL.copy()
    x_KL[2] = np.nan
    (axes,) = replace(record, x_KL=x_KL).plot().axes
    assert np.isnan(axes.lines[2].get_ydata()).all()
    assert np.isfinite(axes.lines[3].get_ydata()).all()


def test_a_part_of_a_long_recording_is_read(tmp_path):
    header = make_record(tmp_path, x_CL=make_ecg(30))
    part = read(header, seconds=5, start=10)
    np.testing.assert_array_equal(part.signals, read(header).signals[:, 5000:7500])


def test_a_scan_yields_every_record_and_why_another_cannot_be_read(tmp_path):
    make_record(tmp_path / "a", "good")
    make_record(tmp_path / "b", "bad", scale="0/mV")
    good, bad = scan(tmp_path)
    assert (good.path, bad.path) == ("a/good.hea", "b/bad.hea")
    np.testing.assert_array_equal(good.record.signals, read(tmp_path / "a" / "good.hea").signals)
    assert (good.error, bad.record) == (None, None)
    assert bad.error.reason == Reason.gain
    assert "bad.hea" in str(bad.error)


def test_a_scan_of_nothing_is_refused_at_once(tmp_path):
    with pytest.raises(CorpusError, match="no WFDB header"):
        scan(tmp_path)
    with pytest.raises(CorpusError, match="doesn't exist"):
        scan(tmp_path / "nowhere")


def test_a_record_is_measured_in_ms_and_degrees(record):
    found = measure(record)
    assert found.rate == pytest.approx(75, abs=0.5)
    assert (found.pr, found.qrs) == (pytest.approx(160, abs=15), pytest.approx(100, abs=15))
    assert found.qt == pytest.approx(400, abs=25)
    assert found.qtc == pytest.approx(found.qt / 0.8 ** (1 / 3), rel=0.01)  # Fridericia
    assert found.axis == pytest.approx(np.degrees(np.arctan2(2 / 3**0.5 * 0.6, 0.8)), abs=3)
    assert (found.paced, found.reasons) == (False, {})


def test_what_cannot_be_measured_is_none_with_a_reason(record):
    chest = [LEADS.index(lead) for lead in ("V1", "V5")]
    without_limbs = replace(record, x_KL=record.x_KL[chest], leads=("V1", "V5"))
    found = measure(without_limbs)
    assert (found.axis, found.reasons) == (None, {"axis": "no_limb_leads"})
    no_p = measure(replace(record, x_KL=drawn(p=0.0)))
    assert (no_p.pr, no_p.reasons["pr"]) == (None, "no_p")
    assert no_p.qrs is not None
    brief = measure(replace(record, x_KL=record.x_KL[:, :700]))
    assert brief == Measured(
        *[None] * 6,
        paced=False,
        reasons=dict.fromkeys(("rate", "pr", "qrs", "qt", "axis", "qtc"), "few_beats"),
    )


def test_every_beat_has_a_row_with_the_ends_of_its_waves(record):
    beats, onsets = delineate(record), 1000 * np.arange(0.6, 9.6, 0.8)
    assert len(beats) == len(onsets)
    np.testing.assert_allclose(beats.r, onsets + 50, atol=12)
    np.testing.assert_allclose(beats.rr[1:], 800, atol=8)
    inner = beats[1:-1]
    for name, at, far in (("p_on", -160, 30), ("qrs_on", 0, 15), ("qrs_off", 100, 15), ("t_off", 400, 30)):
        np.testing.assert_allclose(inner[name], onsets[1:-1] + at, atol=far, err_msg=name)
    assert set(beats["shape"]) == {"usual"}
    assert not beats.p_safe.any()


def test_an_ectopic_beat_has_another_shape_and_what_is_not_measured_has_no_ends(record):
    x_KL = drawn(p=0.0)
    x_KL[:, 2000:2400] = drawn(qrs=0.2)[::-1, 2000:2400] * 2
    beats = delineate(replace(record, x_KL=x_KL))
    assert (beats["shape"] == "other").sum() == 1
    assert beats.p_on.isna().all()
    nothing = delineate(replace(record, x_KL=np.zeros_like(record.x_KL)))
    assert (len(nothing), list(nothing.columns)) == (0, list(beats.columns))


def test_sharp_edges_of_the_usual_beats_leave_an_ectopic_beat_as_it_is(record):
    """The ectopic beat of both records is the same. Only the usual beats have sharp edges in one of them."""
    lengths = []
    for foot in (1, 2):
        x_KL = drawn(foot=foot)
        x_KL[:, 2000:2400] = drawn(qrs=0.2)[::-1, 2000:2400] * 2
        beats = delineate(replace(record, x_KL=x_KL))
        [ectopic] = beats[beats["shape"] == "other"].itertuples()
        lengths.append(ectopic.qrs_off - ectopic.qrs_on)
    assert lengths[0] == pytest.approx(lengths[1], abs=4)


def test_beats_of_another_sampling_rate_are_in_ms_as_well(record):
    slower = delineate(replace(record, x_KL=drawn(fs=250), fs=250, length=2500))
    np.testing.assert_allclose(slower.r, delineate(record).r, atol=12)


@given(st.integers(1, 3000), st.sampled_from(["zeros", "noise", "nan", "step"]), st.integers(0, 99))
def test_whatever_is_none_has_a_reason_and_nothing_else_has(length, kind, seed):
    shapes = {
        "zeros": np.zeros((12, length)),
        "noise": np.random.default_rng(seed).normal(size=(12, length)),
        "nan": np.full((12, length), np.nan),
        "step": np.tile(np.arange(length) > seed, (12, 1)),
    }
    x_CL = shapes[kind].astype(np.float32)
    found = measure(Record("a", "ward", Path("a.hea"), x_CL, fs=500, length=length))
    nones = {name for name in ("rate", "pr", "qrs", "qt", "qtc", "axis") if getattr(found, name) is None}
    assert found.reasons.keys() == nones


def test_the_package_shows_its_names_and_suggests_them():
    assert dir(ecg_records) == sorted(ecg_records.__all__)
    assert all(hasattr(ecg_records, name) for name in ecg_records.__all__)
    with pytest.raises(AttributeError, match="measure"):
        _ = ecg_records.mesure


def test_the_examples_of_the_docstrings_run():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    modules = [each.name for each in walk_packages(ecg_records.__path__, "ecg_records.")]
    failed, tried = zip(
        *(doctest.testmod(import_module(name), optionflags=flags) for name in ["ecg_records", *modules]),
        strict=True,
    )
    assert sum(failed) == 0
    assert sum(tried) > 10
