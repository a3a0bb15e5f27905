"""Read RDF files as drafts, the unchecked content of ontologies.

Statements that fit no other field are preserved in `Draft.statements`. A misstatement is an invalid statement
in a file. The draft contains all misstatements, so that the checks can report them.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import rdflib
from rdflib import Literal, URIRef
from rdflib.compare import to_canonical_graph
from rdflib.namespace import DCTERMS, OWL, RDF, SKOS

from ecg_ontology.base.errors import SourceError
from ecg_ontology.formats.foreign_rdf import foreign_draft
from ecg_ontology.formats.rdf_file import SourceLines, parse
from ecg_ontology.formats.rdf_writer import derived, schema, term
from ecg_ontology.formats.turtle import SCHEMA, statements
from ecg_ontology.graph.concepts import Kind, Name, Tier
from ecg_ontology.graph.drafts import (
    MISSTATED_INDEX,
    Draft,
    DraftConcept,
    DraftRelation,
    Erratum,
    ForeignStatement,
    Misstatement,
    OntologyHeader,
)
from ecg_ontology.graph.enumeration import KIND_ORDER

logger = logging.getLogger(__name__)

Node = rdflib.term.Node
Values = dict[Node, list[Node]]
"""Statements about a subject, as lists of objects by predicate."""


@cache
def ccg(name: str) -> URIRef:
    """Return a term of the vocabulary ``ccg:``."""
    return URIRef(SCHEMA + name)


_PREFIXED = rdflib.Graph()
_PREFIXED.bind("ccg", SCHEMA)
_KINDS = {ccg(kind) for kind in Kind}
_OF_CONCEPT = {*_KINDS, ccg("index"), ccg("yields"), ccg("eitherParent"), SKOS.notation, OWL.deprecated}
"""Predicates with a single normalised value in a draft. The original spelling isn't preserved."""
_CLASSES = {ccg(name) for name in (*Tier, "Concept")}
_TYPE = RDF.type  # looked up once, because rdflib builds the term anew each time
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def read_graph(path: Path) -> Draft:
    """Read the graph in a file of any RDF format. Raises `SourceError` if it has no concept."""
    return _Reading(path).draft()


def read_errata(path: Path) -> tuple[Erratum, ...]:
    """Read the contradictions in the paper from a file. Raises `SourceError` if the file is unreadable."""
    graph = parse(path)
    fields, words = Erratum.model_fields, {"id": DCTERMS.identifier}
    entries = (
        Erratum(**{name: str(graph.value(entry, words.get(name, ccg(name))) or "") for name in fields})
        for entry in graph.subjects(RDF.type, ccg("Erratum"))
    )
    return tuple(sorted(entries, key=lambda entry: entry.id))


