"""From an RDF file to a draft. What the draft has no field for is kept statement by statement."""

import logging
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import rdflib
from rdflib.namespace import DCTERMS, OWL, RDF, SKOS

from ecg_ontology.concepts import Kind, Tier
from ecg_ontology.drafts import (
    Draft,
    DraftConcept,
    DraftRelation,
    Erratum,
    Header,
    Misstatement,
    Statement,
)
from ecg_ontology.errors import SourceError
from ecg_ontology.files import refuse_pipe
from ecg_ontology.rdf_nodes import (
    CCG,
    ENGLISH,
    Node,
    Triple,
    Values,
    canonical,
    is_concept,
    is_english,
    is_text,
    language_of,
    names,
    short,
)
from ecg_ontology.rdf_writer import RDF_FORMATS, derived, schema, term
from ecg_ontology.source_lines import SourceLines
from ecg_ontology.turtle import SCHEMA
from ecg_ontology.xml_entities import refuse_nested_entities

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_ORDER = {kind: place for place, kind in enumerate(Kind)}


def read_graph(path: Path) -> Draft:
    """Read the graph in `path`, whose ending says the form.

    Raises:
        SourceError: it can't be read, names no ontology or two, or describes no concept.
    """
    return _Reading(parse(path), path).draft()


def read_errata(path: Path) -> tuple[Erratum, ...]:
    """Read a file of errata.

    Raises:
        SourceError: it can't be read.
    """
    graph = parse(path)
    entries = (
        Erratum(
            id=str(graph.value(entry, DCTERMS.identifier) or ""),
            **{
                name: str(graph.value(entry, CCG[name]) or "")
                for name in ("source", "printed", "found", "decision", "test")
            },
        )
        for entry in graph.subjects(RDF.type, CCG.Erratum)
    )
    return tuple(sorted(entries, key=lambda entry: entry.id))


def parse(path: Path) -> rdflib.Graph:
    """Return the triples of a file.

    Raises:
        SourceError: it can't be read, or is not RDF in the form that its ending names.
    """
    refuse_pipe(path)
    graph = rdflib.Graph(store="SimpleMemory")  # a file has one context: a sixth of the time for the others
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
        raise SourceError(f"is not RDF in {form}: {reason[:200]}", where=path) from error
    finally:
        rdf_log.setLevel(logging.NOTSET)
    return graph


