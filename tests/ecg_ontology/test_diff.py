"""Change control: what a revision changes in supervision, told exactly."""

import math
import re

import networkx
import numpy as np
import pytest
from tests.ecg_ontology.changes import NEW_LEAF, WITHOUT_17_18, with_concept

from ecg_ontology import Ontology, compare
from ecg_ontology.codes.corpus_codes import CorpusCodes
from ecg_ontology.curation.diff_text import difference_markdown, difference_text


@pytest.fixture
def without_17_18(revise):
    return revise("cardiac.ttl", *WITHOUT_17_18)


def corpus(*records):
    return CorpusCodes(name="", counts={}, records=records)


def test_an_ontology_does_not_differ_from_itself(onto):
    difference = compare(onto, onto)
    assert difference.empty
    assert difference.moved == difference.rows == ()


def test_deleting_edge_17_18_moves_one_leaf_pair_from_1_to_2_and_two_rows(onto, without_17_18):
    difference = compare(onto, without_17_18)
    [pair] = difference.moved
    assert (pair.a, pair.b, pair.old, pair.new, pair.leaves) == ("2AVB", "3AVB", 1, 2, True)
    assert difference.rows == ("2AVB", "3AVB")
    assert difference.enumeration == ("- edge sibling 17 18",)
    assert difference.routes == ()


def test_pairs_of_leaves_stand_before_those_with_a_root():
    graph = networkx.DiGraph([("A", "R"), ("B", "R"), ("C", "S")])
    old = Ontology.from_networkx(graph, "https://example.org/x")
    graph.add_edge("A", "B", kind="sibling")
    graph.add_edge("R", "S", kind="ring")
    moved = compare(old, Ontology.from_networkx(graph, "https://example.org/x")).moved
    leaves = [pair.leaves for pair in moved]
    assert leaves == sorted(leaves, reverse=True)
    assert ("A", "B", 2, 1) in [(pair.a, pair.b, pair.old, pair.new) for pair in moved if pair.leaves]
    assert {("R", "S")} <= {(pair.a, pair.b) for pair in moved if not pair.leaves}


def test_the_codes_whose_target_changes_are_those_whose_primary_is_in_a_changed_row(onto, without_17_18):
    codes = compare(onto, without_17_18).codes
    y = onto.leaf_multi_hot([[code] for code in onto.codes])
    at_blocks = {code for code, c in zip(onto.codes, onto.primary(y), strict=True) if c in (17, 18)}
    assert {code.code for code in codes} == {code for code in at_blocks if len(onto.route(code).leaves) == 1}
    assert all(code.y[0] == code.y[1] and code.primary[0] == code.primary[1] for code in codes)


def test_the_total_variation_is_half_the_absolute_difference_of_the_two_targets(onto, without_17_18):
    codes = {code.code: code for code in compare(onto, without_17_18).codes}
    y = onto.leaf_multi_hot([["195042002"]])
    expected = np.abs(onto.soft_targets(y) - without_17_18.soft_targets(y)).sum() / 2
    assert codes["195042002"].total_variation == pytest.approx(expected)


def test_the_records_of_a_corpus_that_change_are_counted(onto, without_17_18):
    records = (("195042002",), ("164889003",), ("27885002", "426783006"), ())
    counts = compare(onto, without_17_18, corpus(*records)).records
    assert (counts.records, counts.changed, counts.primary_changed) == (4, 1, 0)
    assert counts.max_total_variation == pytest.approx(4 * counts.mean_total_variation)


def test_the_profiles_differ_in_their_routes_and_a_lost_target_is_a_whole_one(onto, curated):
    difference = compare(onto, curated)
    assert difference.enumeration == difference.moved == ()
    assert {"698252002", "233917008", "164931005", "413444003"} < set(difference.routes)
    changed = {code.code: code for code in difference.codes}
    assert changed["233917008"].primary == ("3AVB", "")
    assert changed["233917008"].total_variation == pytest.approx(1.0)
    assert changed["413444003"].y == ((), ("MyIsch",))
    assert changed["164931005"].primary == ("AntMI", "STE")
    assert "698252002" not in changed  # a root before, a root after: no target either way


def test_a_renumbering_is_seen_through_the_names(onto, revise):
    swapped = revise(
        "cardiac.ttl",
        (":AF a ccg:Leaf ;\n    ccg:index 5", ":AF a ccg:Leaf ;\n    ccg:index 39"),
        (":IRBBB a ccg:Leaf ;\n    ccg:index 39", ":IRBBB a ccg:Leaf ;\n    ccg:index 5"),
    )
    difference = compare(onto, swapped, corpus(("164889003", "426783006")))
    assert difference.moved == difference.routes == difference.codes == ()
    assert sum(bool(re.match(r"[+-] node", line)) for line in difference.enumeration) == 4
    assert difference.records.primary_changed == 1


def test_a_new_leaf_is_compared_over_the_concepts_that_both_have(onto, revise):
    grown = revise("cardiac.ttl", NEW_LEAF)
    difference = compare(onto, grown)
    assert len(grown) == 41
    assert [line.split()[:3] for line in difference.enumeration if "node" in line] == [["+", "node", "40"]]
    assert difference.moved == ()
    assert {code.y[0] == code.y[1] for code in difference.codes} == {True}
    assert "164889003" in {code.code for code in difference.codes}  # its mass is shared with one node more


