"""What the nodes of an RDF graph are: texts with their languages, concepts, names for messages."""

from collections.abc import Iterable, Iterator

import rdflib
from rdflib.compare import to_canonical_graph
from rdflib.namespace import DCTERMS, OWL, RDF, RDFS, SKOS

from ecg_ontology.concepts import Name, Tier
from ecg_ontology.turtle import SCHEMA

CCG = rdflib.Namespace(SCHEMA)
ENGLISH = "en"

Node = rdflib.term.Node
Values = dict[Node, list[Node]]
"""What is stated of one subject: objects by predicate."""
Triple = tuple[Node, Node, Node]


def canonical(triples: list[Triple]) -> Iterator[Triple]:
    """Triples whose nodes without a name are named alike, however the file was read."""
    graph = rdflib.Graph()
    for triple in triples:
        graph.add(triple)
    yield from to_canonical_graph(graph)


def is_concept(values: Values) -> bool:
    """Whether a subject of these values is meant as a concept."""
    types = values.get(RDF.type, ())
    return CCG["index"] in values or any(CCG[name] in types for name in (*Tier, "Concept"))


def is_text(value: Node) -> bool:
    """Whether it is a literal."""
    return isinstance(value, rdflib.Literal)


def language_of(value: Node) -> str:
    """The language of a text, empty where it has none."""
    return (value.language or "") if isinstance(value, rdflib.Literal) else ""


def is_english(value: Node) -> bool:
    """Whether it is a text in English, or in no language."""
    return not is_text(value) or language_of(value).casefold().partition("-")[0] in ("", ENGLISH)


def names(values: Iterable[Node]) -> tuple[Name, ...]:
    """The texts with their languages, by language and text."""
    names = {Name(text=str(value), language=language_of(value)) for value in values if is_text(value)}
    return tuple(sorted(names, key=lambda name: (name.language, name.text)))


def short(predicate: Node) -> str:
    """A predicate as messages name it."""
    for prefix, namespace in (
        ("ccg", CCG),
        ("skos", SKOS),
        ("owl", OWL),
        ("dcterms", DCTERMS),
        ("rdfs", RDFS),
    ):
        if str(predicate).startswith(str(namespace)):
            return f"{prefix}:{str(predicate).removeprefix(str(namespace))}"
    return f"<{predicate}>"
