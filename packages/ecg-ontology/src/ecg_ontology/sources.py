"""From files to a draft: Turtle, RDF/XML, N-Triples, a folder with SSSOM tables. The only home of RDF."""

import csv
import logging
import re
from collections.abc import Iterable
from pathlib import Path

import rdflib
from rdflib.namespace import DCTERMS, OWL, RDF, SKOS

from ecg_ontology.concepts import Kind, Name, Tier
from ecg_ontology.drafts import (
    BASE_TABLE,
    Draft,
    DraftConcept,
    DraftRelation,
    Erratum,
    Header,
    Lock,
    read_bundle,
)
from ecg_ontology.enumeration import parse_lock
from ecg_ontology.errors import SourceError
from ecg_ontology.files import read_text
from ecg_ontology.sssom import read_sssom
from ecg_ontology.turtle import SCHEMA, turtle_text

CCG = rdflib.Namespace(SCHEMA)
LOCK = "enumeration.lock"
ERRATA = "errata.ttl"
OFFICIAL = "challenge.tsv"
_FORMATS = {".ttl": "turtle", ".owl": "xml", ".rdf": "xml", ".nt": "nt"}
_COMPANIONS = {"shapes.ttl", ERRATA}


def read_source(source: Path) -> Draft:
    """Read whatever `source` is: a folder of sources, one RDF file (a graph without routing), or a bundle.

    A folder holds one graph (``.ttl``, ``.owl``, ``.rdf`` or ``.nt``), and where there are any:
    ``routing.sssom.tsv`` (the base table), ``routing.paper.sssom.tsv`` and ``routing.curated.sssom.tsv``
    (rows that replace others in the profile of that name), further vocabularies as
    ``routing.<name>.sssom.tsv``, ``challenge.tsv`` (the official codes) and ``enumeration.lock``.

    Raises:
        SourceError: it is not there, not readable, or of no known form.
    """
    if source.is_dir():
        return _read_folder(source)
    if not source.exists():
        raise SourceError(
            "is not there", where=source, remedy="Give a folder of sources, .ttl, .owl, .nt or .json"
        )
    if source.suffix == ".json":
        return read_bundle(source)
    if source.suffix not in _FORMATS:
        known = ", ".join((*_FORMATS, ".json"))
        raise SourceError(
            "has no known ending", where=source, remedy=f"Give a folder of sources, or one of {known}"
        )
    return _read_graph(source)


def _read_folder(folder: Path) -> Draft:
    graphs = sorted(p for p in folder.iterdir() if p.suffix in _FORMATS and p.name not in _COMPANIONS)
    if len(graphs) != 1:
        found = ", ".join(path.name for path in graphs) or "none"
        raise SourceError(
            f"should hold one graph and holds {found}", where=folder, remedy="Keep one .ttl, .owl or .nt"
        )
    base = _read_graph(graphs[0])
    return base.model_copy(
        update={
            "mappings": tuple(row for path in _tables(folder) for row in read_sssom(path, _table_name(path))),
            "official": _read_official(folder / OFFICIAL),
            "lock": _read_lock(folder / LOCK),
            "errata": _read_errata(folder / ERRATA),
        }
    )


def _tables(folder: Path) -> list[Path]:
    """The base table first: its order is the order of the codes."""
    return sorted(
        folder.glob("routing*.sssom.tsv"), key=lambda path: (_table_name(path) != BASE_TABLE, path.name)
    )


def _table_name(path: Path) -> str:
    return path.name.removesuffix(".sssom.tsv").removeprefix("routing").removeprefix(".") or BASE_TABLE


def _read_official(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    rows = list(csv.DictReader(read_text(path).splitlines(), delimiter="\t", restval=""))
    if rows and not {"code", "label"} <= rows[0].keys():
        raise SourceError("has no columns code and label", where=path)
    return {row["code"]: row["label"] for row in rows}


def _read_lock(path: Path) -> Lock | None:
    return parse_lock(read_text(path), path.name) if path.exists() else None


def _read_errata(path: Path) -> tuple[Erratum, ...]:
    if not path.exists():
        return ()
    graph = _parse(path)
    entries = (
        Erratum(
            id=_text(graph, entry, DCTERMS.identifier),
            **{
                name: _text(graph, entry, CCG[name])
                for name in ("source", "printed", "found", "decision", "test")
            },
        )
        for entry in graph.subjects(RDF.type, CCG.Erratum)
    )
    return tuple(sorted(entries, key=lambda entry: entry.id))


def _read_graph(path: Path) -> Draft:
    graph = _parse(path)
    places = _SourceLines(path)
    iris = sorted(
        {s for tier in (*Tier, "Concept") for s in graph.subjects(RDF.type, CCG[tier])}
        | set(graph.subjects(CCG["index"], None)),
        key=str,
    )
    if not iris:
        raise SourceError(
            "describes no concept",
            where=path,
            remedy=f"State nodes of the classes Root and Leaf of the vocabulary {SCHEMA}",
        )
    concepts = [_concept(graph, iri, places) for iri in iris]
    return Draft(
        header=_header(graph, path),
        concepts=tuple(sorted(concepts, key=lambda c: (c.index is None, c.index or 0, c.iri))),
        relations=tuple(_relations(graph, places)),
    )


def _parse(path: Path) -> rdflib.Graph:
    graph = rdflib.Graph()
    rdf_log = logging.getLogger("rdflib.term")
    try:
        rdf_log.setLevel(logging.ERROR)  # an ill-typed literal is reported by the checks, in our words
        graph.parse(path, format=_FORMATS[path.suffix])
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", where=path) from error
    except Exception as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"is not RDF in {_FORMATS[path.suffix]}: {reason[:200]}", where=path) from error
    finally:
        rdf_log.setLevel(logging.NOTSET)
    return graph


