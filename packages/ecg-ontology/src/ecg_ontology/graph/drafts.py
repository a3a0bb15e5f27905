"""Define the draft of an ontology: the unchecked content of its files.

A draft can contain every mistake of a source, for example a duplicate index, an edge to an unknown concept,
or contradicting rows of a code. The checks read drafts. `Ontology` is built from a draft without errors. The
bundle ``ccg.json`` is a draft in JSON, so every ontology is loaded in the same way.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import Field

from ecg_ontology.graph.concepts import FrozenModel, Kind, Name, Regime, Tier

BASE_TABLE = "base"
"""Name of the table that all profiles share. A profile's own table replaces rows of the base table."""


class OntologyHeader(FrozenModel):
    """Metadata of the ontology.

    Attributes:
        iri: IRI of the ontology. Concepts have the IRI ``<iri>#<abbr>``.
        version: ``major.minor.patch``. Concepts keep their indices within a major version.
        title: title in a single line.
        licence: IRI of the licence.
        creators: authors of the ontology.
        provenance: origin of the content.
        unreviewed: languages whose labels no clinician has reviewed.
    """

    iri: str
    version: str
    title: str
    licence: str
    creators: tuple[str, ...]
    provenance: tuple[str, ...]
    unreviewed: tuple[str, ...] = ()


class DraftConcept(FrozenModel):
    """Concept as stated in its source. `None` and "" mean that the source has no value.

    The attributes are explained in `Concept`, except `tier` (root or leaf) and `place` (file and line).
    """

    iri: str
    index: int | None = None
    abbr: str = ""
    label: str = ""
    tier: Tier | None = None
    variants: tuple[str, ...] = ()
    yields: bool = False
    translations: tuple[Name, ...] = ()
    synonyms: tuple[Name, ...] = ()
    definition: str = ""
    sources: tuple[str, ...] = ()
    deprecated: bool = False
    either_parent: bool = False
    place: str = ""


class ForeignStatement(FrozenModel):
    """Preserved statement that fits no other field of a draft: three terms in the syntax of N-Triples."""

    subject: str
    predicate: str
    object: str


MISSTATED_INDEX = "has the ccg:index"
"""Start of the message for an index that isn't an integer."""


class Misstatement(FrozenModel):
    """Invalid statement in a source, such as two labels in the same language or a truth value "yes".

    Attributes:
        subject: IRI of the concept or the ontology that the statement is about.
        problem: what is wrong.
        place: file and line of the statement, or "".
    """

    subject: str
    problem: str
    place: str = ""


class DraftRelation(FrozenModel):
    """Edge as the statement ``subject kind object``. Symmetric kinds are stated in both directions.

    Attributes:
        kind: kind of the edge.
        subject, object: IRIs of the two concepts.
        place: file and line of the statement, or "".
    """

    kind: Kind
    subject: str
    object: str
    place: str = ""


class RoutingRow(FrozenModel):
    """Row of a routing table: a code and a node.

    Attributes:
        code: SNOMED CT identifier, or ``vocabulary:code``.
        label: label of the code.
        predicate: SKOS relation from the code to the node, as a CURIE.
        node: IRI of the node, or `None` if no node can represent the code.
        regime: type of the code's routing, see `Regime`.
        modifier: ``Not`` if the row negates the relation.
        node_label: the node's label, as written in the row.
        reason: reason for the mapping, if the labels don't make it obvious.
        source: origin of the decision: the paper's table or the curation.
        justification: method of the mapping, as a CURIE of the vocabulary SEMAPV.
        author: last reviewer of the row.
        date: date of the last review (``YYYY-MM-DD``).
        override: reason for keeping the row although its label names another concept.
        confidence: certainty of the mapping from 0 to 1, as stated in the row.
        table: name of the table: ``base``, a profile (``paper``, ``curated``), or another vocabulary.
        place: file and line.
    """

    code: str
    label: str
    predicate: str
    node: str | None
    regime: Regime
    modifier: str = ""
    node_label: str = ""
    reason: str = ""
    source: str = ""
    justification: str = "semapv:ManualMappingCuration"
    author: str = ""
    date: str = ""
    override: str = ""
    confidence: str = ""
    table: str = BASE_TABLE
    place: str = ""

    @property
    def crosswalk(self) -> bool:
        """Whether the code of the row is only exported and never gives a training target."""
        return self.regime is Regime.crosswalk

    @property
    def where(self) -> str:
        """File and line of the row. For a bundle, only the file."""
        name = "routing" if self.table == BASE_TABLE else f"routing.{self.table}"
        name = self.table if self.crosswalk else name
        return self.place or f"{name}.sssom.tsv"


