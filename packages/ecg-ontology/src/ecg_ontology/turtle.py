"""The canonical Turtle text of an ontology: one statement a line, in a fixed order, made for diffs.

Reading it back gives the same draft, and writing that the same bytes.
"""

from collections.abc import Iterator

from ecg_ontology.concepts import Kind, Name, Tier
from ecg_ontology.drafts import Draft, DraftConcept, Header

SCHEMA = "https://w3id.org/mar-ecg/ccg#"
"""Namespace of the vocabulary: ccg:Root, ccg:Leaf, ccg:index, ccg:family, …"""


def _ends(domain: str, range_: str, *, symmetric: bool = False) -> tuple[str, ...]:
    kinds = ("owl:ObjectProperty", "a owl:SymmetricProperty") if symmetric else ("owl:ObjectProperty",)
    parent = () if domain == "Concept" else ("rdfs:subPropertyOf ccg:related",)
    return (*kinds, *parent, f"rdfs:domain ccg:{domain}", f"rdfs:range ccg:{range_}")


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
    ("related", _ends("Concept", "Concept"), "joined by an edge"),
    ("family", (*_ends("Leaf", "Root"), _FUNCTIONAL), "belongs to the family"),
    ("subtypeOf", _ends("Leaf", "Leaf"), "is a subtype of"),
    ("manifestationOf", _ends("Leaf", "Leaf"), "is a manifestation of"),
    ("sibling", _ends("Leaf", "Leaf", symmetric=True), "co-occurs with or opposes"),
    ("ring", _ends("Root", "Root", symmetric=True), "is the next family on the ring"),
)


def turtle_text(draft: Draft) -> str:
    """Return the graph of `draft` (no routing) as canonical Turtle."""
    return "".join(
        (
            "".join(_prefixes(draft.header)),
            _header(draft.header),
            *(f"\n{_schema(*entry)}" for entry in _SCHEMA),
            *(f"\n{_concept(draft, concept)}" for concept in _ordered(draft)),
        )
    )


def concept_namespace(header: Header) -> str:
    """The namespace of the concepts: the ontology's IRI and ``#``."""
    return f"{header.iri}#"


def _prefixes(header: Header) -> Iterator[str]:
    prefixes = {
        "": concept_namespace(header),
        "ccg": SCHEMA,
        "dcterms": "http://purl.org/dc/terms/",
        "owl": "http://www.w3.org/2002/07/owl#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "skos": "http://www.w3.org/2004/02/skos/core#",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
    }
    for prefix, iri in prefixes.items():
        yield f"@prefix {prefix}: <{iri}> .\n"
    yield "\n"


def _header(header: Header) -> str:
    statements = [
        ("a", "owl:Ontology"),
        ("owl:versionIRI", f"<{header.iri}/{header.version}>"),
        ("owl:versionInfo", _literal(header.version)),
        ("dcterms:title", f"{_literal(header.title)}@en"),
        ("dcterms:license", f"<{header.licence}>"),
        *(("dcterms:creator", _literal(creator)) for creator in sorted(header.creators)),
        *(("dcterms:provenance", f"{_literal(source)}@en") for source in sorted(header.provenance)),
        *(("ccg:unreviewed", _literal(language)) for language in sorted(header.unreviewed)),
    ]
    return _block(f"<{header.iri}>", statements)


def _schema(name: str, facts: tuple[str, ...], label: str) -> str:
    kind, *others = facts
    statements = [("a", kind), *((p, o) for p, _, o in (fact.partition(" ") for fact in others))]
    return _block(f"ccg:{name}", [*statements, ("rdfs:label", f"{_literal(label)}@en")])


def _concept(draft: Draft, concept: DraftConcept) -> str:
    base = concept_namespace(draft.header)
    statements = [
        ("a", f"ccg:{concept.tier or 'Concept'}"),
        ("ccg:index", str(concept.index)),
        ("skos:notation", _literal(concept.abbr)),
        ("skos:prefLabel", f"{_literal(concept.label)}@en"),
        *(("skos:prefLabel", _name(name)) for name in concept.translations),
        *(("skos:altLabel", _name(name)) for name in concept.synonyms),
        *(("ccg:textVariant", f"{_literal(text)}@en") for text in sorted(concept.variants)),
    ]
    if concept.yields:
        statements.append(("ccg:yields", "true"))
    order = {other.iri: other.index or 0 for other in draft.concepts}
    for kind in Kind:
        ends = {r.object for r in draft.relations if r.kind is kind and r.subject == concept.iri}
        for end in sorted(ends, key=lambda iri: (order.get(iri, 0), iri)):
            statements.append((f"ccg:{kind}", _node(end, base)))
    return _block(
        _node(concept.iri, base), [(p, o) for p, o in statements if o not in ("None", '""', '""@en')]
    )


def _block(subject: str, statements: list[tuple[str, str]]) -> str:
    (_, kind), *others = statements
    rest = "".join(f" ;\n    {predicate} {value}" for predicate, value in others)
    return f"{subject} a {kind}{rest} .\n"


def _ordered(draft: Draft) -> list[DraftConcept]:
    """Roots first, then each family's leaves: the order in which a clinician looks for a concept."""
    family = {r.subject: r.object for r in draft.relations if r.kind is Kind.family}
    index = {concept.iri: concept.index or 0 for concept in draft.concepts}
    return sorted(
        draft.concepts,
        key=lambda c: (c.tier is not Tier.root, index.get(family.get(c.iri, ""), -1), c.index or 0, c.iri),
    )


def _node(iri: str, base: str) -> str:
    local = iri.removeprefix(base)
    return f":{local}" if iri.startswith(base) and local.isalnum() else f"<{iri}>"


def _name(name: Name) -> str:
    return f"{_literal(name.text)}@{name.language}" if name.language else _literal(name.text)


def _literal(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\t", "\\t")
    )
    return f'"{escaped}"'
