"""The errata: each names a decision and a test that holds it; here are the ones that are plain arithmetic."""

import math
from pathlib import Path

import pytest

from ecg_ontology.loading import errata

ROOT = Path(__file__).parents[2]


def test_every_erratum_is_complete_and_numbered():
    entries = errata()
    assert [entry.id for entry in entries] == [f"E{n:02}" for n in range(1, len(entries) + 1)]
    assert all(all(entry.model_dump().values()) for entry in entries)


@pytest.mark.parametrize("entry", errata(), ids=lambda entry: entry.id)
def test_the_test_that_holds_an_erratum_exists(entry):
    file, _, function = entry.test.partition("::")
    assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")


def test_successive_distance_classes_differ_by_an_e_fold(onto):
    t = onto.soft_targets(onto.leaf_multi_hot([["164889003"]]))[0]
    mass = [next(float(t[c]) for c in range(40) if onto.distances[5, c] == d) for d in range(5)]
    assert [mass[d] / mass[d + 1] for d in range(4)] == pytest.approx([math.e] * 4)


def test_from_a_leaf_an_adjacent_root_is_two_edges_away_and_the_next_one_three(onto):
    assert onto.distances[5, :5].tolist() == [2, 1, 2, 3, 3]
    assert onto.distances[1, :5].tolist() == [1, 0, 1, 2, 2]


def test_the_corpus_table_adds_up_with_ptb_dx_and_not_without():
    ningbo, georgia, ptb = 32_006, 8_296, 419
    assert ningbo + georgia + ptb == 40_721
    assert ningbo + georgia == 40_302


def test_the_factor_of_eleven_is_that_of_the_attention_products_alone():
    c, t, d, ratio = 12, 139, 768, 4
    full, factorised = (c * t) ** 2, c * t**2 + c**2 * t
    assert full / factorised == pytest.approx(11.05, abs=0.01)
    # A block with everything: projections (4 d² a token; twice when there are two attentions), MLP, products.
    tokens = c * t
    whole = tokens * (4 + 2 * ratio) * d**2 + 2 * d * full
    split = tokens * (8 + 2 * ratio) * d**2 + 2 * d * factorised
    assert whole / split < 1.1
