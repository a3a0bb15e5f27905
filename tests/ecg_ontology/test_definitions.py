"""Every concept is defined by published sources, in one form in every file."""

import ecg_ontology
from ecg_ontology import export
from ecg_ontology.sources import read_source
from ecg_ontology.vocabulary_exports import skos_text


def test_every_concept_has_a_definition_of_its_own_with_a_published_source(onto):
    texts = [node.definition for node in onto.nodes]
    assert len(set(texts)) == len(onto)
    assert all(text.endswith(".") and 40 < len(text) < 300 for text in texts)
    assert skos_text(onto).count("skos:definition") == len(onto)
    assert all(node.sources for node in onto.nodes)
    assert all(source.startswith("https://doi.org/10.") for node in onto.nodes for source in node.sources)


def test_a_definition_moves_neither_the_hash_that_a_checkpoint_carries_nor_a_text_variant(onto):
    nothing = {"definition": "", "sources": ()}
    concepts = tuple(concept.model_copy(update=nothing) for concept in onto.draft.concepts)
    bare = ecg_ontology.Ontology(onto.draft.model_copy(update={"concepts": concepts}))
    assert bare.sha256 == onto.sha256
    assert [node.variants for node in bare.nodes] == [node.variants for node in onto.nodes]


def test_a_second_definition_and_a_source_that_is_a_text_are_kept_as_they_are(onto, tmp_path):
    path = export(onto, tmp_path / "o.ttl")
    text = path.read_text(encoding="utf-8")
    more = 'skos:definition "Zwei"@de , "zz"@en ; dcterms:source "a book" ;\n    skos:notation "AF" ;'
    path.write_text(text.replace('skos:notation "AF" ;', more), encoding="utf-8")
    af = next(concept for concept in read_source(path).concepts if concept.abbr == "AF")
    assert af.definition == onto.node("AF").definition
    again = export(ecg_ontology.load(path), tmp_path / "again.ttl").read_text(encoding="utf-8")
    assert all(each in again for each in ('"Zwei"@de', '"zz"@en', '"a book"'))
