"""Convert vocabularies of other projects, as SKOS concepts or OWL classes, to drafts of an ontology.

A draft is the unchecked content of an ontology's files.
"""

import re
from pathlib import Path
from typing import Any

import rdflib
from rdflib.namespace import DCTERMS, OWL, RDF, RDFS, SKOS

from ecg_ontology.formats.from_networkx import draft_from_networkx
from ecg_ontology.graph.concepts import Name
from ecg_ontology.graph.drafts import Draft

_LABELS = (SKOS.prefLabel, RDFS.label)


def foreign_draft(graph: rdflib.Graph, path: Path) -> Draft | None:
    """Convert a hierarchy by ``skos:broader``, ``skos:narrower`` or ``rdfs:subClassOf`` to a draft.

    Concepts without a parent become families, the top level of the ontology. Indices follow the order of the
    IRIs, families first. The ontology has the name of the file `path` if the graph doesn't name itself.
    Returns `None` if the graph has no such hierarchy.
    """
    kinds = {*graph.subjects(RDF.type, SKOS.Concept), *graph.subjects(RDF.type, OWL.Class)}
    retired = set(graph.subjects(OWL.deprecated, rdflib.Literal(True)))
    concepts = {node for node in kinds - retired if isinstance(node, rdflib.URIRef)}
    edges = {*graph.subject_objects(SKOS.broader), *graph.subject_objects(RDFS.subClassOf)}
    edges |= {(low, high) for high, low in graph.subject_objects(SKOS.narrower)}
    edges = {(low, high) for low, high in edges if {low, high} <= concepts and low != high}
    if not edges:
        return None
    import networkx as nx

    tree: nx.DiGraph[Any] = nx.DiGraph()
    for node in sorted(concepts):
        names = _variants(graph, node)
        english = next((name.text for name in names if name.language[:2] in ("en", "")), "")
        label = english or (names[0].text if names else _local(node))
        notation = next((str(text) for text in graph.objects(node, SKOS.notation)), _local(node))
        tree.add_node(str(node), iri=str(node), abbr=notation, label=label)
    tree.add_edges_from((str(low), str(high)) for low, high in sorted(edges))
    headers = [*graph.subjects(RDF.type, SKOS.ConceptScheme), *graph.subjects(RDF.type, OWL.Ontology)]
    header = min((node for node in headers if isinstance(node, rdflib.URIRef)), default=None)
    iri = str(header).rstrip("#/") if header is not None else f"https://example.org/{path.stem}"
    stated = "" if header is None else str(graph.value(header, OWL.versionInfo) or "")
    version = ".".join(map(str, map(int, [*re.findall(r"\d{1,9}", stated), 0, 1, 0][:3])))
    titles = () if header is None else (graph.value(header, word) for word in (DCTERMS.title, RDFS.label))
    title = next((str(text) for text in titles if text), "")
    draft = draft_from_networkx(tree, iri, title=title, version=version)
    completed = (
        concept.model_copy(
            update={
                "translations": _of(_variants(graph, node), concept.label),
                "synonyms": _literals(graph, node, SKOS.altLabel),
                "definition": str(graph.value(node, SKOS.definition) or ""),
            }
        )
        for concept in draft.concepts
        if (node := rdflib.URIRef(concept.iri)) is not None
    )
    return draft.model_copy(update={"concepts": tuple(completed)})


def _local(node: rdflib.term.Node) -> str:
    return str(node).rpartition("#")[2].rpartition("/")[2]


def _literals(graph: rdflib.Graph, node: rdflib.term.Node, word: rdflib.URIRef) -> tuple[Name, ...]:
    texts = (text for text in graph.objects(node, word) if isinstance(text, rdflib.Literal))
    names = {Name(text=str(text), language=text.language or "") for text in texts}
    return tuple(sorted(names, key=lambda name: (name.language, name.text)))


def _variants(graph: rdflib.Graph, node: rdflib.term.Node) -> tuple[Name, ...]:
    """Return the labels of a node, SKOS labels before RDFS labels."""
    return tuple(dict.fromkeys(name for word in _LABELS for name in _literals(graph, node, word)))


def _of(names: tuple[Name, ...], label: str) -> tuple[Name, ...]:
    """Return the first name in each language except English, without names that equal the label."""
    by_language = {name.language: name for name in reversed(names) if name.language[:2] not in ("en", "")}
    return tuple(name for _, name in sorted(by_language.items()) if name.text != label)
