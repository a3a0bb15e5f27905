"""Write the canonical Turtle text of an ontology, a statement per line in a fixed order for readable diffs.

A draft is the unchecked content of an ontology's files. The text contains the graph of a draft, without
routing. Reading the text and writing the result gives the same bytes.
"""

import re
from collections.abc import Iterator, Mapping

from ecg_ontology.graph.concepts import Kind, Name, Tier
from ecg_ontology.graph.drafts import Draft, DraftConcept, OntologyHeader
from ecg_ontology.graph.routing import BUILT_IN

SCHEMA = "https://w3id.org/mar-ecg/ccg#"
"""Namespace of the vocabulary: ccg:Root, ccg:Leaf, ccg:index, ccg:family, …"""


def _ends(domain: str, range_: str, *, symmetric: bool = False) -> tuple[str, ...]:
    kinds = ("owl:ObjectProperty", "a owl:SymmetricProperty") if symmetric else ("owl:ObjectProperty",)
    parent = () if domain == "Concept" else ("rdfs:subPropertyOf ccg:related",)
    return (*kinds, *parent, f"rdfs:domain ccg:{domain}", f"rdfs:range ccg:{range_}")


Pair = tuple[str, str]
"""Predicate and object in Turtle."""
PREFIXES = {
    "ccg": SCHEMA,
    "dcterms": "http://purl.org/dc/terms/",
    **{name: BUILT_IN[name] for name in ("owl", "rdfs", "skos")},
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
"""Characters that must be escaped in an IRI."""
_FUNCTIONAL = "a owl:FunctionalProperty"

_SCHEMA: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Concept", ("owl:Class", "rdfs:subClassOf skos:Concept"), "concept"),
    ("Root", ("owl:Class", "rdfs:subClassOf ccg:Concept", "owl:disjointWith ccg:Leaf"), "clinical family"),
    ("Leaf", ("owl:Class", "rdfs:subClassOf ccg:Concept"), "finding"),
    (
        "index",
        ("owl:DatatypeProperty", _FUNCTIONAL, "rdfs:range xsd:integer"),
        "index in the frozen enumeration",
    ),
    ("textVariant", ("owl:DatatypeProperty",), "text for a text encoder"),
    ("unreviewed", ("owl:AnnotationProperty",), "language whose labels no clinician has reviewed"),
    ("yields", ("owl:DatatypeProperty", "rdfs:range xsd:boolean"), "comes last under the rule most-specific"),
    (
        "eitherParent",
        ("owl:DatatypeProperty", "rdfs:range xsd:boolean"),
        "a subtype of one of its parents, and it isn't stated of which",
    ),
    ("related", _ends("Concept", "Concept"), "joined by an edge"),
    ("family", (*_ends("Leaf", "Root"), _FUNCTIONAL), "belongs to the family"),
    ("subtypeOf", _ends("Leaf", "Leaf"), "is a subtype of"),
    ("manifestationOf", _ends("Leaf", "Leaf"), "is a manifestation of"),
    ("sibling", _ends("Leaf", "Leaf", symmetric=True), "co-occurs with or opposes"),
    ("ring", _ends("Root", "Root", symmetric=True), "is the next family on the ring"),
)


def turtle_text(draft: Draft) -> str:
    """Return the graph of a draft as canonical Turtle, without routing.

    Foreign statements (`Draft.statements`) fit no other field and are preserved as they are. They follow the
    other statements about the same subject. Foreign statements about foreign subjects come last.
    """
    prefixes = _prefixes(draft.header)
    foreign: dict[str, list[Pair]] = {}
    for statement in draft.statements:
        pair = _shorten(statement.predicate, prefixes), _shorten(statement.object, prefixes)
        foreign.setdefault(statement.subject, []).append(pair)
    stated = _stated(draft, prefixes)
    for relation in draft.relations:
        if (subject := iri_text(relation.subject)) not in stated:
            foreign.setdefault(subject, []).append((f"ccg:{relation.kind}", iri_text(relation.object)))
    blocks = [
        _block(_shorten(subject, prefixes), pairs, foreign.pop(subject, []))
        for subject, pairs in stated.items()
    ]
    blocks += [_block(_shorten(subject, prefixes), [], pairs) for subject, pairs in sorted(foreign.items())]
    return _prefix_lines(prefixes) + "\n".join(blocks)