def test_a_concept_that_yields_no_more_is_a_difference_with_a_corpus_and_without(onto, revise):
    changed = revise("cardiac.ttl", ("    ccg:yields true ;\n", ""))
    assert onto.sha256 == changed.sha256
    assert onto.bundle_sha256 != changed.bundle_sha256
    records = corpus(("164889003", "426783006"))
    without, by_depth = compare(onto, changed), compare(onto, changed, records, rule="most-specific")
    assert without.yields == by_depth.yields == ("NSR",)
    assert not without.empty
    assert not by_depth.empty
    assert by_depth.records.primary_changed == 1
    assert compare(onto, changed, records).records.primary_changed == 0


def test_records_alone_can_differ_and_are_then_a_difference(onto):
    # Swapped indices move c* of records with both leaves, and of no code alone.
    same = compare(onto, onto, corpus(()))
    assert same.empty
    changed = same.records.model_copy(update={"primary_changed": 1})
    assert not same.model_copy(update={"records": changed}).empty


def test_reworded_texts_are_a_difference_and_named(onto, revise):
    changed = revise("cardiac.ttl", ('"Atrial fibrillation"@en', '"Auricular fibrillation"@en'))
    difference = compare(onto, changed)
    assert (difference.texts, difference.empty) == (("AF",), False)
    assert difference.codes == difference.routes == difference.enumeration == ()


def with_nodes(onto, *names):
    """The draft in which the code of atrial fibrillation is routed to these concepts."""
    [first, *_] = [row for row in onto.draft.mappings if row.code == "164889003"]
    others = (row for row in onto.draft.mappings if row.code != "164889003")
    rows = (first.model_copy(update={"node": onto.node(name).iri}) for name in names)
    return onto.draft.model_copy(update={"mappings": (*others, *rows)})


def listed(old, new, sigma):
    """What is said of this code, if anything is."""
    old, new = (Ontology(draft, checked=True) for draft in (old, new))
    return {code.code: code for code in compare(old, new, sigma=sigma).codes}.get("164889003")


@pytest.mark.parametrize(
    ("old", "new", "primary"),
    [
        (("AF",), ("AF", "AFL"), ("AF", "AFL")),
        (("AF",), ("AFL",), ("AF", "AFL")),
        (("AFL",), ("AF", "AFL"), ("AFL", "AFL")),
    ],
)
def test_a_code_whose_leaves_or_primary_alone_changed_is_listed(onto, old, new, primary):
    # At σ = ∞ every target with a leaf is uniform: only y and c* can tell.
    changed = listed(with_nodes(onto, *old), with_nodes(onto, *new), math.inf)
    assert (changed.total_variation, changed.y, changed.primary) == (0, (old, new), primary)


def test_a_code_whose_leaves_stand_in_another_order_is_not_listed(onto):
    assert listed(with_nodes(onto, "AF", "AFL"), with_nodes(onto, "AFL", "AF"), 1.0) is None


def test_a_primary_that_moves_between_equal_leaves_is_listed(onto):
    # The same leaves and, at σ = ∞, the same target; other indices make another c*.
    draft = with_nodes(onto, "AF", "AFL")
    swapped = with_concept(with_concept(draft, "AF", index=6), "AFL", index=5).concepts
    new = draft.model_copy(update={"concepts": tuple(sorted(swapped, key=lambda c: c.index))})
    changed = listed(draft, new, math.inf)
    assert (changed.total_variation, changed.primary) == (0, ("AFL", "AF"))


# --- in words: short where little changed, complete where it matters


def test_one_added_leaf_is_a_few_lines_and_all_of_them_on_demand(onto, revise):
    difference = compare(onto, revise("cardiac.ttl", NEW_LEAF))
    short = difference_text(difference).splitlines()
    assert short[0].startswith("1 node is new; 1 edge is new; 0 codes are routed otherwise; 0 with other")
    assert len(short) < 12
    assert f"and {len(difference.codes)} codes changed by at most" in short[-1]
    complete = difference_text(difference, 0).splitlines()
    assert sum(line.startswith("code ") for line in complete) == len(difference.codes) > 100


def test_a_code_with_other_leaves_is_listed_however_high_the_threshold(onto, curated):
    text = difference_text(compare(onto, curated), threshold=2)
    assert "code 413444003: leaves {} → {MyIsch}, c* none → MyIsch, total variation 1.0000" in text


def test_a_pull_request_sees_each_row_that_came_went_or_changed_and_by_whom(onto):
    rows = list(onto.draft.mappings)
    place = next(n for n, row in enumerate(rows) if row.code == "426177001")
    update = {"predicate": "skos:closeMatch", "reason": "a | b <b>", "author": "Dr A", "date": "2026-01-02"}
    rows[place] = rows[place].model_copy(update=update)
    gone = next(row for row in rows if row.code == "164934002")
    rows.remove(gone)
    new = gone.model_copy(update={"code": "3424008", "author": "Dr B"})
    revised = Ontology(onto.draft.model_copy(update={"mappings": (*rows, new)}), checked=True)
    lines = difference_markdown(onto, revised, compare(onto, revised)).splitlines()
    for change, cells in (
        ("changed", "| skos:exactMatch → skos:closeMatch | SBrad | Dr A 2026-01-02 | a \\| b &lt;b> |"),
        ("added", "| 3424008 |"),
        ("added", "| Dr B |"),
        ("removed", "| 164934002 |"),
    ):
        assert cells in next(line for line in lines if line.startswith(f"| {change} |"))
    assert any(line.startswith("- code 164934002: leaves {NSSTC} → {}") for line in lines)
    assert difference_markdown(onto, onto, compare(onto, onto)).count("|") == 0
