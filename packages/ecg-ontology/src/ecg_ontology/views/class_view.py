"""Class view for tools that read ``rdfs:subClassOf``: OWL in XML, and JSON-LD.

The lossless forms have concepts as individuals, as the vocabulary states them. Here each is a class under the
classes that it is a kind of, with its names, definition and codes in the words of the OBO community.
"""

import rdflib
from rdflib.namespace import DCTERMS, OWL, RDF, RDFS, SKOS

from ecg_ontology.formats.obo_text import OBO, OBO_IN_OWL
from ecg_ontology.formats.sssom import TRANSLATING
from ecg_ontology.graph.hierarchy import broader
from ecg_ontology.ontology import Ontology

_IN_OWL = rdflib.Namespace(OBO_IN_OWL)
_DEFINITION = rdflib.URIRef(f"{OBO}IAO_0000115")
_ANNOTATIONS = {
    _DEFINITION: "definition",
    _IN_OWL["id"]: "id",
    _IN_OWL["hasExactSynonym"]: "has exact synonym",
    _IN_OWL["hasDbXref"]: "database cross reference",
}
_SNOMED = "SNOMEDCT"
"""How the OBO community abbreviates SNOMED CT."""


def classes_xml(onto: Ontology) -> str:
    """Return the classes as RDF/XML."""
    text: str = class_graph(onto).serialize(format="pretty-xml", max_depth=1)
    return text


def classes_json(onto: Ontology) -> str:
    """Return the classes as JSON-LD."""
    context = {"owl": str(OWL), "rdfs": str(RDFS), "skos": str(SKOS), "oboInOwl": OBO_IN_OWL, "obo": OBO}
    text: str = class_graph(onto).serialize(format="json-ld", context=context, sort_keys=True)
    return text + "\n"


def class_graph(onto: Ontology) -> rdflib.Graph:
    """Return the statements of the view."""
    header, graph = onto.header, rdflib.Graph()
    graph.bind("oboInOwl", _IN_OWL)
    graph.bind("obo", OBO)
    ontology = rdflib.URIRef(header.iri)
    graph.add((ontology, RDF.type, OWL.Ontology))
    graph.add((ontology, OWL.versionIRI, rdflib.URIRef(f"{header.iri}/{header.version}")))
    graph.add((ontology, DCTERMS.title, rdflib.Literal(header.title, lang="en")))
    if header.licence:
        graph.add((ontology, DCTERMS.license, rdflib.URIRef(header.licence)))
    for word in (DCTERMS.title, DCTERMS.license, SKOS.notation):
        graph.add((word, RDF.type, OWL.AnnotationProperty))
    for word, label in _ANNOTATIONS.items():
        graph.add((word, RDF.type, OWL.AnnotationProperty))
        graph.add((word, RDFS.label, rdflib.Literal(label)))
    codes = _codes(onto)
    prefix = header.iri.rstrip("/#").rpartition("/")[2]
    for iri, parents in broader(onto.draft).items():
        node, concept = rdflib.URIRef(iri), onto.draft.by_iri[iri]
        graph.add((node, RDF.type, OWL.Class))
        graph.add((node, RDFS.label, rdflib.Literal(concept.label, lang="en")))
        graph.add((node, _IN_OWL["id"], rdflib.Literal(f"{prefix}:{concept.abbr}")))
        graph.add((node, SKOS.notation, rdflib.Literal(concept.abbr)))
        if concept.definition:
            graph.add((node, _DEFINITION, rdflib.Literal(concept.definition, lang="en")))
        if concept.deprecated:
            graph.add((node, OWL.deprecated, rdflib.Literal(True)))
        for name in (*concept.translations, *concept.synonyms):
            text = rdflib.Literal(name.text, lang=name.language or None)
            graph.add((node, _IN_OWL["hasExactSynonym"], text))
        for code in codes.get(iri, ()):
            graph.add((node, _IN_OWL["hasDbXref"], rdflib.Literal(code)))
        for parent in parents:
            graph.add((node, RDFS.subClassOf, rdflib.URIRef(parent)))
    return graph


def _codes(onto: Ontology) -> dict[str, list[str]]:
    """The codes of each concept that mean it or a kind of it, those of crosswalks included."""
    roots = {onto.nodes[root].iri for root in onto.roots}
    codes: dict[str, list[str]] = {}
    for row in (*onto.rows, *onto.draft.crosswalks):
        of_leaf = row.node in roots and not row.crosswalk and onto.route(row.code).leaves
        if row.node is not None and row.predicate in TRANSLATING and not of_leaf:
            codes.setdefault(row.node, []).append(row.code if ":" in row.code else f"{_SNOMED}:{row.code}")
    return codes