def statements(draft: Draft) -> Iterator[tuple[str, str, str]]:
    """Yield the statements of a draft in the syntax of N-Triples, without preserved foreign statements."""
    prefixes = _prefixes(draft.header)
    for subject, pairs in _stated(draft, prefixes).items():
        for predicate, end in pairs:
            yield subject, _in_full(predicate, prefixes), _in_full(end, prefixes)


def _stated(draft: Draft, prefixes: Mapping[str, str]) -> dict[str, list[Pair]]:
    """Return the statements about the ontology, the terms ``ccg:…`` and each concept, in output order."""
    stated = {iri_text(draft.header.iri): _header(draft.header)}
    stated |= {iri_text(SCHEMA + entry[0]): _schema(*entry) for entry in _SCHEMA}
    order = {concept.iri: concept.index or 0 for concept in draft.concepts}
    ends: dict[tuple[str, Kind], set[str]] = {}
    for relation in draft.relations:
        ends.setdefault((relation.subject, relation.kind), set()).add(relation.object)
    for concept in _ordered(draft):
        pairs = _concept(concept)
        for kind in Kind:
            for end in sorted(ends.get((concept.iri, kind), ()), key=lambda iri: (order.get(iri, 0), iri)):
                pairs.append((f"ccg:{kind}", _shorten(iri_text(end), prefixes)))
        stated[iri_text(concept.iri)] = pairs
    empty = ("None", '""', '""@en', "<>")
    return {subject: [pair for pair in pairs if pair[1] not in empty] for subject, pairs in stated.items()}


def schema_text() -> str:
    """Return the statements that define the vocabulary ``ccg:`` as Turtle."""
    blocks = (_block(f"ccg:{entry[0]}", _schema(*entry), []) for entry in _SCHEMA)
    return _prefix_lines(PREFIXES) + "\n".join(blocks)


def concept_namespace(header: OntologyHeader) -> str:
    """Return the namespace of the concepts: the ontology's IRI and ``#``."""
    return f"{header.iri}#"


def code_namespace(header_iri: str, vocabulary: str) -> str:
    """Return the namespace for codes of a vocabulary, for example ``https://w3id.org/mar-ecg/scp/``."""
    return f"{header_iri.rpartition('/')[0]}/{vocabulary}/"


def scheme_iri(header: OntologyHeader) -> str:
    """Return the IRI of the concept scheme, which differs from the IRI of the ontology."""
    return f"{header.iri.rstrip('/#')}/scheme"


def _prefixes(header: OntologyHeader) -> dict[str, str]:
    return {"": concept_namespace(header), **PREFIXES}


def _prefix_lines(prefixes: Mapping[str, str]) -> str:
    return "".join(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in prefixes.items()) + "\n"


def _header(header: OntologyHeader) -> list[Pair]:
    return [
        ("a", "owl:Ontology"),
        ("owl:versionIRI", f"<{header.iri}/{header.version}>"),
        ("owl:versionInfo", literal_text(header.version)),
        ("dcterms:title", f"{literal_text(header.title)}@en"),
        ("dcterms:license", f"<{header.licence}>"),
        *(("dcterms:creator", literal_text(creator)) for creator in sorted(header.creators)),
        *(("dcterms:provenance", f"{literal_text(source)}@en") for source in sorted(header.provenance)),
        *(("ccg:unreviewed", literal_text(language)) for language in sorted(header.unreviewed)),
    ]


def _schema(name: str, facts: tuple[str, ...], label: str) -> list[Pair]:
    kind, *further = facts
    statements = [("a", kind), *((p, o) for p, _, o in (fact.partition(" ") for fact in further))]
    return [*statements, ("rdfs:label", f"{literal_text(label)}@en")]


