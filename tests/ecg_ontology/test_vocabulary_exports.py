"""SKOS and SSSOM views: what vocabulary tools read is what the ontology says."""

import pytest
import rdflib
from rdflib.namespace import RDF, SKOS

import ecg_ontology
from ecg_ontology import export
from ecg_ontology.formats.sssom import read_sssom
from ecg_ontology.graph.concepts import Regime
from ecg_ontology.views.vocabulary_exports import ecl

AF = rdflib.URIRef("https://w3id.org/mar-ecg/cardiac#AF")


@pytest.fixture(scope="module")
def skos(onto, tmp_path_factory):
    return rdflib.Graph().parse(export(onto, tmp_path_factory.mktemp("skos") / "o.skos.ttl"), format="turtle")


def test_every_concept_stands_in_the_scheme_with_one_label_a_language(onto, skos):
    [scheme] = skos.subjects(RDF.type, SKOS.ConceptScheme)
    concepts = set(skos.subjects(SKOS.inScheme, scheme))
    assert {str(concept) for concept in concepts} == {node.iri for node in onto.nodes}
    tops = {str(top) for top in skos.objects(scheme, SKOS.hasTopConcept)}
    assert tops == {onto.nodes[root].iri for root in onto.roots}
    for concept in concepts:
        labels = [label.language for label in skos.objects(concept, SKOS.prefLabel)]
        assert sorted(labels) == ["de", "en", "es", "fr", "it", "nl", "pt", "zh"]


def test_broader_is_the_tree_and_related_the_other_edges(onto, skos):
    ancestors = {
        str(node): {str(above) for above in skos.transitive_objects(node, SKOS.broader)} - {str(node)}
        for node in skos.subjects(RDF.type, SKOS.Concept)
    }
    for node in onto.nodes:
        assert ancestors[node.iri] == {above.iri for above in onto.ancestors(node.index)}
    assert str(next(skos.objects(AF, SKOS.related))).endswith("#AFL")
    for a, b in skos.subject_objects(SKOS.related):
        assert (b, SKOS.related, a) in skos
        assert str(b) not in ancestors[str(a)]  # SKOS: related and broader exclude each other


def test_codes_are_mapped_from_the_concept_so_a_broader_node_has_a_narrower_code(skos):
    def code(sctid):
        return rdflib.URIRef(f"http://snomed.info/id/{sctid}")

    assert (AF, SKOS.exactMatch, code("164889003")) in skos
    assert (AF, SKOS.narrowMatch, code("282825002")) in skos
    assert (AF, SKOS.broadMatch, None) not in skos


@pytest.mark.parametrize("profile", ["paper", "curated"])
def test_the_routing_of_a_profile_reads_back_row_by_row(profile, tmp_path):
    onto = ecg_ontology.load(profile=profile)
    back = read_sssom(export(onto, tmp_path / "all.sssom.tsv"), "base", onto.draft.concepts)
    elsewhere = {"table": "", "place": "", "node_label": ""}
    rows = [[row.model_copy(update=elsewhere) for row in each] for each in (back, onto.rows)]
    assert rows[0] == rows[1]
    assert Regime.unrouted in {row.regime for row in back}


def test_ecl_names_the_codes_of_a_concept_those_that_mean_the_same_with_their_descendants(onto):
    assert ecl(onto, onto.node("STach")) == "<< 427084000 |sinus tachycardia| OR 11092001 |sinus tachycardia|"
    parts = {part.strip() for part in ecl(onto, onto.node("AF")).split(" OR ")}
    assert "<< 164889003 |atrial fibrillation|" in parts
    assert "282825002 |paroxysmal atrial fibrillation|" in parts
