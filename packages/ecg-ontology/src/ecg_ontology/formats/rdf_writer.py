"""Write drafts as RDF in any format, converted from the canonical Turtle of `turtle`.

A draft is the unchecked content of an ontology's files.
"""

from functools import cache

import rdflib
from rdflib.namespace import DCTERMS, OWL, RDF, RDFS, SKOS

from ecg_ontology.base.errors import SourceError
from ecg_ontology.base.xml_entities import XML_FORBIDS
from ecg_ontology.formats.turtle import iri_text, literal_text, schema_text, scheme_iri, turtle_text
from ecg_ontology.graph.concepts import Kind, Tier
from ecg_ontology.graph.drafts import Draft

RDF_FORMATS = {".ttl": "turtle", ".owl": "xml", ".rdf": "xml", ".nt": "nt"}
_VOCABULARY = {
    OWL.AnnotationProperty: (
        *(DCTERMS[name] for name in ("title", "license", "creator", "provenance", "source")),
        *(SKOS[name] for name in ("notation", "prefLabel", "altLabel", "definition")),
    ),
    OWL.Class: (SKOS.Concept, SKOS.ConceptScheme),
    OWL.ObjectProperty: (SKOS.inScheme, SKOS.topConceptOf, SKOS.hasTopConcept, SKOS.broader),
}
"""OWL type → terms of other vocabularies in every graph. OWL 2 DL requires a declaration of their types."""
Triple = tuple[rdflib.term.Node, rdflib.term.Node, rdflib.term.Node]


def rdf_text(draft: Draft, suffix: str) -> str:
    """Return the graph of a draft as text, without routing, in the format of a file suffix.

    ``.ttl`` is the canonical form that curators edit. ``.owl`` and ``.rdf`` are XML. ``.nt`` has sorted
    lines. All formats except ``.ttl`` include the statements of `derived`. Raises `SourceError` if XML can't
    represent a character.
    """
    text = turtle_text(draft)
    if suffix == ".ttl":
        return text
    graph = rdflib.Graph()
    graph.parse(data=text, format="turtle")
    for triple in derived(draft):
        graph.add(triple)
    if RDF_FORMATS[suffix] == "xml" and (char := XML_FORBIDS.search(text)):
        line = text[: char.start()].rpartition("\n")[2] + char[0] + text[char.end() :].partition("\n")[0]
        problem = f"XML can't represent the character U+{ord(char[0]):04X} in {line.strip()[:80]!r}"
        raise SourceError(problem, where=draft.header.iri, remedy="Remove it, or export .ttl or .nt")
    done = graph.serialize(format=RDF_FORMATS[suffix])
    # `splitlines` would split at U+2028, which literals of N-Triples may contain.
    return "".join(sorted(f"{line}\n" for line in done.split("\n") if line)) if suffix == ".nt" else done


def derived(draft: Draft) -> set[Triple]:
    """Return statements that follow from the draft, for programs that don't know the vocabulary ``ccg:``.

    Concepts become OWL individuals in a SKOS concept scheme, with ``rdfs:label`` and ``skos:broader``.
    """
    scheme = rdflib.URIRef(scheme_iri(draft.header))
    triples: set[Triple] = {(word, RDF.type, kind) for kind, words in _VOCABULARY.items() for word in words}
    triples.add((scheme, RDF.type, SKOS.ConceptScheme))
    above: dict[str, list[str]] = {}
    for kind in (
        Kind.family,
        Kind.subtype_of,
    ):  # the broader concept of a subtype is its parent, not its family
        ends: dict[str, list[str]] = {}
        for relation in draft.relations:
            if relation.kind is kind:
                ends.setdefault(relation.subject, []).append(relation.object)
        above |= ends
    for concept in draft.concepts:
        node = rdflib.URIRef(concept.iri)
        triples |= {(node, RDF.type, OWL.NamedIndividual), (node, SKOS.inScheme, scheme)}
        if concept.label:
            triples.add((node, RDFS.label, rdflib.Literal(concept.label, lang="en")))
        for name in concept.translations:
            triples.add((node, RDFS.label, rdflib.Literal(name.text, lang=name.language)))
        if concept.tier is Tier.root:
            triples |= {(node, SKOS.topConceptOf, scheme), (scheme, SKOS.hasTopConcept, node)}
        triples |= {(node, SKOS.broader, rdflib.URIRef(parent)) for parent in above.get(concept.iri, ())}
    return triples


@cache
def schema() -> frozenset[Triple]:
    """Return the statements that define the vocabulary ``ccg:``. They are the same in every graph."""
    graph = rdflib.Graph()
    graph.parse(data=schema_text(), format="turtle")
    return frozenset(graph)


def term(node: rdflib.term.Node) -> str:
    """Return a node in the syntax of N-Triples."""
    if isinstance(node, rdflib.Literal):
        text = literal_text(str(node))
        if node.language:
            return f"{text}@{node.language}"
        return f"{text}^^{iri_text(str(node.datatype))}" if node.datatype else text
    return f"_:{node}" if isinstance(node, rdflib.BNode) else iri_text(str(node))