SEMVER = r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}([-+][0-9A-Za-z.+-]+)?"
"""Pattern of a version."""
LOCK_LINE = r"node\t[0-9]{1,9}\t[^\t]+\t[^\t]*\t[^\t]+|edge\t\w+\t[0-9]+\t[0-9]+"
"""Pattern of a line in the frozen enumeration."""


class Lock(FrozenModel):
    """Content of ``enumeration.lock``, which may change only together with the version of the ontology.

    Attributes:
        version: version of the ontology.
        sha256: SHA-256 of `lines`.
        lines: a line per concept and edge.
        yields: indices of the concepts that yield to other findings, see `Concept.yields`.
        routing: SHA-256 of the lines of `yields` and `routes`. "" in bundles and in locks of an earlier
            format.
        routes: a line per row of the routing tables. () in bundles.
        place: name of the lock file, or "".
    """

    version: str
    sha256: str
    lines: tuple[Annotated[str, Field(pattern=f"^({LOCK_LINE})$")], ...]
    yields: tuple[int, ...] = ()
    routing: str = ""
    routes: tuple[str, ...] = ()
    place: str = ""


class TableHead(FrozenModel):
    """Metadata above the rows of a table.

    Attributes:
        version: version of the ontology that the table belongs to, or "".
        slots: other entries of the metadata (SSSOM calls them slots), by name.
        prefixes: prefixes declared in the table's curie_map.
        columns: column names in the header.
    """

    version: str = ""
    slots: dict[str, str] = Field(default_factory=dict)
    prefixes: dict[str, str] = Field(default_factory=dict)
    columns: tuple[str, ...] = ()


class Erratum(FrozenModel):
    """Contradiction within the paper, or between the paper and its sources.

    Attributes:
        id: ``E01``, ``E02``, …
        source: passage in the paper.
        printed: statement of the passage.
        found: contradicting evidence.
        decision: how this ontology resolves the contradiction.
        test: test of the decision, as ``file::function``.
    """

    id: str
    source: str
    printed: str
    found: str
    decision: str
    test: str


class Draft(FrozenModel):
    """Content of the sources.

    Attributes:
        header: metadata of the ontology.
        concepts: the nodes, in index order if they have indices.
        relations: the edges as stated.
        mappings: rows of all routing tables.
        crosswalks: rows for codes of other systems. They are exported but never give a training target.
        official: labels in the official map of the CinC Challenges, by code. The table `BASE_TABLE` must have
            a row for each of these codes.
        abbreviations: abbreviations in the official map, by code.
        lock: content of ``enumeration.lock``, if the sources contain this file.
        errata: contradictions within the paper, or between the paper and its sources.
        statements: foreign statements in the graph, which are preserved.
        misstatements: invalid statements in the graph.
        shapes: the SHACL shapes of the folder, as Turtle.
        tables: metadata above the rows of each table, by file.
        unread: files in the folder that look like tables or graphs but aren't read.
    """

    header: OntologyHeader
    concepts: tuple[DraftConcept, ...]
    relations: tuple[DraftRelation, ...]
    mappings: tuple[RoutingRow, ...] = ()
    crosswalks: tuple[RoutingRow, ...] = ()
    official: dict[str, str] = Field(default_factory=dict)
    abbreviations: dict[str, str] = Field(default_factory=dict)
    lock: Lock | None = None
    errata: tuple[Erratum, ...] = ()
    statements: tuple[ForeignStatement, ...] = ()
    misstatements: tuple[Misstatement, ...] = ()
    shapes: str = ""
    tables: dict[str, TableHead] = Field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def abbreviation(self, iri: str) -> str:
        """Return a name of a concept for messages: its abbreviation, or else the last part of its IRI."""
        concept = self.by_iri.get(iri)
        return (concept and concept.abbr) or iri.rpartition("#")[2].rpartition("/")[2]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a changed copy, with an empty cache for `by_iri` and `families`."""
        copy = super().model_copy(update=update, deep=deep)
        for name in ("by_iri", "families"):
            copy.__dict__.pop(name, None)
        return copy

    @cached_property
    def by_iri(self) -> dict[str, DraftConcept]:
        """Concepts by IRI."""
        return {concept.iri: concept for concept in self.concepts}

    @cached_property
    def families(self) -> dict[str, str]:
        """IRI of the root of each leaf. If a leaf has several roots, the last root is used."""
        return {edge.subject: edge.object for edge in self.relations if edge.kind is Kind.family}