def _concept(concept: DraftConcept) -> list[Pair]:
    """Return the statements about a concept without its edges."""
    statements = [
        ("a", f"ccg:{concept.tier or 'Concept'}"),
        ("ccg:index", str(concept.index)),
        ("skos:notation", literal_text(concept.abbr)),
        ("skos:prefLabel", f"{literal_text(concept.label)}@en"),
        *(("skos:prefLabel", name_text(name)) for name in concept.translations),
        *(("skos:altLabel", name_text(name)) for name in concept.synonyms),
        ("skos:definition", f"{literal_text(concept.definition)}@en"),
        *(("dcterms:source", iri_text(source)) for source in concept.sources),
        *(("ccg:textVariant", f"{literal_text(text)}@en") for text in sorted(concept.variants)),
    ]
    flags = (
        ("ccg:yields", concept.yields),
        ("owl:deprecated", concept.deprecated),
        ("ccg:eitherParent", concept.either_parent),
    )
    return statements + [(predicate, "true") for predicate, holds in flags if holds]


def _block(subject: str, stated: list[Pair], foreign: list[Pair]) -> str:
    """Return the text of all statements about a subject.

    A preserved statement replaces a stated statement with the same text, even if the language differs.
    """
    preserved = {(predicate, _bare(end)) for predicate, end in foreign}
    own = [(p, o) for p, o in stated if (p, _bare(o)) not in preserved]
    if "owl:versionIRI" in {predicate for predicate, _ in foreign}:
        own = [(p, o) for p, o in own if p != "owl:versionIRI"]
    return f"{subject} " + " ;\n    ".join(f"{p} {o}" for p, o in (*own, *foreign)) + " .\n"


def _bare(end: str) -> str:
    """Return the object of a statement without its quotes, language tag or angle brackets."""
    return end[1 : end.rindex('"')] if end.startswith('"') else end.strip("<>")


def _ordered(draft: Draft) -> list[DraftConcept]:
    """Return the concepts in a readable order: roots, then the leaves of each family."""
    family, index = draft.families, {concept.iri: concept.index or 0 for concept in draft.concepts}
    return sorted(
        draft.concepts,
        key=lambda c: (c.tier is not Tier.root, index.get(family.get(c.iri, ""), -1), c.index or 0, c.iri),
    )


def _shorten(term: str, prefixes: Mapping[str, str]) -> str:
    """Shorten an IRI by a prefix if only letters and digits remain. Other terms are returned unchanged."""
    if term == _RDF_TYPE:
        return "a"
    if term.startswith("<"):
        for prefix, base in prefixes.items():
            local = term[1:-1].removeprefix(base)
            if term.startswith(f"<{base}") and local.isalnum():
                return f"{prefix}:{local}"
    return term


def _in_full(term: str, prefixes: Mapping[str, str]) -> str:
    """Return a term in the syntax of N-Triples, without prefixes."""
    if term == "a" or term.startswith(("<", '"')):
        return _RDF_TYPE if term == "a" else term
    if ":" not in term:
        return f'"{term}"^^<{PREFIXES["xsd"]}{"boolean" if term == "true" else "integer"}>'
    prefix, _, local = term.partition(":")
    return f"<{prefixes[prefix]}{local}>"


def name_text(name: Name) -> str:
    """Return a text with its language in the syntax of Turtle."""
    return f"{literal_text(name.text)}@{name.language}" if name.language else literal_text(name.text)


def iri_text(iri: str) -> str:
    """Return an IRI in the syntax of Turtle and N-Triples."""
    return "<" + _NO_IRI.sub(lambda character: f"\\u{ord(character[0]):04X}", iri) + ">"


def literal_text(text: str) -> str:
    """Return a text in the syntax of Turtle and N-Triples, without language or type."""
    escaped = (
        text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\t", "\\t")
    )
    return f'"{escaped}"'
