"""Attention, concepts and curves: what is drawn is what was given."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import ecg_ontology
from marecg.base.config import LEADS
from marecg.report.attention_picture import BAND, PITCH, attention_map
from marecg.report.charts import BINS, curve, interval, matrix
from marecg.report.concept_graph import RING, concept_graph
from marecg.report.svg import SHADES, cells, polyline, standalone

ONTOLOGY = ecg_ontology.load()


def test_rounding_in_a_polyline_does_not_add_up() -> None:
    x = np.arange(10_000) * 0.0333
    path = polyline(x, np.zeros(10_000))
    values = np.array([int(value) for value in re.findall(r"-?\d+", path)]).reshape(-1, 2)
    assert np.abs(values.cumsum(0)[:, 0] / 100 - x).max() <= 0.005 + 1e-9


def test_cells_are_as_opaque_as_their_levels_and_nothing_is_drawn_for_none() -> None:
    drawn = cells([[0, 0.5], [1, np.nan]], 10, 20, 2, 3)
    assert re.findall(r'd="([^"]*)"', drawn) == ["M12 20h2v3h-2z", "M10 23h2v3h-2z"]
    assert [float(value) for value in re.findall(r'fill-opacity="([^"]*)"', drawn)] == [0.5, 1]
    assert cells([[0.4 / SHADES]], 0, 0, 1, 1) == ""


def test_attention_stands_in_the_band_under_the_stretch_and_the_lead_it_belongs_to() -> None:
    share_TC = np.zeros((50, 12), np.float32)
    share_TC[10, LEADS.index("V2")] = 1
    svg = attention_map(np.zeros((12, 5000), np.float32), 500, share_TC, 0.1, 0.2)
    [cell] = re.findall(r'd="(M[^"]*)" fill="#2f6fb3" fill-opacity="1"', svg)[:1]
    x, y = map(float, re.match(r"M([\d.]+) ([\d.]+)", cell).groups())
    assert (x, y) == (
        pytest.approx(10 + 25 * (0.1 + 10 * 0.2)),
        pytest.approx(PITCH * (LEADS.index("V2") + 1) - BAND + 0.2),
    )
    assert "100 %" in svg
    assert "600.0 times an even share" in svg
    ElementTree.fromstring(standalone(svg))


def test_an_even_pool_is_pale_everywhere() -> None:
    even_TC = np.full((50, 12), 1 / 600, np.float32)
    svg = attention_map(np.zeros((12, 5000), np.float32), 500, even_TC, 0, 0.2)
    shades = re.findall(r'h5v2.2h-5z" fill="#2f6fb3" fill-opacity="([^"]*)"', svg)
    assert shades == ["0.312"] * 12  # 5 shades of 16, a path per lead


def test_the_most_probable_concept_is_the_largest_and_the_coded_ones_are_ringed() -> None:
    q_N = np.full(40, 0.01, np.float32)
    q_N[12] = 0.61
    svg = concept_graph(ONTOLOGY, q_N, {5, 31})
    nodes = re.findall(r"<title>([^<]*): q = ([\d.]+) %</title><circle r=\"([\d.]+)\"", svg)
    assert len(nodes) == 40
    largest = max(nodes, key=lambda node: float(node[2]))
    assert largest[:2] == (ONTOLOGY.nodes[12].label, "61.0")
    assert svg.count(f'<circle r="{float(nodes[0][2]) + 3.5:g}" fill="none" stroke="{RING}"') == 2
    for node in ONTOLOGY.nodes:
        assert f">{node.abbr}</text>" in svg
    ElementTree.fromstring(standalone(svg))


def test_a_curve_that_is_longer_than_its_picture_keeps_its_extremes_as_a_band() -> None:
    values = np.zeros(100_000)
    values[77_777] = 50
    svg = curve(np.arange(100_000), values, "loss")
    assert len(svg) < 40 * BINS
    band = np.array([int(each) for each in re.findall(r"-?\d+", re.findall(r'd="(M[^"]*)"', svg)[-2])])
    y = band.reshape(-1, 2).cumsum(0)[:, 1]
    assert np.ptp(y) == round(8600 * 50 / 60)  # the axis ends at the round value 60


def test_a_curve_with_gaps_or_with_a_single_step_is_drawn_all_the_same() -> None:
    for values in ([1.0, np.nan, 3.0], [2.0], [np.nan, np.inf], [5.0, 5.0]):
        ElementTree.fromstring(standalone(curve(np.arange(len(values)) + 1, values, "a & b")))


def test_a_matrix_is_shaded_from_its_lowest_to_its_highest_value_which_are_written_below_it() -> None:
    svg = matrix([[1, 0.5], [0.5, 0.75]], ["A", "Conduction"], "cosine")
    assert re.findall('fill-opacity="([^"]*)"', svg) == ["0.5", "1"]
    assert "cosine: from 0.50 (blank) to 1.00" in svg
    assert "fill-opacity" not in matrix([[1, 1]] * 2, ["A", "B"], "even")


def test_an_interval_is_drawn_to_scale_and_stays_on_its_axis() -> None:
    svg = interval(0.7, 0.1, 0.85)
    [low, high] = map(float, re.search(r"M([\d.]+) 7H([\d.]+)\" stroke=\"#2f6fb3", svg).groups())
    assert low == 4  # below the axis, so at its end
    assert high == pytest.approx(4 + 112 * 0.45 / 0.6, abs=0.05)
