"""The ECG on standard paper, read back from its coordinates in millimetres."""

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

from ecg_records.signal.leads import LEADS
from marecg.report.svg import standalone
from marecg.report.tracing import stacked, tracing


def read_back(svg: str) -> dict[str, list[NDArray[np.float64]]]:
    """Every trace as points [n, 2] in mm of the sheet, by lead, in the order drawn."""
    traces: dict[str, list[NDArray[np.float64]]] = {}
    for path in ElementTree.fromstring(standalone(svg)).findall(".//{*}path[@data-lead]"):
        x, y, scale = (float(value) for value in re.findall(r"[\d.]+", path.attrib["transform"]))
        values = [int(value) for value in re.findall(r"-?\d+", path.attrib["d"])]
        points = np.cumsum(np.array(values).reshape(-1, 2), axis=0) * scale + (x, y)
        traces.setdefault(path.attrib["data-lead"], []).append(points)
    return traces


def size_in_mm(svg: str) -> tuple[float, float]:
    sheet = ElementTree.fromstring(svg)
    width, height = (sheet.attrib[side].removesuffix("mm") for side in ("width", "height"))
    assert sheet.attrib["viewBox"] == f"0 0 {width} {height}"
    return float(width), float(height)


def test_a_second_is_25_mm_and_a_millivolt_10_mm():
    x_CL = np.zeros((12, 5000), np.float32)
    x_CL[1, 500] = 1.5  # lead II, one second in
    [column, strip] = read_back(tracing(x_CL, 500))["II"]
    peak = int(column[:, 1].argmin())
    assert column[peak, 0] - column[0, 0] == pytest.approx(25)
    assert column[0, 1] - column[peak, 1] == pytest.approx(15)
    assert strip[-1, 0] - strip[0, 0] == pytest.approx(25 * 4999 / 500, abs=0.01)


def test_the_sheet_fits_on_a4_and_letter_laid_crosswise():
    width, height = size_in_mm(tracing(np.zeros((12, 5000), np.float32), 500))
    assert width <= 279.4 - 18
    assert height <= 210 - 18


def test_columns_follow_each_other_in_time_and_lead_ii_runs_through_below():
    x_CL = np.random.default_rng(0).normal(0, 0.1, (12, 5000)).astype(np.float32)
    traces = read_back(tracing(x_CL, 500))
    assert list(traces) == list(LEADS)
    assert [len(traces[lead]) for lead in LEADS] == [1, 2, *[1] * 10]
    starts = [traces[lead][0][0, 0] for lead in ("I", "aVR", "V1", "V4")]
    np.testing.assert_allclose(np.diff(starts), 62.5)
    v4 = traces["V4"][0]
    expected = x_CL[9, 3750:5000] - np.median(x_CL[9])
    np.testing.assert_allclose(v4[:, 1] - v4[0, 1], -10 * (expected - expected[0]), atol=0.011)
    assert traces["II"][1][:, 1].mean() > traces["III"][0][:, 1].mean()


def test_another_rate_changes_no_millimetre():
    seconds = np.arange(10_000) / 1000
    x_CL = np.tile(np.sin(2 * np.pi * seconds), (12, 1)).astype(np.float32)
    fast, slow = read_back(tracing(x_CL, 1000))["V1"][0], read_back(tracing(x_CL[:, ::4], 250))["V1"][0]
    np.testing.assert_allclose(fast[::2], slow, atol=0.011)  # above 500 Hz samples are left out


def test_an_absent_lead_is_named_and_a_flat_line_is_not_drawn_for_it():
    svg = tracing(np.zeros((2, 5000), np.float32), 500, ["v5", "I"])
    assert set(read_back(svg)) == {"I", "V5"}
    assert "aVF: not recorded" in svg


def test_samples_that_are_missing_leave_a_gap():
    x_CL = np.zeros((12, 5000), np.float32)
    x_CL[0, 100:200] = np.nan
    x_CL[3] = np.nan
    svg = tracing(x_CL, 500)
    [path] = re.findall(r'd="([^"]*)" data-lead="I"', svg)
    assert path.count("M") == 2
    assert 'data-lead="aVR"' not in svg


def test_the_grid_has_a_line_per_millimetre_and_a_stronger_one_every_five():
    svg = tracing(np.zeros((12, 5000), np.float32), 500)
    width, height = size_in_mm(svg)
    fine, coarse = (path for path in re.findall(r'<path d="([^"]*)"', svg)[:2])
    assert fine.count("M") == width + 1 + height + 1
    assert coarse.count("M") == width / 5 + 1 + height / 5 + 1
    assert svg.count("v-10h5v10") == 4, "every row has a calibration pulse of one millivolt for 200 ms"


@pytest.mark.parametrize("picture", [tracing, stacked])
@pytest.mark.parametrize(
    ("lead", "height", "gains"),
    [
        ("V4", 2.9, (10, 5)),
        ("V4", 1.4, (10, 10)),
        ("II", -2.9, (5, 10)),
        ("V4", 80, (10, 0.1)),
    ],
)
def test_waves_too_high_for_the_paper_lower_the_gain_of_their_group_of_leads(picture, lead, height, gains):
    """A wave in every second; a name and a pulse say at which gain, and nothing leaves the paper."""
    x_CL = np.zeros((12, 5000), np.float32)
    for second in range(10):
        x_CL[LEADS.index(lead), 500 * second + 100 : 500 * second + 120] = height
    svg = picture(x_CL, 500)
    limb, chest = gains
    assert (f"{limb:g} mm/mV, V1–V6 {chest:g} mm/mV" if limb != chest else f"{limb:g} mm/mV<") in svg
    assert f"v{-limb:g}h5v{limb:g}" in svg
    assert (f"v{-chest:g}h5v{chest:g}" in svg) == (picture is stacked or limb == chest)
    width, bottom = size_in_mm(svg)
    points = np.concatenate([each for drawn in read_back(svg).values() for each in drawn])
    assert (points >= 0).all()
    assert (points <= (width, bottom)).all()


@pytest.mark.parametrize("picture", [tracing, stacked])
def test_one_artefact_lowers_no_gain_and_is_cut_off_at_the_papers_edge(picture):
    x_CL = np.zeros((12, 5000), np.float32)
    x_CL[:, ::500] = 1
    x_CL[LEADS.index("V5"), 4500:4900] = 9
    svg = picture(x_CL, 500)
    assert "25 mm/s    10 mm/mV<" in svg
    if picture is tracing:
        assert np.concatenate(read_back(svg)["V5"])[:, 1].min() == pytest.approx(0, abs=0.05)


def test_on_a_phone_no_lead_runs_into_the_next_ones_row():
    """Deep S waves and tall R waves in every second of every lead, at the gain of an electrocardiograph."""
    x_CL = np.zeros((12, 5000), np.float32)
    x_CL[:, 100::500], x_CL[:, 110::500] = 1.4, -2.2
    svg = stacked(x_CL, 500)
    assert "25 mm/s    10 mm/mV<" in svg
    drawn = [read_back(svg)[lead][0][:, 1] for lead in LEADS]
    assert all(upper.max() < lower.min() for upper, lower in itertools.pairwise(drawn))
