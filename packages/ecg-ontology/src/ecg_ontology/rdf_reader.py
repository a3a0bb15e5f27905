"""From an RDF file to a draft. What the draft has no field for is kept statement by statement."""

import logging
import re
from pathlib import Path
from typing import TypeVar

import rdflib
from rdflib.namespace import DCTERMS, OWL, RDF, SKOS

from ecg_ontology.concepts import Kind, Name, Tier
from ecg_ontology.drafts import Draft, DraftConcept, DraftRelation, Erratum, OntologyHeader
from ecg_ontology.enumeration import KIND_ORDER
from ecg_ontology.errors import SourceError
from ecg_ontology.files import refuse_pipe
from ecg_ontology.rdf_statements import (
    CCG,
    ENGLISH,
    Node,
    Statements,
    Triples,
    Values,
    is_english,
    is_text,
    language_of,
)
from ecg_ontology.rdf_writer import RDF_FORMATS, schema
from ecg_ontology.turtle import SCHEMA
from ecg_ontology.xml_entities import refuse_nested_entities

GraphT = TypeVar("GraphT", bound=rdflib.Graph)
_ERRATUM = ("source", "printed", "found", "decision", "test")
_BAD_SYNTAX = re.compile(r"at line (\d+) of <[^>]*>: Bad syntax \((.*?)\) at \^ in")
"""How rdflib refuses a Turtle file."""


def read_graph(path: Path) -> Draft:
    """Read the graph in `path`, whose ending says the form.

    Raises:
        SourceError: it can't be read, names no ontology or two, or describes no concept.
    """
    return _Reading(_parse(path, Triples()), path).draft()


def read_errata(path: Path) -> tuple[Erratum, ...]:
    """Read a file of errata. Raises `SourceError` where it can't be read."""
    graph = _parse(path, rdflib.Graph(store="SimpleMemory"))  # a sixth of the time of a store with contexts
    entries = (
        Erratum(
            id=str(graph.value(entry, DCTERMS.identifier) or ""),
            **{name: str(graph.value(entry, CCG[name]) or "") for name in _ERRATUM},
        )
        for entry in graph.subjects(RDF.type, CCG.Erratum)
    )
    return tuple(sorted(entries, key=lambda entry: entry.id))


def _parse(path: Path, graph: GraphT) -> GraphT:
    """The graph with the triples of a file. Raises `SourceError` where it isn't in the form of its ending."""
    refuse_pipe(path)
    rdf_log = logging.getLogger("rdflib.term")
    form = RDF_FORMATS[path.suffix]
    try:
        if form == "xml":
            refuse_nested_entities(path)
        rdf_log.setLevel(logging.ERROR)  # an ill-typed literal is reported by the checks, in our words
        graph.parse(path, format=form)
    except SourceError:
        raise
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", where=path) from error
    except Exception as error:
        reason = " ".join(str(error).split())
        if syntax_error := _BAD_SYNTAX.match(reason):  # what follows there is bytes of the file
            reason = "line {}: {}".format(*syntax_error.groups())
        raise SourceError(f"is not RDF in {form}: {reason[:200]}", where=path) from error
    finally:
        rdf_log.setLevel(logging.NOTSET)
    return graph


