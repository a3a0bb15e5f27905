"""Nothing that a source states is lost on the way through the formats, and nothing is picked by chance."""

import re

import pytest
import rdflib
from rdflib.compare import isomorphic
from tests.ecg_ontology.changes import with_concept

import ecg_ontology
from ecg_ontology.base.errors import SourceError
from ecg_ontology.formats.bundle import read_bundle
from ecg_ontology.formats.rdf_writer import rdf_text
from ecg_ontology.formats.sources import read_source
from ecg_ontology.formats.turtle import turtle_text

HEAD = """
@prefix : <https://example.org/lung#> .
@prefix ccg: <https://w3id.org/mar-ecg/ccg#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
"""
LUNG = """
<https://example.org/lung> a owl:Ontology ; owl:versionInfo "0.1.0" ;
    dcterms:title "Lung"@en .
:Airway a ccg:Root ; ccg:index 0 ; skos:notation "Airway" ; skos:prefLabel "Airway"@en ;
    ccg:textVariant "a"@en , "b"@en , "c"@en .
:COPD a ccg:Leaf ; ccg:index 1 ; skos:notation "COPD" ; skos:prefLabel "Chronic obstruction"@en ;
    ccg:textVariant "d"@en , "e"@en , "f"@en ; ccg:family :Airway .
"""
FOREIGN = """
<https://example.org/lung> dcterms:title "Lunge"@de ; dcterms:license "MIT" ; owl:imports <https://x.org> ;
    dcterms:creator <https://orcid.org/1> ; owl:versionIRI <https://example.org/other> ;
    rdfs:seeAlso <https://example.org/x> .
:COPD skos:definition "A disease"@en , "Eine Krankheit"@de ; skos:altLabel "COLD"@en , "untagged" ;
    rdfs:comment "Ask \\"her\\"\\n# not a comment"@en ; dcterms:source <https://example.org/a%20b> ;
    prov:wasAttributedTo [ a prov:Person ; rdfs:label "someone" ] ; rdfs:label "COPD!"@en ;
    skos:broader <https://example.org/disease> ; ccg:textVariant "g"@fr ;
    skos:prefLabel "Obstruktion"@de , "Chronic obstruction" ; ccg:textVariant "d"@en-GB ;
    <https://example.org/score> 0.5 , "5"^^xsd:byte ; skos:exactMatch <http://snomed.info/id/13645005> .
:NotAConcept a skos:Concept ; skos:prefLabel "stranger"@en .
ccg:Leaf rdfs:comment "as we use it"@en .
<https://example.org/disease> rdfs:label "disease"@en ; rdfs:seeAlso ccg:Leaf .
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "lung.ttl").write_text(HEAD + text, encoding="utf-8")
        return tmp_path / "lung.ttl"

    return write


def nameless(graph):
    """The triples with a node that has no name."""
    triples = [triple for triple in graph if any(isinstance(node, rdflib.BNode) for node in triple)]
    return sum((rdflib.Graph().add(triple) for triple in triples), rdflib.Graph())


def test_every_statement_of_a_source_is_in_its_canonical_form(write):
    source = write(LUNG + FOREIGN)
    written = rdflib.Graph().parse(data=turtle_text(read_source(source)), format="turtle")
    stated = rdflib.Graph().parse(source)
    # Nodes without a name have other names on both sides; the rest is there to the letter.
    assert isomorphic(nameless(written), stated - written)


@pytest.mark.parametrize("ending", [".ttl", ".owl", ".nt", ".json"])
def test_a_form_gives_back_what_was_written(write, tmp_path, ending):
    draft = read_source(write(LUNG + FOREIGN))
    path = tmp_path / f"again{ending}"
    if ending == ".json":
        ecg_ontology.Ontology(draft).save(path)
        again = read_bundle(path)
    else:
        path.write_text(rdf_text(draft, ending), encoding="utf-8")
        again = read_source(path)
    assert again.statements == draft.statements
    assert turtle_text(again) == turtle_text(draft)


def test_a_text_keeps_its_language_and_none_is_given_to_it(write):
    text = LUNG.replace('"Airway"@en', '"Airway"').replace('"d"@en', '"d"@en-GB')
    canonical = turtle_text(read_source(write(text)))
    assert 'skos:prefLabel "Airway" .' in canonical or 'skos:prefLabel "Airway" ;' in canonical
    assert 'ccg:textVariant "d"@en-GB' in canonical
    assert '"Airway"@en' not in canonical
    assert '"d"@en ' not in canonical


def test_the_english_label_is_taken_then_the_one_without_a_language(write):
    for labels in (
        *('"AAA Vorhof"@de , "Zebra"@en', '"AAA Vorhof"@de , "Zebra"', '"plain" , "Zebra"@en'),
        *('"Zebra"@en-GB , "plain"', '"Zebra"@en , "a"@en-US'),
    ):
        source = write(LUNG.replace('"Airway"@en', labels))
        assert ecg_ontology.load(source).nodes[0].label == "Zebra"
        assert "CCG-E015" not in {finding.id for finding in ecg_ontology.validate(source)}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"Airway"@en', '"Airway"@en , "Breath"@en', "Airway has 2 values of skos:prefLabel in 'en'"),
        ('"Airway"@en', '"Airway" , "Breath"', "Airway has 2 values of skos:prefLabel: "),
        ('"Airway"@en', '"Airway"@en , "x"@de , "y"@de', "in 'de': 'x', 'y'"),
        ("ccg:index 1 ", "ccg:index 1 , 2 ", "has 2 values of ccg:index: 1, 2"),
        ("ccg:index 1 ", "ccg:index 4.0 ", "has the ccg:index '4.0', which isn't a whole number"),
        ('notation "COPD"', 'notation "COPD" , "ZOPD"', "has 2 values of skos:notation: COPD, ZOPD"),
        ('owl:versionInfo "0.1.0"', 'owl:versionInfo "0.1.0" , "9.9.9"', "has 2 values of owl:versionInfo"),
        ("ccg:index 1 ", 'ccg:index 1 ; ccg:yields "yes" ', "has ccg:yields 'yes', not true or false"),
        ("ccg:index 1 ", "ccg:index 1 ; ccg:yields true , false ", "has ccg:yields true and false"),
        ("a ccg:Leaf ;", "a ccg:Leaf , ccg:Root ;", "is both a ccg:Root and a ccg:Leaf"),
        ("ccg:index 1 ", "ccg:index 1 ; ccg:sibbling :Airway ", "states ccg:sibbling, which has no meaning"),
        ("a owl:Ontology ;", "a owl:Ontology ; ccg:yields true ;", "states ccg:yields, which has no meaning"),
    ],
)
def test_a_second_value_or_a_word_without_a_meaning_is_a_finding_that_no_load_passes(write, old, new, says):
    assert old in LUNG
    source = write(LUNG.replace(old, new))
    [finding] = [finding for finding in ecg_ontology.validate(source) if finding.id == "CCG-E015"]
    assert says in finding.message
    assert re.fullmatch(r"lung\.ttl:\d+", finding.where)
    with pytest.raises(SourceError, match="CCG-E015"):
        ecg_ontology.load(source)


def test_an_import_that_isnt_followed_is_reported(write, caplog):
    source = write(LUNG.replace("a owl:Ontology ;", "a owl:Ontology ; owl:imports <https://x.org/lobe> ;"))
    ecg_ontology.load(source)
    assert "owl:imports <https://x.org/lobe> is ignored" in caplog.text


@pytest.mark.parametrize("truth", ["true", '"true"^^xsd:boolean', '"1"^^xsd:boolean'])
def test_a_truth_value_is_read_in_each_of_its_spellings(write, truth):
    source = write(LUNG.replace("ccg:index 1 ", f"ccg:index 1 ; ccg:yields {truth} "))
    assert ecg_ontology.load(source).nodes[1].yields


def test_a_second_ontology_in_a_file_is_refused(write):
    source = write(f'{LUNG}<https://a.org> a owl:Ontology ; owl:versionInfo "99.0.0" .')
    with pytest.raises(SourceError, match=r"must have one owl:Ontology .* https://a\.org, https://example"):
        ecg_ontology.validate(source)


def test_other_browsers_find_names_individuals_and_a_scheme(write):
    graph = rdflib.Graph().parse(data=rdf_text(read_source(write(LUNG)), ".owl"), format="xml")
    lung, skos, kind = rdflib.Namespace("https://example.org/lung"), rdflib.SKOS, rdflib.RDF.type
    copd, airway, scheme = lung["#COPD"], lung["#Airway"], lung["/scheme"]
    assert {
        (copd, rdflib.RDFS.label, rdflib.Literal("Chronic obstruction", lang="en")),
        *((copd, kind, rdflib.OWL.NamedIndividual), (copd, skos.inScheme, scheme)),
        *((copd, skos.broader, airway), (scheme, skos.hasTopConcept, airway)),
        (scheme, kind, skos.ConceptScheme),
    } <= set(graph)


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\x1b", "\ufffe"])
def test_a_character_that_xml_cannot_hold_is_refused_there_and_kept_elsewhere(onto, tmp_path, character):
    odd = ecg_ontology.Ontology(with_concept(onto.draft, "Normal", label=f"No{character}rmal"))
    with pytest.raises(SourceError, match=rf"XML can't represent the character U\+{ord(character):04X}"):
        ecg_ontology.export(odd, tmp_path / "ccg.owl")
    assert not list(tmp_path.iterdir())
    if character != "\x00":
        turtle = ecg_ontology.export(odd, tmp_path / "ccg.ttl")
        assert ecg_ontology.load(turtle).nodes[0].label[2] == character


ENTITIES = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ {} ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="&skos;"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:ccg="https://w3id.org/mar-ecg/ccg#">
 <owl:Ontology rdf:about="https://example.org/lung"><owl:versionInfo>0.1.0</owl:versionInfo></owl:Ontology>
 <ccg:Root rdf:about="https://example.org/lung#A"><ccg:index>0</ccg:index>
  <skos:notation>A</skos:notation><skos:prefLabel xml:lang="en">{}</skos:prefLabel></ccg:Root>
</rdf:RDF>"""
PLAIN = '<!ENTITY skos "http://www.w3.org/2004/02/skos/core#">'
NESTED = '<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("entities", "label", "name"),
    [
        (NESTED, "&g;", "b"),
        ('<!ENTITY f SYSTEM "file:///etc/passwd">', "&f;", "f"),
        (f'<!ENTITY long "{"x" * 5000}">', "&long;" * 100, "long"),
        ('<!ENTITY % p "x">', "x", "p"),
    ],
)
def test_entities_that_multiply_or_fetch_are_refused_at_once(tmp_path, entities, label, name):
    (tmp_path / "x.owl").write_text(ENTITIES.format(PLAIN + entities, label), encoding="utf-8")
    with pytest.raises(SourceError, match=f"the entity '{name}' must be a short plain string"):
        ecg_ontology.load(tmp_path / "x.owl")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_entity_that_abbreviates_a_namespace_is_plain(tmp_path, encoding):
    (tmp_path / "x.owl").write_text(ENTITIES.format(PLAIN, "Any"), encoding=encoding)
    assert ecg_ontology.load(tmp_path / "x.owl").nodes[0].label == "Any"


def test_files_that_a_file_manager_hides_are_no_sources(sources, tmp_path):
    (tmp_path / "cardiac.ttl").write_bytes((sources / "cardiac.ttl").read_bytes())
    (tmp_path / "._cardiac.ttl").write_bytes(b"\x00\x05\x16\x07")
    assert len(ecg_ontology.load(tmp_path)) == 40
