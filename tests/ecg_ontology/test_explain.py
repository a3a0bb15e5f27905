"""Explanations and pictures."""

import math
import re

import matplotlib.figure
import numpy as np
import pytest

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology import Kind
from ecg_ontology.views.draw import bent_edge, clearance, draw_graph, node_positions
from ecg_ontology.views.explain import explanation_text
from ecg_ontology.views.figures import inline_svg

BOTH = ["164889003", "426783006"]


def test_an_explanation_holds_routes_leaves_both_rules_and_the_target(onto):
    why = ecg_ontology.explain_codes(onto, BOTH)
    assert [route.code for route in why.routes] == BOTH
    assert why.leaves == ("AF", "NSR")
    assert why.primary == {"max-index": "NSR", "most-specific": "AF"}
    assert not why.rules_agree
    soft = onto.soft_targets(onto.leaf_multi_hot([BOTH]))[0]
    assert {part.index: part.mass for part in why.target} == dict(enumerate(soft))
    assert [part.mass for part in why.target] == sorted(soft, reverse=True)
    assert {part.abbr for part in why.target if part.active} == {"AF", "NSR"}


def test_the_text_names_every_node_once_and_says_where_the_rules_disagree(onto):
    answers = (ecg_ontology.explain_codes(onto, codes) for codes in (BOTH, BOTH[:1]))
    both, one = (explanation_text(onto, why) for why in answers)
    assert ("the rules select different leaves" in both, "the rules select different leaves" in one) == (
        True,
        False,
    )
    target = both.partition("soft target")[2].split()
    assert all(target.count(node.abbr) == 1 for node in onto.nodes)


def test_a_record_without_a_leaf_is_explained_as_such(onto):
    why = ecg_ontology.explain_codes(onto, ["6374002", "STE"])
    assert why.target == ()
    assert why.primary == {"max-index": "", "most-specific": ""}
    assert "excluded from the contrastive loss" in explanation_text(onto, why)


def test_sigma_is_told_and_used(onto):
    narrow = ecg_ontology.explain_codes(onto, ["164889003"], sigma=0.1)
    assert narrow.target[0].mass > 0.999
    assert "σ = 0.1" in explanation_text(onto, narrow)


def test_the_graph_is_drawn_with_every_abbreviation_and_the_same_bytes_each_time(onto, tmp_path):
    first = draw_graph(onto, tmp_path / "a.svg").read_bytes()
    assert draw_graph(onto, tmp_path / "b.svg").read_bytes() == first
    assert all(f">{node.abbr}<" in first.decode() for node in onto.nodes)


def test_roots_stand_within_their_leaves_and_joined_leaves_side_by_side(onto):
    places = node_positions(onto)
    far = {index: (x / 1.9) ** 2 + y**2 for index, (x, y) in places.items()}
    assert max(far[root] for root in onto.roots) < 0.5 < min(far[leaf] for leaf in onto.leaves)
    leaves = sorted(onto.leaves, key=lambda leaf: math.atan2(places[leaf][1], places[leaf][0] / 1.9))
    around = [onto.nodes[leaf].abbr for leaf in leaves]
    for one, other in (("AF", "AFL"), ("LBBB", "RBBB"), ("2AVB", "3AVB"), ("AMI", "AntMI"), ("LVH", "LAE")):
        assert abs(around.index(one) - around.index(other)) == 1, f"{one} and {other}"


def test_no_edge_between_findings_runs_over_a_third(onto):
    """Else STE would seem to be joined to MyIsch by way of OMI, which lies between."""
    places = node_positions(onto)
    for edge in onto.relations:
        if edge.kind not in (Kind.ring, Kind.family):
            ends = (edge.source, edge.target)
            others = np.array([place for index, place in places.items() if index not in ends])
            names = others - (0, 0.08)  # they stand below
            line = bent_edge(places, *ends)
            assert clearance(line, others) > 0.05, [onto.nodes[end].abbr for end in ends]
            assert clearance(line, names) > 0.02, [onto.nodes[end].abbr for end in ends]


def test_a_target_is_drawn_under_a_title_that_names_it(onto, tmp_path):
    why = ecg_ontology.explain_codes(onto, ["54329005"])
    svg = draw_graph(onto, tmp_path / "t.svg", why).read_text(encoding="utf-8")
    assert "c* = AntMI" in svg


def test_a_picture_in_a_page_has_no_ground_of_its_own():
    svg = inline_svg(matplotlib.figure.Figure(figsize=(1, 1)), "nothing")
    assert re.findall(r'<path [^>]*fill="(.*?)"', svg) == ["none"]


def test_a_picture_of_unknown_form_is_refused(onto, tmp_path):
    with pytest.raises(UsageError, match=r"\.svg"):
        draw_graph(onto, tmp_path / "graph.bmp")
    assert list(tmp_path.iterdir()) == []