class _Reading:
    """One pass over the triples of a file: a draft of what is understood, the rest kept as it is."""

    def __init__(self, graph: rdflib.Graph, path: Path) -> None:
        self.graph = graph
        self.path = path
        self.lines = SourceLines(path)
        self.kept: list[Triple] = []
        self.misstatements: list[Misstatement] = []
        self.relations: list[DraftRelation] = []
        self.subjects: dict[Node, Values] = defaultdict(lambda: defaultdict(list))
        for subject, predicate, end in graph:
            self.subjects[subject][predicate].append(end)

    def draft(self) -> Draft:
        concepts = [subject for subject, values in self.subjects.items() if is_concept(values)]
        if not concepts:
            raise SourceError(
                "describes no concept",
                where=self.path,
                remedy=f"State nodes of the classes Root and Leaf of the vocabulary {SCHEMA}",
            )
        header = self._header()
        read = [self._concept(iri, self.subjects.pop(iri)) for iri in sorted(concepts, key=str)]
        for subject, values in self.subjects.items():
            self._foreign(subject, values)
        draft = Draft(
            header=header,
            concepts=tuple(sorted(read, key=lambda c: (c.index is None, c.index or 0, c.iri))),
            relations=tuple(sorted(self.relations, key=lambda r: (_ORDER[r.kind], r.subject, r.object))),
            misstatements=tuple(sorted(self.misstatements, key=lambda m: (m.subject, m.problem))),
        )
        return draft.model_copy(update={"statements": self._statements(draft)})

    # --- the ontology

    def _header(self) -> Header:
        iris = [s for s, values in self.subjects.items() if OWL.Ontology in values.get(RDF.type, ())]
        if not iris:
            raise SourceError(
                "has no owl:Ontology header", where=self.path, remedy="Name the ontology and its version"
            )
        if len(iris) > 1 or not isinstance(iris[0], rdflib.URIRef):
            names = ", ".join(sorted(map(str, iris)))
            raise SourceError(
                f"should name one owl:Ontology by an IRI and names {names}",
                where=self.path,
                remedy="Keep one",
            )
        iri = iris[0]
        values = self.subjects.pop(iri)
        header = Header(
            iri=str(iri),
            version=self._one(iri, values, OWL.versionInfo) or "0.0.0",
            title=self._english(iri, values, DCTERMS.title),
            licence=self._licence(iri, values),
            creators=self._texts(iri, values, DCTERMS.creator, ""),
            provenance=self._texts(iri, values, DCTERMS.provenance, ENGLISH),
            unreviewed=self._texts(iri, values, CCG["unreviewed"], ""),
        )
        versions = values.pop(OWL.versionIRI, [])
        self._keep(iri, OWL.versionIRI, (v for v in versions if not str(v).startswith(f"{header.iri}/")))
        self._take(values, RDF.type, OWL.Ontology)
        self._rest(iri, values)
        return header

    def _licence(self, iri: Node, values: Values) -> str:
        stated = list(values.get(DCTERMS.license, ()))
        self._keep(
            iri, DCTERMS.license, (value for value in stated if is_text(value) and not language_of(value))
        )
        return self._one(iri, values, DCTERMS.license)

    # --- concepts

    def _concept(self, iri: Node, values: Values) -> DraftConcept:
        index = self._one(iri, values, CCG["index"])
        tiers = [tier for tier in Tier if self._take(values, RDF.type, CCG[tier])]
        if len(tiers) > 1:
            self._misstate(iri, "is both a ccg:Root and a ccg:Leaf")
        self._take(values, RDF.type, CCG.Concept)
        self._relations(iri, values)
        labels = values.get(SKOS.prefLabel, [])
        concept = DraftConcept(
            iri=str(iri),
            index=int(index) if re.fullmatch(r"-?[0-9]{1,9}", index) else None,
            abbr=self._one(iri, values, SKOS.notation),
            translations=names(label for label in labels if not is_english(label)),
            label=self._english(iri, values, SKOS.prefLabel),
            synonyms=names(values.get(SKOS.altLabel, [])),
            tier=tiers[0] if tiers else None,
            variants=self._texts(iri, values, CCG["textVariant"], ENGLISH),
            yields=self._boolean(iri, values, CCG["yields"]),
            deprecated=self._boolean(iri, values, OWL.deprecated),
            place=self.lines.of(str(iri)),
        )
        self._keep(iri, SKOS.altLabel, (v for v in values.pop(SKOS.altLabel, ()) if not is_text(v)))
        self._rest(iri, values)
        return concept

    def _relations(self, subject: Node, values: Values) -> None:
        for kind in Kind:
            for end in values.pop(CCG[kind], ()):
                place = self.lines.of(str(subject), kind)
                relation = DraftRelation(kind=kind, subject=str(subject), object=str(end), place=place)
                self.relations.append(relation)

    # --- values

    def _one(self, subject: Node, values: Values, predicate: rdflib.URIRef) -> str:
        """The only value; of several the first in order of text, and a misstatement."""
        found = sorted({str(value) for value in values.get(predicate, ())})
        if len(found) > 1:
            self._misstate(
                subject, f"has {len(found)} values of {short(predicate)}: {', '.join(found)}", predicate
            )
        stated = values.pop(predicate, [])
        self._keep(subject, predicate, (value for value in stated if language_of(value)))
        return found[0] if found else ""

    def _english(self, subject: Node, values: Values, predicate: rdflib.URIRef) -> str:
        """The English text, else one without a language; two of one language are a misstatement."""
        by_language: dict[str, list[str]] = defaultdict(list)
        texts = values.pop(predicate, [])
        for value in texts:
            if is_text(value):
                by_language[language_of(value).casefold()].append(str(value))
        for language, found in sorted(by_language.items()):
            if len(set(found)) > 1:
                in_language = f" in {language!r}" if language else ""
                listed = ", ".join(map(repr, sorted(found)))
                problem = f"has {len(found)} values of {short(predicate)}{in_language}: {listed}"
                self._misstate(subject, problem, predicate)
        english = sorted(tag for tag in by_language if tag.partition("-")[0] == ENGLISH)
        chosen = next((tag for tag in (*english, "") if tag in by_language), None)
        label = min(by_language[chosen]) if chosen is not None else ""
        translated = predicate == SKOS.prefLabel
        held = {rdflib.Literal(label, lang=ENGLISH)} | {v for v in texts if translated and not is_english(v)}
        self._keep(subject, predicate, (value for value in texts if value not in held))
        return label

    def _texts(
        self, subject: Node, values: Values, predicate: rdflib.URIRef, language: str
    ) -> tuple[str, ...]:
        """All values as text; those of another language than `language` are kept with theirs as well."""
        found = values.pop(predicate, [])
        self._keep(subject, predicate, (v for v in found if not is_text(v) or language_of(v) != language))
        return tuple(sorted(str(value) for value in found))

    def _boolean(self, subject: Node, values: Values, predicate: rdflib.URIRef) -> bool:
        stated = {str(value) for value in values.pop(predicate, ())}
        if strange := sorted(stated - _BOOLEANS.keys()):
            self._misstate(subject, f"has {short(predicate)} {strange[0]!r}, not true or false", predicate)
        found = {_BOOLEANS[text] for text in stated & _BOOLEANS.keys()}
        if len(found) > 1:
            self._misstate(subject, f"has {short(predicate)} true and false", predicate)
        return True in found

    # --- what is left

    def _take(self, values: Values, predicate: Node, value: Node) -> bool:
        there = value in values.get(predicate, ())
        if there:
            values[predicate].remove(value)
        return there

    def _keep(self, subject: Node, predicate: Node, values: Iterable[Node]) -> None:
        self.kept += [(subject, predicate, value) for value in values]

    def _rest(self, subject: Node, values: Values) -> None:
        """Keep what no field took; a word of our namespace among it is misspelt or misplaced."""
        for predicate, ends in values.items():
            if str(predicate).startswith(SCHEMA):
                problem = f"states {short(predicate)}, which means nothing there"
                self._misstate(subject, problem, predicate)
            self._keep(subject, predicate, ends)

    def _foreign(self, subject: Node, values: Values) -> None:
        if not str(subject).startswith(SCHEMA):
            self._relations(subject, values)
            self._rest(subject, values)
            return
        for predicate, ends in values.items():
            self._keep(subject, predicate, (end for end in ends if (subject, predicate, end) not in schema()))

    def _misstate(self, subject: Node, problem: str, predicate: Node | None = None) -> None:
        word = str(predicate or "").removeprefix(SCHEMA)
        place = self.lines.of(str(subject), word)
        self.misstatements.append(Misstatement(subject=str(subject), problem=problem, place=place))

    def _statements(self, draft: Draft) -> tuple[Statement, ...]:
        implied = derived(draft) if self.kept else set[Triple]()
        rest = [triple for triple in self.kept if triple not in implied]
        # A text kept in its own language is not written in ours; if it is stated in both, both are kept.
        for subject, predicate, end in rest.copy():
            for language in (None, ENGLISH) if is_text(end) else ():
                twin = (subject, predicate, rdflib.Literal(str(end), lang=language))
                rest += [twin] if twin in self.graph else []
        if any(isinstance(node, rdflib.BNode) for triple in rest for node in triple):
            rest = list(canonical(rest))  # the same names for nodes without one, however the file was read
        found = {Statement(subject=term(s), predicate=term(p), object=term(o)) for s, p, o in rest}
        return tuple(sorted(found, key=lambda each: (each.subject, each.predicate, each.object)))
