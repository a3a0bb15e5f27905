"""Change control: what a revision changes in supervision, told exactly."""

import math
import re

import networkx
import numpy as np
import pytest

import ecg_ontology
from ecg_ontology import Ontology, compare
from ecg_ontology.corpora import CorpusCodes


@pytest.fixture
def revise(folder):
    """Load a copy of the sources with these replacements made in one of its files."""

    def load(file: str, *replacements: tuple[str, str]):
        text = (folder / file).read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        (folder / file).write_text(text, encoding="utf-8")
        return ecg_ontology.load(folder)

    return load


@pytest.fixture
def without_17_18(revise):
    """The graph without the edge between second-degree and complete AV block."""
    here, there = " ;\n    ccg:sibling :3AVB .", " ;\n    ccg:sibling :2AVB .\n\n:LongQT"
    return revise("cardiac.ttl", (here, " ."), (there, " .\n\n:LongQT"))


def test_an_ontology_does_not_differ_from_itself(onto):
    found = ecg_ontology.compare(onto, onto)
    assert found.empty
    assert found.moved == found.rows == ()


def test_deleting_edge_17_18_moves_one_leaf_pair_from_1_to_2_and_two_rows(onto, without_17_18):
    found = ecg_ontology.compare(onto, without_17_18)
    assert [(pair.a, pair.b, pair.old, pair.new) for pair in found.moved if pair.leaves] == [
        ("2AVB", "3AVB", 1, 2)
    ]
    assert len(found.moved) == 1
    assert found.rows == ("2AVB", "3AVB")
    assert found.enumeration == ("- edge sibling 17 18",)
    assert found.routes == ()


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
    found = ecg_ontology.compare(onto, without_17_18)
    y = onto.leaf_multi_hot([[code] for code in onto.codes])
    at_blocks = {code for code, c in zip(onto.codes, onto.primary(y), strict=True) if c in (17, 18)}
    inactive_pair = {code for code in at_blocks if len(onto.route(code).leaves) == 1}
    assert {code.code for code in found.codes} == inactive_pair
    assert all(code.y[0] == code.y[1] and code.primary[0] == code.primary[1] for code in found.codes)


def test_the_total_variation_is_half_the_absolute_difference_of_the_two_targets(onto, without_17_18):
    found = ecg_ontology.compare(onto, without_17_18)
    y = onto.leaf_multi_hot([["195042002"]])
    expected = np.abs(onto.soft_targets(y) - without_17_18.soft_targets(y)).sum() / 2
    told = next(code.total_variation for code in found.codes if code.code == "195042002")
    assert told == pytest.approx(expected)


def test_the_records_of_a_corpus_that_change_are_counted(onto, without_17_18):
    records = (("195042002",), ("164889003",), ("27885002", "426783006"), ())
    corpus = CorpusCodes(name="", counts={}, records=records)
    found = ecg_ontology.compare(onto, without_17_18, corpus).records
    assert (found.records, found.changed, found.primary_changed) == (4, 1, 0)
    assert found.max_total_variation == pytest.approx(4 * found.mean_total_variation)


def test_the_profiles_differ_in_their_routes_and_a_lost_target_is_a_whole_one(onto, curated):
    found = ecg_ontology.compare(onto, curated)
    assert found.enumeration == found.moved == ()
    assert {"698252002", "233917008", "164931005", "413444003"} < set(found.routes)
    changed = {code.code: code for code in found.codes}
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
    records = (("164889003", "426783006"),)
    found = ecg_ontology.compare(onto, swapped, CorpusCodes(name="", counts={}, records=records))
    assert found.moved == ()
    assert found.routes == ()
    assert found.codes == ()
    assert sum(bool(re.match(r"[+-] node", line)) for line in found.enumeration) == 4
    assert found.records.primary_changed == 1


def test_a_new_leaf_is_compared_over_the_concepts_that_both_have(onto, revise):
    leaf = (
        '\n:New a ccg:Leaf ;\n    ccg:index 40 ;\n    skos:notation "New" ;\n'
        '    skos:prefLabel "New"@en ;\n    ccg:family :Rhythm .\n'
    )
    grown = revise("cardiac.ttl", (":LowV a ccg:Leaf", f"{leaf.strip()}\n\n:LowV a ccg:Leaf"))
    found = ecg_ontology.compare(onto, grown)
    assert len(grown) == 41
    assert [line.split()[:3] for line in found.enumeration if "node" in line] == [["+", "node", "40"]]
    assert found.moved == ()
    assert {code.y[0] == code.y[1] for code in found.codes} == {True}
    assert "164889003" in {code.code for code in found.codes}  # its mass is shared with one node more