def _header(graph: rdflib.Graph, path: Path) -> Header:
    iri = next(iter(sorted(graph.subjects(RDF.type, OWL.Ontology), key=str)), None)
    if not isinstance(iri, rdflib.URIRef):
        raise SourceError(
            "has no owl:Ontology header", where=path, remedy="Name the ontology and its version"
        )
    return Header(
        iri=str(iri),
        version=_text(graph, iri, OWL.versionInfo) or "0.0.0",
        title=_text(graph, iri, DCTERMS.title),
        licence=_text(graph, iri, DCTERMS.license),
        creators=tuple(sorted(str(value) for value in graph.objects(iri, DCTERMS.creator))),
        provenance=tuple(sorted(str(value) for value in graph.objects(iri, DCTERMS.provenance))),
        unreviewed=tuple(sorted(str(value) for value in graph.objects(iri, CCG["unreviewed"]))),
    )


def _concept(graph: rdflib.Graph, iri: rdflib.term.Node, places: "_SourceLines") -> DraftConcept:
    index = _text(graph, iri, CCG["index"])
    types = set(graph.objects(iri, RDF.type))
    return DraftConcept(
        iri=str(iri),
        index=int(index) if re.fullmatch(r"-?[0-9]{1,9}", index) else None,
        abbr=_text(graph, iri, SKOS.notation),
        label=_english(graph, iri, SKOS.prefLabel),
        tier=next((tier for tier in Tier if CCG[tier] in types), None),
        variants=tuple(sorted(str(value) for value in graph.objects(iri, CCG["textVariant"]))),
        yields=_text(graph, iri, CCG["yields"]) in ("true", "1"),
        translations=tuple(
            name
            for name in _names(graph, iri, SKOS.prefLabel)
            if name.language.partition("-")[0] not in ("", "en")
        ),
        synonyms=_names(graph, iri, SKOS.altLabel),
        place=places.of(str(iri)),
    )


def _relations(graph: rdflib.Graph, places: "_SourceLines") -> Iterable[DraftRelation]:
    for kind in Kind:
        for subject, end in sorted(graph.subject_objects(CCG[kind]), key=str):
            place = places.of(str(subject), kind)
            yield DraftRelation(kind=kind, subject=str(subject), object=str(end), place=place)


def _text(graph: rdflib.Graph, subject: rdflib.term.Node, predicate: rdflib.URIRef) -> str:
    """The first value in order of text: the same one on every run where there are several."""
    return min((str(value) for value in graph.objects(subject, predicate)), default="")


def _english(graph: rdflib.Graph, subject: rdflib.term.Node, predicate: rdflib.URIRef) -> str:
    """The English text, else one without a language."""
    names = _names(graph, subject, predicate)
    english = [name for name in names if name.language.partition("-")[0] == "en"]
    plain = [name for name in names if not name.language]
    return next((name.text for name in (*english, *plain)), "")


def _names(graph: rdflib.Graph, subject: rdflib.term.Node, predicate: rdflib.URIRef) -> tuple[Name, ...]:
    """The texts with their languages, by language and text."""
    names = {
        Name(text=str(value), language=value.language or "")
        for value in graph.objects(subject, predicate)
        if isinstance(value, rdflib.Literal)
    }
    return tuple(sorted(names, key=lambda name: (name.language, name.text)))


class _SourceLines:
    """Where a file states something. RDF parsers keep no lines, so the layout is searched for them."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._lines: dict[tuple[str, str], int] = {}
        if path.suffix == ".ttl":
            self._scan(read_text(path))

    def _scan(self, text: str) -> None:
        prefixes = dict(re.findall(r"(?m)^@prefix\s+([\w-]*):\s*<([^>]*)>", text))
        subject = ""
        for number, line in enumerate(text.splitlines(), start=1):
            if head := re.match(r"(?:<([^>]+)>|([\w-]*):([\w-]+))\s", line):
                iri, prefix, local = head.groups()
                subject = iri or prefixes.get(prefix, "") + local
                self._lines.setdefault((subject, ""), number)
            elif statement := re.match(r"\s+ccg:(\w+)\s", line):
                self._lines.setdefault((subject, statement[1]), number)

    def of(self, iri: str, predicate: str = "") -> str:
        """Return ``file:line`` of the statement, of its subject's entry, or the file alone."""
        number = self._lines.get((iri, predicate)) or self._lines.get((iri, ""))
        return f"{self._name}:{number}" if number else self._name


def to_rdf(draft: Draft) -> rdflib.Graph:
    """Return the graph of `draft` (no routing) as RDF."""
    graph = rdflib.Graph()
    graph.parse(data=turtle_text(draft), format="turtle")
    return graph


def rdf_text(draft: Draft, suffix: str) -> str:
    """Return the graph of `draft` (no routing) as text, by file ending.

    ``.ttl`` is canonical, ``.owl`` and ``.rdf`` are XML, ``.nt`` has its lines sorted.
    """
    if suffix == ".ttl":
        return turtle_text(draft)
    text = to_rdf(draft).serialize(format=_FORMATS[suffix])
    return "".join(sorted(text.splitlines(keepends=True))) if suffix == ".nt" else text
