"""What is exported is read by the programs that it is written for."""

import csv

import owlready2
import pyhornedowl
import pytest
import rdflib
from pyhornedowl.model import DeclareAnnotationProperty, DeclareNamedIndividual
from rdflib.namespace import DCTERMS, SKOS
from tests.ecg_ontology.changes import with_concept

import ecg_ontology
from ecg_ontology import Ontology, export

CARDIAC = "https://w3id.org/mar-ecg/cardiac"


def changed(onto: Ontology, text: str) -> Ontology:
    """The packaged ontology, one text variant of AF replaced."""
    return Ontology(with_concept(onto.draft, "AF", variants=(text, *onto.node("AF").variants[1:])))


def test_horned_owl_reads_the_owl_file_as_owl_2_dl(onto, tmp_path):
    read = pyhornedowl.open_ontology(str(export(onto, tmp_path / "o.owl")))
    assert str(read.get_iri()) == CARDIAC
    declared = [axiom.component for axiom in read.get_axioms()]
    individuals = {str(each.first) for each in declared if isinstance(each, DeclareNamedIndividual)}
    assert individuals == {node.iri for node in onto.nodes}
    properties = (each for each in declared if isinstance(each, DeclareAnnotationProperty))
    annotations = {str(each.first).strip("<>") for each in properties}
    assert {str(DCTERMS.title), str(DCTERMS.license), str(SKOS.prefLabel), str(SKOS.altLabel)} <= annotations


def test_owlready2_reads_the_owl_file_with_every_label(onto, tmp_path):
    heart = owlready2.World()
    heart.get_ontology(f"file://{export(onto, tmp_path / 'o.owl')}").load()
    assert "Vorhofflimmern" in map(str, heart[f"{CARDIAC}#AF"].prefLabel)
    assert len(list(heart.individuals())) == len(onto)


@pytest.mark.parametrize("ending", [".ttl", ".owl", ".nt"])
@pytest.mark.parametrize("strange", ["\u2028", "\u2029", "\x85"], ids=["U+2028", "U+2029", "NEL"])
def test_rdflib_reads_what_was_written_whatever_ends_a_line_elsewhere(onto, tmp_path, ending, strange):
    text = f"fibrillatory{strange}waves"
    path = export(changed(onto, text), tmp_path / f"o{ending}")
    read = rdflib.Graph().parse(path)
    assert rdflib.Literal(text, lang="en") in set(read.objects(rdflib.URIRef(f"{CARDIAC}#AF")))


@pytest.mark.parametrize("profile", ["paper", "curated"])
def test_every_prefix_of_the_sssom_table_is_in_its_curie_map(profile, tmp_path):
    """`.ci/sssom` reads it by sssom-py, which refuses one that is not."""
    path = export(ecg_ontology.load(profile=profile), tmp_path / "o.sssom.tsv")
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line.strip("# ") for line in lines if line.startswith("#")]
    prefixes = {entry.partition(":")[0] for entry in head[head.index("curie_map:") + 1 :]}
    curies = ("subject_id", "predicate_id", "object_id", "mapping_justification", "mapping_source")
    rows = csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t")
    used = {row[column].partition(":")[0] for row in rows for column in curies if row[column]}
    assert used <= prefixes
