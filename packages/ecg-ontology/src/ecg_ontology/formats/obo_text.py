"""A draft as OBO text, which `ecg_ontology.formats.obo` reads back without loss."""

import re
from collections.abc import Iterator

from ecg_ontology.base.errors import SourceError
from ecg_ontology.formats.turtle import PREFIXES, concept_namespace, iri_text, literal_text
from ecg_ontology.graph.concepts import Kind, Name
from ecg_ontology.graph.drafts import Draft, DraftConcept, ForeignStatement
from ecg_ontology.graph.hierarchy import IS_A, broader

OBO = "http://purl.obolibrary.org/obo/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
LANGUAGE = "xml:lang"
STRING = "xsd:string"
SCOPES = {scope: f"{OBO_IN_OWL}has{scope.title()}Synonym" for scope in ("BROAD", "NARROW", "RELATED")}
_FIELDS = {
    "skos": {"abbr": "notation", "translations": "prefLabel"},
    "owl": {"deprecated": "deprecated"},
    "ccg": {
        "index": "index",
        "variants": "textVariant",
        "yields": "yields",
        "unreviewed": "unreviewed",
        "either_parent": "eitherParent",
    },
    "dcterms": {"title": "title", "licence": "license", "creators": "creator", "provenance": "provenance"},
}
PROPERTIES = {
    field: PREFIXES[prefix] + word for prefix, words in _FIELDS.items() for field, word in words.items()
}
"""Fields of a draft that OBO has no tag for."""
TAGS = {
    f"{PREFIXES['rdfs']}comment": "comment",
    f"{OBO_IN_OWL}hasDbXref": "xref",
    f"{OBO_IN_OWL}hasAlternativeId": "alt_id",
}
"""Tags whose value is one text, by the property that they state."""
_LITERAL = re.compile(r'("(?:[^"\\]|\\.)*")(?:@(\S+)|\^\^<(.*)>)?', re.DOTALL)


def obo_text(draft: Draft) -> str:
    """Return the graph of `draft` (no routing) as OBO 1.4. Raises `SourceError` where OBO can't hold it."""
    header = draft.header
    stated: dict[str, list[str]] = {}
    concepts = {iri_text(iri) for iri in (header.iri, *(concept.iri for concept in draft.concepts))}
    for statement in draft.statements:
        if statement.subject not in concepts or statement.object.startswith("_:"):
            problem = f"states of {statement.subject} what OBO can't hold"
            raise SourceError(problem, where=header.iri, remedy="Export .ttl, .owl or .nt")
        stated.setdefault(statement.subject, []).append(_statement(statement))
    lists = {name: getattr(header, name) for name in ("creators", "provenance", "unreviewed")}
    fields = {"title": (header.title,), "licence": (header.licence,), **lists}
    head = [
        "format-version: 1.4",
        f"data-version: {header.version}",
        f"ontology: {header.iri}",
        f"idspace: {_prefix(draft)} {concept_namespace(header)}",
        *(_property(name, text) for name, texts in fields.items() for text in texts if text),
        *stated.get(iri_text(header.iri), ()),
    ]
    tree = broader(draft)
    edges: dict[str, list[str]] = {
        iri: [f"is_a: {_id(draft, above)}" for above in parents] for iri, parents in tree.items()
    }
    for relation in draft.relations:
        if relation.kind not in IS_A or relation.object not in tree.get(relation.subject, ()):
            line = f"relationship: {relation.kind} {_id(draft, relation.object)}"
            edges.setdefault(relation.subject, []).append(line)
    stanzas = [
        "\n".join(
            ["[Term]", *_term(draft, node), *stated.get(iri_text(node.iri), ()), *edges.get(node.iri, ())]
        )
        for node in draft.concepts
    ]
    kinds = [f"[Typedef]\nid: {kind}\nname: {kind.readings[0]}" for kind in Kind]
    return "\n\n".join(["\n".join(head), *stanzas, *kinds]) + "\n"


def _prefix(draft: Draft) -> str:
    return re.sub(r"\W", "", draft.header.iri.rpartition("/")[2]) or "concept"


def _id(draft: Draft, iri: str) -> str:
    """A concept as OBO names it: by the ontology's prefix, as a term of the OBO library, or by its IRI."""
    if iri.startswith(OBO):
        return iri.removeprefix(OBO).replace("_", ":", 1)
    base = concept_namespace(draft.header)
    return f"{_prefix(draft)}:{iri.removeprefix(base)}" if iri.startswith(base) else iri


def _term(draft: Draft, concept: DraftConcept) -> Iterator[str]:
    term = _id(draft, concept.iri)
    yield f"id: {term}"
    yield f"name: {_quoted(concept.label)[1:-1]}"
    if concept.definition:
        cited = ", ".join(source.replace(",", r"\,") for source in concept.sources)
        yield f"def: {_quoted(concept.definition)} [{cited}]"
    yield from (f"synonym: {_quoted(name.text)} EXACT []{_language(name)}" for name in concept.synonyms)
    if concept.abbr != term:
        yield _property("abbr", concept.abbr)
    if concept.index is not None:
        yield _property("index", str(concept.index), "xsd:integer")
    for name in concept.translations:
        yield _property("translations", name.text) + _language(name)
    yield from (_property("variants", text) for text in concept.variants)
    for flag in ("yields", "deprecated", "either_parent"):
        if getattr(concept, flag):
            yield _property(flag, "true", "xsd:boolean")


def _property(name: str, text: str, type_: str = STRING) -> str:
    return f"property_value: {PROPERTIES[name]} {_quoted(text)} {type_}"


def _language(name: Name) -> str:
    return "" if name.language == "en" else f' {{{LANGUAGE}="{name.language}"}}'


def _statement(statement: ForeignStatement) -> str:
    """A statement as the tag that means it, else as a property value."""
    predicate = statement.predicate[1:-1]
    literal = _LITERAL.fullmatch(statement.object)
    if literal is None:
        return f"property_value: {predicate} {statement.object[1:-1]}"
    text, language, type_ = _escaped(literal[1]), literal[2] or "", literal[3] or STRING
    qualifier = _language(Name(text="", language=language))
    scope = next((scope for scope, iri in SCOPES.items() if iri == predicate), "")
    if scope and language:
        return f"synonym: {text} {scope} []{qualifier}"
    if predicate in TAGS and not (language or literal[3]):
        return f"{TAGS[predicate]}: {text[1:-1]}"
    return f"property_value: {predicate} {text} {type_}{qualifier}"


def _quoted(text: str) -> str:
    return _escaped(literal_text(text))


def _escaped(quoted: str) -> str:
    """What would begin a comment or a qualifier, escaped as well."""
    return re.sub(r"(?<=[\s\"])([!{])", r"\\\1", quoted)