class _Reading:
    """One pass over the triples of a file: a draft of what is understood, the rest kept as it is."""

    def __init__(self, graph: Triples, path: Path) -> None:
        self.path = path
        self.stated = Statements(graph, path)
        self.relations: list[DraftRelation] = []

    def draft(self) -> Draft:
        concepts = [subject for subject, values in self.stated.subjects.items() if _is_concept(values)]
        if not concepts:
            remedy = f"State nodes of the classes Root and Leaf of the vocabulary {SCHEMA}"
            raise SourceError("describes no concept", where=self.path, remedy=remedy)
        header = self._header()
        read = [self._concept(iri, self.stated.subjects.pop(iri)) for iri in sorted(concepts, key=str)]
        for subject, values in self.stated.subjects.items():
            self._foreign(subject, values)
        draft = Draft(
            header=header,
            concepts=tuple(sorted(read, key=lambda c: (c.index is None, c.index or 0, c.iri))),
            relations=tuple(sorted(self.relations, key=lambda r: (KIND_ORDER[r.kind], r.subject, r.object))),
            misstatements=tuple(sorted(self.stated.misstatements, key=lambda m: (m.subject, m.problem))),
        )
        return draft.model_copy(update={"statements": self.stated.left(draft)})

    def _header(self) -> OntologyHeader:
        iris = [s for s, values in self.stated.subjects.items() if OWL.Ontology in values.get(RDF.type, ())]
        if not iris:
            problem = "has no owl:Ontology header"
            raise SourceError(problem, where=self.path, remedy="Name the ontology and its version")
        if len(iris) > 1 or not isinstance(iris[0], rdflib.URIRef):
            names = ", ".join(sorted(map(str, iris)))
            problem = f"should name one owl:Ontology by an IRI and names {names}"
            raise SourceError(problem, where=self.path, remedy="Keep one")
        iri = iris[0]
        values = self.stated.subjects.pop(iri)
        header = OntologyHeader(
            iri=str(iri),
            version=self.stated.one(iri, values, OWL.versionInfo) or "0.0.0",
            title=self.stated.english(iri, values, DCTERMS.title),
            licence=self._licence(iri, values),
            creators=self.stated.texts(iri, values, DCTERMS.creator, ""),
            provenance=self.stated.texts(iri, values, DCTERMS.provenance, ENGLISH),
            unreviewed=self.stated.texts(iri, values, CCG["unreviewed"], ""),
        )
        versions = values.pop(OWL.versionIRI, [])
        for version in versions:
            if str(version).startswith(f"{iri}/") and str(version) != f"{iri}/{header.version}":
                problem = f"has the versionIRI {version} and the versionInfo {header.version!r}"
                self.stated.misstate(iri, problem, OWL.versionIRI)
        foreign = (version for version in versions if not str(version).startswith(f"{header.iri}/"))
        self.stated.keep(iri, OWL.versionIRI, foreign)
        self.stated.take(values, RDF.type, OWL.Ontology)
        self.stated.rest(iri, values)
        return header

    def _licence(self, iri: Node, values: Values) -> str:
        stated = list(values.get(DCTERMS.license, ()))
        self.stated.keep(
            iri, DCTERMS.license, (value for value in stated if is_text(value) and not language_of(value))
        )
        return self.stated.one(iri, values, DCTERMS.license)

    def _concept(self, iri: Node, values: Values) -> DraftConcept:
        index = self.stated.one(iri, values, CCG["index"])
        tiers = [tier for tier in Tier if self.stated.take(values, RDF.type, CCG[tier])]
        if len(tiers) > 1:
            self.stated.misstate(iri, "is both a ccg:Root and a ccg:Leaf")
        self.stated.take(values, RDF.type, CCG.Concept)
        self._relations(iri, values)
        labels = values.get(SKOS.prefLabel, [])
        concept = DraftConcept(
            iri=str(iri),
            index=int(index) if re.fullmatch(r"-?[0-9]{1,9}", index) else None,
            abbr=self.stated.one(iri, values, SKOS.notation),
            translations=_names([label for label in labels if not is_english(label)]),
            label=self.stated.english(iri, values, SKOS.prefLabel),
            synonyms=_names(values.get(SKOS.altLabel, [])),
            definition=self.stated.definition(iri, values),
            sources=self.stated.sources(iri, values),
            tier=tiers[0] if tiers else None,
            variants=self.stated.texts(iri, values, CCG["textVariant"], ENGLISH),
            yields=self.stated.boolean(iri, values, CCG["yields"]),
            deprecated=self.stated.boolean(iri, values, OWL.deprecated),
            place=self.stated.lines.of(str(iri)),
        )
        self.stated.keep(iri, SKOS.altLabel, (v for v in values.pop(SKOS.altLabel, ()) if not is_text(v)))
        self.stated.rest(iri, values)
        return concept

    def _relations(self, subject: Node, values: Values) -> None:
        for kind in Kind:
            for end in values.pop(CCG[kind], ()):
                place = self.stated.lines.of(str(subject), kind)
                relation = DraftRelation(kind=kind, subject=str(subject), object=str(end), place=place)
                self.relations.append(relation)

    def _foreign(self, subject: Node, values: Values) -> None:
        if not str(subject).startswith(SCHEMA):
            self._relations(subject, values)
            self.stated.rest(subject, values)
            return
        for predicate, ends in values.items():
            foreign = (end for end in ends if (subject, predicate, end) not in schema())
            self.stated.keep(subject, predicate, foreign)


def _is_concept(values: Values) -> bool:
    types = values.get(RDF.type, ())
    return CCG["index"] in values or any(CCG[name] in types for name in (*Tier, "Concept"))


def _names(values: list[Node]) -> tuple[Name, ...]:
    """The texts with their languages, by language and text."""
    names = {Name(text=str(value), language=language_of(value)) for value in values if is_text(value)}
    return tuple(sorted(names, key=lambda name: (name.language, name.text)))
