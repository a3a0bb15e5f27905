"""What lies above and below a concept."""

from ecg_ontology import Kind
from ecg_ontology.hierarchy import branches


def names(concepts):
    return [concept.abbr for concept in concepts]


def test_subtypes_are_below_their_parents_and_manifestations_are_not(onto):
    assert names(onto.descendants("AMI")) == ["AntMI", "InfMI"]
    assert onto.descendants("MyIsch") == ()
    assert names(onto.ancestors("STE")) == ["Ischemic"]


def test_the_ancestors_of_an_anterior_infarction_are_both_infarctions_and_their_family(onto):
    assert set(names(onto.ancestors("AntMI"))) == {"AMI", "OMI", "Ischemic"}
    assert onto.ancestors("Ischemic") == ()


def test_below_the_roots_lies_every_leaf_once(onto):
    below = [leaf.index for root in onto.roots for leaf in onto.descendants(root)]
    assert sorted(below) == list(onto.leaves)


def test_above_and_below_are_each_other_s_converse(onto):
    below = {(node, other) for node in onto.nodes for other in onto.descendants(node.index)}
    assert below == {(above, node) for node in onto.nodes for above in onto.ancestors(node.index)}


def test_the_tree_shows_a_subtype_under_each_parent_and_every_concept(onto):
    lines = [(line.depth, line.concept.abbr) for line in branches(onto.nodes, onto.relations, onto.roots)]
    under_roots = {name for depth, name in lines if depth == 1}
    assert {name for _, name in lines} == {node.abbr for node in onto.nodes}
    assert lines.count((2, "AntMI")) == 2
    assert "AntMI" not in under_roots
    subtypes = {edge.source for edge in onto.relations if edge.kind is Kind.subtype_of}
    assert len(under_roots) == len(onto.leaves) - len(subtypes)


def test_the_tree_of_one_concept_starts_with_it(onto):
    lines = [(line.depth, line.concept.abbr) for line in branches(onto.nodes, onto.relations, [19])]
    assert lines == [(0, "AMI"), (1, "AntMI"), (1, "InfMI")]
