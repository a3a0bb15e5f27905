"""Draft of an ontology: the content of its files, unchecked.

A draft can hold every mistake that a source can hold: an index twice, an edge to nowhere, a code
that contradicts itself. The checks read drafts; `Ontology` is built from a draft without errors. The bundle
``ccg.json`` is a draft written as JSON, so whatever is loaded passes through the same door.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import Field

from ecg_ontology.graph.concepts import FrozenModel, Kind, Name, Regime, Tier

BASE_TABLE = "base"
"""The routing table that every profile starts from; a table of a profile's name replaces rows of it."""


class OntologyHeader(FrozenModel):
    """Metadata of the ontology.

    Attributes:
        iri: the ontology's name; its concepts are named ``<iri>#<abbr>``.
        version: ``major.minor.patch``; the enumeration is frozen within a major version.
        title: one line.
        licence: IRI of the licence.
        creators: who made it.
        provenance: where its content comes from.
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
    """Stated concept; `None` and "" mean that the source has no value."""

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
    """Preserved statement without a field in a draft: three terms in N-Triples."""

    subject: str
    predicate: str
    object: str


MISSTATED_INDEX = "has the ccg:index"
"""How the problem of an index begins that is stated, and isn't a whole number."""


class Misstatement(FrozenModel):
    """Impossible statement of a source: two labels of one language, a truth value "yes"."""

    subject: str
    problem: str
    place: str = ""


class DraftRelation(FrozenModel):
    """Statement ``subject kind object``; symmetric kinds are stated from both ends."""

    kind: Kind
    subject: str
    object: str
    place: str = ""


class RoutingRow(FrozenModel):
    """Row of a routing table: one code and one node.

    Attributes:
        code: SNOMED CT identifier, or ``vocabulary:code``.
        predicate: SKOS relation from the code to the node, as a CURIE.
        node: IRI of the node, or `None` when no node can carry the code.
        regime: the appendix's regime of the code.
        modifier: ``Not`` where the row denies what it says.
        node_label: the node's label as the row has it.
        reason: why, where the labels alone don't say it.
        source: who decided: the paper's table or the curation.
        justification: how the mapping was made, as a CURIE of the vocabulary SEMAPV.
        author: who reviewed the row last, at `date` (``YYYY-MM-DD``).
        override: why the row stands although its label says another concept.
        confidence: how sure the mapping is, 0 … 1, as stated.
        table: the table's name: ``base``, a profile (``paper``, ``curated``), or a further vocabulary.
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
        """Whether the row is for export only and never supervises."""
        return self.regime is Regime.crosswalk

    @property
    def where(self) -> str:
        """File and line of the row; the file alone for a bundle."""
        name = "routing" if self.table == BASE_TABLE else f"routing.{self.table}"
        name = self.table if self.crosswalk else name
        return self.place or f"{name}.sssom.tsv"


SEMVER = r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}([-+][0-9A-Za-z.+-]+)?"
"""What a version looks like."""
LOCK_LINE = r"node\t[0-9]{1,9}\t[^\t]+\t[^\t]*\t[^\t]+|edge\t\w+\t[0-9]+\t[0-9]+"
"""What a line of the frozen enumeration looks like."""


class Lock(FrozenModel):
    """Frozen content of a version, from ``enumeration.lock``.

    Attributes:
        sha256: that of the node and edge `lines`.
        yields: indices of the concepts that yield under the rule ``most-specific``.
        routing: SHA-256 of the lines of `yields` and `routes`; "" in a bundle, or a lock of an earlier form.
        routes: a line per row that supervises; () in a bundle.
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
        version: the ontology's version that it was built for; "" where it states none.
        slots: its other metadata.
        prefixes: what it declares in its curie_map.
        columns: the names in its header.
    """

    version: str = ""
    slots: dict[str, str] = Field(default_factory=dict)
    prefixes: dict[str, str] = Field(default_factory=dict)
    columns: tuple[str, ...] = ()


class Erratum(FrozenModel):
    """Contradiction within the paper, or between the paper and its sources.

    Attributes:
        id: ``E01``, ``E02``, …
        source: where in the paper.
        printed: what it says.
        found: what contradicts it.
        decision: what is done here.
        test: the test that holds the decision, as ``file::function``.
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
        header: the ontology's own description.
        concepts: the nodes, in the order of their indices where they have any.
        relations: the edges as stated.
        mappings: the rows of all routing tables.
        crosswalks: codes of other systems, which are exported and never supervise.
        official: label of every code of the official map that the base table must cover.
        abbreviations: its abbreviation, for those codes that have one.
        lock: the frozen enumeration, where the sources bring one.
        errata: what the paper the graph comes from contradicts.
        statements: what the graph states besides.
        misstatements: what it states and can't mean.
        shapes: the folder's SHACL shapes, as Turtle.
        tables: what stands above the rows of each table, by file.
        unread: files of the folder that look like tables or graphs and aren't read.
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
        """Return a concept's name for messages: its abbreviation, or its local name."""
        concept = self.by_iri.get(iri)
        return (concept and concept.abbr) or iri.rpartition("#")[2].rpartition("/")[2]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a changed copy, without the original's cached lookups."""
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
        """IRI of each leaf's root, the last of several."""
        return {edge.subject: edge.object for edge in self.relations if edge.kind is Kind.family}
