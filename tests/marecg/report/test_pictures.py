"""Concepts and curves: what is drawn is what was given."""

import re
from xml.etree import ElementTree

import numpy as np

import ecg_ontology
from marecg.evaluate.scores.predictions import Predictions
from marecg.report.charts import BINS, curve, matrix
from marecg.report.score_charts import _rocs, class_rocs, confusions, method_rocs
from marecg.report.svg import polyline

ONTOLOGY = ecg_ontology.load()


def test_rounding_in_a_polyline_does_not_add_up():
    x = np.arange(10_000) * 0.0333
    path = polyline(x, np.zeros(10_000))
    values = np.array([int(value) for value in re.findall(r"-?\d+", path)]).reshape(-1, 2)
    assert np.abs(values.cumsum(0)[:, 0] / 100 - x).max() <= 0.005 + 1e-9


def words_of(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter("text")]


def test_a_chart_has_the_pages_colour_and_shares_no_id_with_another():
    steps, values = np.arange(100_000), np.zeros(100_000)
    values[77_777] = 50
    one, same, other = (curve(steps, values, name) for name in ("lo<ss", "lo<ss", "recon"))
    assert one == same
    assert "lo<ss" in words_of(one)
    assert len(one) < 100 * BINS
    assert "currentColor" in one
    assert not {*re.findall(r' id="([^"]*)"', one)} & {*re.findall(r' id="([^"]*)"', other)}
    for gaps in ([1.0, np.nan, 3.0], [np.nan, np.inf], [5.0, 5.0]):
        assert "a & b" in words_of(curve(np.arange(len(gaps)), gaps, "a & b"))


def test_a_matrix_says_what_pale_and_dark_mean():
    svg = matrix([[1, 0.5], [0.5, 0.75]], ["A", "B"], ["A", "B"], "cosine")
    assert {"A", "B", "cosine: from 0.50 (pale) to 1.00"} <= {*words_of(svg)}


def test_what_is_mistaken_is_counted_by_class_and_by_family_and_a_right_guess_counts_for_all_labels():
    """Of three AF one is taken for SBrad, of the same family, and one for LBBB, which it has as well."""
    classes = ("LBBB", "AF", "SBrad", "never")
    y_MK = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]], np.uint8)
    likeliest = np.eye(4)[[1, 2, 0, 2, 2]][None]
    predictions = Predictions(tuple("abcde"), classes, y_MK, {("encoder", 1.0): likeliest}, "encoder")
    families, leaves = map(words_of, confusions(predictions, 1.0, "corpus", ONTOLOGY))
    assert families[:2] == ["Rhythm", "Conduction"]
    assert sorted(text for text in families if text.isdigit()) == ["100", "50", "50"]
    assert leaves[:3] == ["AF", "SBrad", "LBBB"]
    assert sorted(text for text in leaves if text.isdigit()) == ["100", "33", "50", "50", "67"]


def test_the_curve_of_a_method_is_the_mean_over_classes_of_sensitivity_at_the_same_specificity():
    y_MK = np.array([[1, 1], [0, 0], [1, 0], [0, 1]], np.uint8)
    perfect = 2.0 * y_MK[None] - 1
    logits = {("encoder", 1.0): perfect * [1, -1]}
    predictions = Predictions(tuple("abcd"), ("A", "B"), y_MK, logits, "encoder")
    right, wrong = _rocs(predictions, ("encoder", 1.0))[0].values()
    np.testing.assert_allclose(right, 1)
    np.testing.assert_allclose(wrong[:-1], 0)
    assert {"A", "B"} <= {*words_of(class_rocs(predictions, 1.0))}
    assert "encoder" not in words_of(method_rocs(predictions, 1.0)), "one line needs no name"
