"""Exports for vocabulary tools: concepts as SKOS, a profile's routing as one SSSOM table."""

from collections.abc import Iterator
from functools import lru_cache

from ecg_ontology.formats.sssom import SNOMED, sssom_text
from ecg_ontology.formats.turtle import (
    PREFIXES,
    code_namespace,
    concept_namespace,
    iri_text,
    literal_text,
    name_text,
    scheme_iri,
)
from ecg_ontology.graph.concepts import Concept, Kind, Name, Route
from ecg_ontology.graph.routing import BUILT_IN
from ecg_ontology.ontology import Ontology
from ecg_ontology.views.languages import ENGLISH

_INVERSE = {"skos:broadMatch": "skos:narrowMatch", "skos:narrowMatch": "skos:broadMatch"}
"""SSSOM rows read from the code to the concept; a concept's entry reads the other way."""
_PREFIXES = {
    "marecg": "https://w3id.org/mar-ecg/",
    SNOMED: "http://snomed.info/id/",
    **{name: BUILT_IN[name] for name in ("semapv", "skos", "sssom")},
}


def skos_text(onto: Ontology) -> str:
    """Return the concepts as a SKOS concept scheme in Turtle.

    Families are top concepts; a subtype stands under its parents, any other leaf under its family. Siblings,
    manifestations and the ring become ``skos:related``, text variants ``skos:hiddenLabel``, and the codes of
    the profile mappings of the concept that they reach.
    """
    scheme = iri_text(scheme_iri(onto.header))
    head = [
        "a skos:ConceptScheme",
        f"dcterms:title {literal_text(onto.header.title)}@en",
        f"rdfs:label {literal_text(onto.header.title)}@en",
        f"owl:versionInfo {literal_text(onto.header.version)}",
        *([f"dcterms:license {iri_text(onto.header.licence)}"] if onto.header.licence else []),
        *(f"dcterms:creator {literal_text(creator)}" for creator in onto.header.creators),
        *(f"skos:hasTopConcept {iri_text(onto.nodes[root].iri)}" for root in onto.roots),
    ]
    prefixes = (f"@prefix {name}: <{PREFIXES[name]}> .\n" for name in ("dcterms", "owl", "rdfs", "skos"))
    mapped = _mapped(onto)
    blocks = (
        _block(iri_text(node.iri), [*_concept(onto, node), *mapped.get(node.iri, ())]) for node in onto.nodes
    )
    return "".join((f"# SKOS view of {onto.header.iri}\n", *prefixes, _block(scheme, head), *blocks))


def _concept(onto: Ontology, node: Concept) -> Iterator[str]:
    scheme = iri_text(scheme_iri(onto.header))
    yield "a skos:Concept"
    yield f"skos:inScheme {scheme}"
    if node.root:
        yield f"skos:topConceptOf {scheme}"
    yield f"skos:notation {literal_text(node.abbr)}"
    yield from _labels(node)
    if node.definition:
        yield f"skos:definition {literal_text(node.definition)}@en"
    yield from (f"dcterms:source {iri_text(source)}" for source in node.sources)
    upwards = {kind.readings[0]: kind for kind in (Kind.family, Kind.subtype_of)}
    near = onto.neighbours(node.index)
    above = {kind: [other for other, how in near if upwards.get(how) is kind] for kind in upwards.values()}
    for other in above[Kind.subtype_of] or above[Kind.family]:
        yield f"skos:broader {iri_text(other.iri)}"
    related = {how for kind in Kind if kind not in above for how in kind.readings}
    yield from (f"skos:related {iri_text(other.iri)}" for other, how in near if how in related)


def _labels(node: Concept) -> Iterator[str]:
    """The names of a concept, each a label of one kind, the best, as SKOS (S13) wants it."""
    english = Name(text=node.label, language=ENGLISH)
    kinds = {
        "prefLabel": (english, *node.translations),
        "altLabel": node.synonyms,
        "hiddenLabel": tuple(Name(text=text, language=ENGLISH) for text in node.variants),
    }
    stated = {name: kind for kind, names in reversed(kinds.items()) for name in names}
    for kind, names in kinds.items():
        yield from (f"skos:{kind} {name_text(name)}" for name in names if stated[name] == kind)


def _mapped(onto: Ontology) -> dict[str, list[str]]:
    """The codes of each concept, by its IRI, as statements of it; a leaf's stand under its family already."""
    roots = {onto.nodes[root].iri for root in onto.roots}
    prefixes = {"": _PREFIXES[SNOMED], **_code_prefixes(onto)}
    mapped: dict[str, list[str]] = {}
    for row in onto.rows:
        if row.node is not None and not (row.node in roots and onto.route(row.code).leaves):
            predicate = _INVERSE.get(row.predicate, row.predicate)
            vocabulary, _, local = row.code.rpartition(":")
            code = iri_text(prefixes[vocabulary] + local)
            mapped.setdefault(row.node, []).append(f"{predicate} {code}")
    return mapped


def _code_prefixes(onto: Ontology) -> dict[str, str]:
    """A namespace for each further vocabulary, of codes and of sources: beside the ontology's own."""
    names = {text.rpartition(":")[0] for row in onto.rows for text in (row.code, row.source)}
    return {name: code_namespace(onto.header.iri, name) for name in sorted(names - {"", *_PREFIXES})}


def ecl(onto: Ontology, concept: Concept) -> str:
    """Return an ECL expression of the SNOMED CT codes that reach a concept, for terminology servers.

    What means the same stands with its descendants, anything else alone. "" where no code reaches it.
    """
    same, reaching = _reaching(onto)
    return " OR ".join(
        f"{'<< ' if (route.code, concept.iri) in same else ''}{route.code} |{route.label.replace('|', ' ')}|"
        for route in reaching.get(concept.index, ())
        if route.code.isdecimal()
    )


@lru_cache(maxsize=2)
def _reaching(onto: Ontology) -> tuple[set[tuple[str, str | None]], dict[int, list[Route]]]:
    """The codes that mean a node, each with it; and the routes that end at each concept."""
    same = {(row.code, row.node) for row in onto.rows if row.predicate == "skos:exactMatch"}
    reaching: dict[int, list[Route]] = {}
    for route in onto.routes(onto.codes):
        for index in route.leaves or route.nodes:
            reaching.setdefault(index, []).append(route)
    return same, reaching


def _block(subject: str, statements: list[str]) -> str:
    return f"\n{subject}\n    " + " ;\n    ".join(dict.fromkeys(statements)) + " .\n"


def routing_text(onto: Ontology) -> str:
    """Return the profile's rows of all tables as one SSSOM table."""
    short = onto.header.iri.rstrip("/#").rpartition("/")[2] or "node"
    metadata = {
        "mapping_set_id": f"{onto.header.iri}/routing/{onto.profile}",
        "mapping_set_version": f'"{onto.header.version}"',
        **({"license": onto.header.licence} if onto.header.licence else {}),
        "mapping_set_title": f"Routing of {onto.header.title}, profile {onto.profile}",
    }
    prefixes = {short: concept_namespace(onto.header), **_PREFIXES, **_code_prefixes(onto)}
    labels = {node.iri: node.label for node in onto.nodes}
    return sssom_text(onto.rows, metadata=metadata, prefixes=prefixes, labels=labels)