class _Reading:
    """Conversion of the triples in a file to a draft. Unknown triples are kept unchanged."""

    def __init__(self, path: Path) -> None:
        self.graph = parse(path)
        self.path = path
        self.lines = SourceLines(path)
        self.misstatements: list[Misstatement] = []
        self.subjects: dict[Node, Values] = defaultdict(lambda: defaultdict(list))
        for subject, predicate, end in self.graph:
            self.subjects[subject][predicate].append(end)

    def draft(self) -> Draft:
        for imported in sorted(map(str, self.graph.objects(None, OWL.imports))):
            logger.warning("%s: owl:imports <%s> is ignored, only this file is read", self.path, imported)
        concepts = {subject for subject, values in self.subjects.items() if _is_concept(values)}
        if not concepts and (draft := foreign_draft(self.graph, self.path)) is not None:
            return draft
        if not concepts:
            remedy = f"Add nodes of the classes Root and Leaf of the vocabulary {SCHEMA}"
            raise SourceError("must have at least one concept", where=self.path, remedy=remedy)
        header = self._header()
        read = [self._concept(iri, self.subjects[iri]) for iri in concepts]
        relations = [edge for subject in self.subjects for edge in self._relations(subject, header.iri)]
        draft = Draft(
            header=header,
            concepts=tuple(sorted(read, key=lambda c: (c.index is None, c.index or 0, c.iri))),
            relations=tuple(sorted(relations, key=lambda r: (KIND_ORDER[r.kind], r.subject, r.object))),
        )
        misstated = sorted(self.misstatements, key=lambda m: (m.subject, m.problem))
        left = {"misstatements": tuple(misstated), "statements": self._left(draft, concepts)}
        return draft.model_copy(update=left)

    def _header(self) -> OntologyHeader:
        iris = [s for s, values in self.subjects.items() if OWL.Ontology in values[RDF.type]]
        if not iris:
            problem = "has no owl:Ontology header"
            raise SourceError(problem, where=self.path, remedy="Add a header with the IRI and the version")
        if len(iris) > 1 or not isinstance(iris[0], URIRef):
            names = ", ".join(sorted(map(str, iris)))
            problem = f"must have one owl:Ontology with an IRI, got {names}"
            raise SourceError(problem, where=self.path, remedy="Keep a single header")
        iri, values = iris[0], self.subjects[iris[0]]
        if str(iri).startswith("file:"):
            problem = "must have an absolute IRI, because a relative IRI would change with the folder"
            raise SourceError(problem, where=self.path, remedy="Write the complete IRI, or @base")
        version = self._single_value(iri, OWL.versionInfo) or "0.0.0"
        for stated in map(str, values[OWL.versionIRI]):
            if stated.startswith(f"{iri}/") and stated != f"{iri}/{version}":
                problem = f"has contradicting versions: versionIRI {stated}, versionInfo {version!r}"
                self._misstate(iri, problem, OWL.versionIRI)
        return OntologyHeader(
            iri=str(iri),
            version=version,
            title=self._english(iri, DCTERMS.title),
            licence=self._single_value(iri, DCTERMS.license),
            creators=_sorted(values[DCTERMS.creator]),
            provenance=_sorted(values[DCTERMS.provenance]),
            unreviewed=_sorted(values[ccg("unreviewed")]),
        )

    def _concept(self, iri: Node, values: Values) -> DraftConcept:
        index = self._single_value(iri, ccg("index"))
        tiers = [tier for tier in Tier if ccg(tier) in values[RDF.type]]
        if len(tiers) > 1:
            self._misstate(iri, "is both a ccg:Root and a ccg:Leaf")
        definitions = (v for v in values[SKOS.definition] if isinstance(v, Literal) and _is_english(v))
        is_whole = re.fullmatch(r"-?[0-9]{1,9}", index) is not None
        if index and not is_whole:
            self._misstate(iri, f"{MISSTATED_INDEX} {index!r}, which isn't a whole number", ccg("index"))
        return DraftConcept(
            iri=str(iri),
            index=int(index) if is_whole else None,
            abbr=self._single_value(iri, SKOS.notation),
            translations=_variants([label for label in values[SKOS.prefLabel] if not _is_english(label)]),
            label=self._english(iri, SKOS.prefLabel),
            synonyms=_variants(values[SKOS.altLabel]),
            definition=next(iter(_sorted(definitions)), ""),
            sources=_sorted(value for value in values[DCTERMS.source] if isinstance(value, URIRef)),
            tier=tiers[0] if tiers else None,
            variants=_sorted(values[ccg("textVariant")]),
            yields=self._boolean(iri, ccg("yields")),
            deprecated=self._boolean(iri, OWL.deprecated),
            either_parent=self._boolean(iri, ccg("eitherParent")),
            place=self.lines.of(iri),
        )

    def _relations(self, subject: Node, header: str) -> list[DraftRelation]:
        """Return the edges from a subject. Add a misstatement for each `ccg:` term without meaning there."""
        values = self.subjects[subject]
        if str(subject).startswith(SCHEMA) and not _is_concept(values):
            return []
        understood = {ccg("unreviewed")} if str(subject) == header else {*_KINDS}
        if _is_concept(values):
            understood |= {ccg("index"), ccg("textVariant"), ccg("yields"), ccg("eitherParent")}
        for predicate in [name for name, ends in values.items() if ends and name not in understood]:
            if str(predicate).startswith(SCHEMA):
                problem = f"states {_short(predicate)}, which has no meaning there"
                self._misstate(subject, problem, predicate)
        return [
            DraftRelation(
                kind=kind, subject=str(subject), object=str(end), place=self.lines.of(subject, kind)
            )
            for kind in Kind
            if ccg(kind) in understood
            for end in values[ccg(kind)]
        ]

    def _single_value(self, subject: Node, predicate: URIRef) -> str:
        """Return the value of a predicate, or "".

        If there are several values, return the first in alphabetical order and record a misstatement.
        """
        texts = sorted({str(value) for value in self.subjects[subject][predicate]})
        if len(texts) > 1:
            problem = f"has {len(texts)} values of {_short(predicate)}: {', '.join(texts)}"
            self._misstate(subject, problem, predicate)
        return texts[0] if texts else ""

    def _english(self, subject: Node, predicate: URIRef) -> str:
        """Return the English text, or else the text without a language, or "".

        If a language has two texts, record a misstatement.
        """
        by_language: dict[str, list[str]] = defaultdict(list)
        for value in self.subjects[subject][predicate]:
            if isinstance(value, Literal):
                by_language[_language_of(value).casefold()].append(str(value))
        for language, texts in sorted(by_language.items()):
            if len(set(texts)) > 1:
                in_language = f" in {language!r}" if language else ""
                listed = ", ".join(map(repr, sorted(texts)))
                problem = f"has {len(texts)} values of {_short(predicate)}{in_language}: {listed}"
                self._misstate(subject, problem, predicate)
        english = sorted(tag for tag in by_language if tag.partition("-")[0] == "en")
        return next((min(by_language[tag]) for tag in (*english, "") if tag in by_language), "")

    def _boolean(self, subject: Node, predicate: URIRef) -> bool:
        """Return whether the value is true. A missing value is false. Other values are misstatements."""
        stated = {str(value) for value in self.subjects[subject][predicate]}
        if invalid := sorted(stated - _BOOLEANS.keys()):
            self._misstate(subject, f"has {_short(predicate)} {invalid[0]!r}, not true or false", predicate)
        booleans = {_BOOLEANS[text] for text in stated & _BOOLEANS.keys()}
        if len(booleans) > 1:
            self._misstate(subject, f"has {_short(predicate)} true and false", predicate)
        return True in booleans

    def _misstate(self, subject: Node, problem: str, predicate: Node | None = None) -> None:
        """Add a problem to the misstatements, together with the line of the invalid statement."""
        place = self.lines.of(subject, str(predicate or "").removeprefix(SCHEMA))
        self.misstatements.append(Misstatement(subject=str(subject), problem=problem, place=place))

    def _left(self, draft: Draft, concepts: set[Node]) -> tuple[ForeignStatement, ...]:
        """Return the statements that the draft neither contains nor implies, in a fixed order."""
        stated = {*statements(draft), *map(_terms, derived(draft)), *_schema_terms()}
        rest = []
        for subject, values in self.subjects.items():
            single = {OWL.versionInfo} if str(subject) == draft.header.iri else _KINDS
            single = _OF_CONCEPT if subject in concepts else single
            for predicate, ends in values.items():
                for end in ends:
                    taken = predicate in single and not _language_of(end)
                    taken |= predicate == _TYPE and end in _CLASSES
                    if not taken and _terms((subject, predicate, end)) not in stated:
                        rest.append((subject, predicate, end))
        # A preserved text replaces the same text with another language tag. If the file has both, keep both.
        for subject, predicate, end in rest.copy():
            for language in (None, "en") if isinstance(end, Literal) else ():
                twin = (subject, predicate, Literal(str(end), lang=language))
                rest += [twin] if twin in self.graph else []
        if any(isinstance(node, rdflib.BNode) for triple in rest for node in triple):
            graph = rdflib.Graph()  # to give blank nodes the same names in every read
            graph += rest
            rest = list(to_canonical_graph(graph))
        terms = sorted({*map(_terms, rest)})
        return tuple(ForeignStatement(subject=s, predicate=p, object=o) for s, p, o in terms)


def _is_concept(values: Values) -> bool:
    return bool(values[ccg("index")]) or not _CLASSES.isdisjoint(values[_TYPE])


def _language_of(value: Node) -> str:
    return (value.language or "") if isinstance(value, Literal) else ""


def _is_english(value: Node) -> bool:
    return _language_of(value).casefold().partition("-")[0] in ("", "en")


def _short(predicate: Node) -> str:
    return predicate.n3(_PREFIXED.namespace_manager)


@cache
def _schema_terms() -> frozenset[tuple[str, str, str]]:
    return frozenset(map(_terms, schema()))


def _terms(triple: tuple[Node, Node, Node]) -> tuple[str, str, str]:
    subject, predicate, end = triple
    return term(subject), term(predicate), term(end)


def _sorted(values: Iterable[Node]) -> tuple[str, ...]:
    return tuple(sorted(map(str, values)))


def _variants(values: list[Node]) -> tuple[Name, ...]:
    """Return the texts with their languages, sorted by language and text."""
    texts = (value for value in values if isinstance(value, Literal))
    names = {Name(text=str(text), language=_language_of(text)) for text in texts}
    return tuple(sorted(names, key=lambda name: (name.language, name.text)))