def test_a_concept_that_yields_no_more_is_a_difference_with_a_corpus_and_without(onto, revise):
    changed = revise("cardiac.ttl", ("    ccg:yields true ;\n", ""))
    assert onto.sha256 == changed.sha256
    assert onto.bundle_sha256 != changed.bundle_sha256
    records = (("164889003", "426783006"),)
    corpus = CorpusCodes(name="", counts={}, records=records)
    for found in (
        ecg_ontology.compare(onto, changed),
        ecg_ontology.compare(onto, changed, corpus, rule="most-specific"),
    ):
        assert found.yields == ("NSR",)
        assert not found.empty
    assert found.records.primary_changed == 1
    assert ecg_ontology.compare(onto, changed, corpus).records.primary_changed == 0


def test_records_alone_can_differ_and_are_then_a_difference(onto, revise):
    # Swapped indices move c* of records with both leaves, and of no code alone.
    found = ecg_ontology.compare(onto, onto, CorpusCodes(name="", counts={}, records=((),)))
    assert found.empty
    changed = found.records.model_copy(update={"primary_changed": 1})
    assert not found.model_copy(update={"records": changed}).empty


def test_reworded_texts_are_a_difference_and_named(onto, revise):
    changed = revise("cardiac.ttl", ('"Atrial fibrillation"@en', '"Auricular fibrillation"@en'))
    found = ecg_ontology.compare(onto, changed)
    assert (found.texts, found.empty) == (("AF",), False)
    assert found.codes == found.routes == found.enumeration == ()


def test_a_code_whose_leaves_or_primary_alone_changed_is_listed(onto):
    def with_nodes(*names):
        rows = [row for row in onto.draft.mappings if row.code != "164889003"]
        first = next(row for row in onto.draft.mappings if row.code == "164889003")
        mine = [first.model_copy(update={"node": onto.node(name).iri}) for name in names]
        return ecg_ontology.Ontology(onto.draft.model_copy(update={"mappings": (*rows, *mine)}), checked=True)

    def listed(old, new, sigma=1.0):
        return {code.code: code for code in ecg_ontology.compare(old, new, sigma=sigma).codes}

    # At σ = ∞ every target with a leaf is uniform: only y and c* can tell.
    one, two = with_nodes("AF"), with_nodes("AF", "AFL")
    changed = listed(one, two, math.inf)["164889003"]
    assert changed.total_variation == 0
    assert changed.y == (("AF",), ("AF", "AFL"))
    assert changed.primary == ("AF", "AFL")
    assert listed(with_nodes("AF"), with_nodes("AFL"), math.inf)["164889003"].primary == ("AF", "AFL")
    lower = listed(with_nodes("AFL"), with_nodes("AF", "AFL"), math.inf)["164889003"]
    assert lower.primary == ("AFL", "AFL")
    assert "164889003" not in listed(two, with_nodes("AFL", "AF"))


def test_a_primary_that_moves_between_equal_leaves_is_listed(onto):
    # The same leaves and, at σ = ∞, the same target; another rule picks another c*.
    draft = onto.draft
    concepts = tuple(
        c.model_copy(update={"index": {5: 6, 6: 5}.get(c.index, c.index)}) for c in draft.concepts
    )
    rows = [row for row in draft.mappings if row.code != "164889003"]
    first = next(row for row in draft.mappings if row.code == "164889003")
    mine = [first.model_copy(update={"node": onto.node(name).iri}) for name in ("AF", "AFL")]
    old = draft.model_copy(update={"mappings": (*rows, *mine)})
    new = old.model_copy(update={"concepts": tuple(sorted(concepts, key=lambda c: c.index))})
    pair = [ecg_ontology.Ontology(each, checked=True) for each in (old, new)]
    found = {code.code: code for code in ecg_ontology.compare(*pair, sigma=math.inf).codes}["164889003"]
    assert found.total_variation == 0
    assert found.primary == ("AFL", "AF")
