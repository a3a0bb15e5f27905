"""Basic types as frozen models: concepts, relations, routes, findings.

A concept is a node of the graph G = (V, E) of the appendix "Cardiac Concept Graph"; a root stands for
a clinical family, a leaf for one finding inside it.
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """Immutable model, hashable if its fields are, that refuses misspelt fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


Profile = Literal["paper", "curated"]
"""Which routing holds: as the paper prints it, or as the curators decided."""
Rule = Literal["max-index", "most-specific"]
"""How c* is chosen."""


class Tier(StrEnum):
    """Tier of a concept: root or leaf."""

    root = "Root"
    leaf = "Leaf"


class Kind(StrEnum):
    """Kind of an edge. All kinds count as one undirected edge of length 1."""

    family = "family"
    """leaf → its root"""
    subtype_of = "subtypeOf"
    """leaf → the more general leaf (IS_A)"""
    manifestation_of = "manifestationOf"
    """leaf → the condition that it shows; no IS_A, so index order says nothing about the two"""
    sibling = "sibling"
    """leaf – leaf: clinically co-occurring or opposed concepts of one level"""
    ring = "ring"
    """root – root: the cycle that joins the families"""

    @property
    def symmetric(self) -> bool:
        """Whether the relation reads the same from both ends."""
        return self in (Kind.sibling, Kind.ring)

    @property
    def readings(self) -> tuple[str, str]:
        """Return the far end's role for the near one, from the edge's source and from its target."""
        return _READINGS[self]


_READINGS = {
    Kind.family: ("family", "member"),
    Kind.subtype_of: ("subtype of", "subtype"),
    Kind.manifestation_of: ("manifestation of", "manifestation"),
    Kind.sibling: ("sibling", "sibling"),
    Kind.ring: ("next family", "next family"),
}


class Name(FrozenModel):
    """Text in a language: a label or a synonym.

    Attributes:
        text: the text.
        language: its language as in BCP 47, such as ``de``; "" where none is stated.
    """

    text: str
    language: str = ""


class Concept(FrozenModel):
    """Node of the graph.

    Attributes:
        index: its place in the frozen enumeration; row of D, column of y.
        abbr: the abbreviation of the paper's table, such as ``AF``.
        label: its English name.
        iri: its global name.
        root: whether it is a family (root) rather than a finding (leaf).
        variants: the texts that describe it to a text encoder, in alphabetical order.
        yields: a finding of the healthy heart that gives way to any other leaf under the rule
            ``most-specific``.
        translations: its name in other languages, by language.
        synonyms: what else it is called, in any language.
        definition: what it means, in English.
        sources: the published documents that it is defined by, as IRIs.
        deprecated: retired: it keeps its index, and no new code goes to it.
        either_parent: a kind of one of its parents, and it isn't stated of which.
    """

    index: int
    abbr: str
    label: str
    iri: str
    root: bool
    variants: tuple[str, ...] = ()
    yields: bool = False
    translations: tuple[Name, ...] = ()
    synonyms: tuple[Name, ...] = ()
    definition: str = ""
    sources: tuple[str, ...] = ()
    deprecated: bool = False
    either_parent: bool = False


class Relation(FrozenModel):
    """Edge, by the indices of its ends. Symmetric kinds have ``source < target``."""

    kind: Kind
    source: int
    target: int


class Status(StrEnum):
    """Routing status of a code."""

    routed = "routed"
    """it reaches at least one node"""
    unrouted = "unrouted"
    """it is known, and no node can honestly carry it; the notes say why"""
    unknown = "unknown"
    """well formed, but in no routing table"""
    invalid = "invalid"
    """no code at all: malformed, or its check digit does not fit"""


class Regime(StrEnum):
    """Regime of π in the appendix, "Code routing": three for routed codes, and one outside."""

    single = "single morphology"
    localised = "localised lesion"
    generic = "generic (NOS)"
    unrouted = "unrouted"
    crosswalk = "crosswalk"
    """exported and never supervised: a code of another system, such as ICD-10"""


class Route(FrozenModel):
    """Route π of one code.

    Attributes:
        code: the code as tables write it: SNOMED CT without a prefix, other vocabularies in small letters.
        status: routed, unrouted, unknown or invalid.
        nodes: indices of the nodes it reaches, in the order of the routing table: leaves, then the root.
        leaves: those of them that are leaves.
        label: the code's official label, or "".
        notes: what a reader of the answer should know.
    """

    code: str
    status: Status
    nodes: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()
    label: str = ""
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """What a notebook shows: the code, where it goes, and what should be known of it."""
        from html import escape

        nodes = ", ".join(f"<b>{node}</b>" if node in self.leaves else str(node) for node in self.nodes)
        cells = (escape(self.code), escape(self.label), self.status.value, nodes or "–")
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        head = "<tr><th>code</th><th>label</th><th>status</th><th>nodes, leaves bold</th></tr>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{head}<tr>{row}</tr></table>{notes}"


class Severity(StrEnum):
    """Severity of a finding."""

    error = "ERROR"
    """the ontology is wrong: it can't be built, or would supervise wrongly"""
    warn = "WARN"
    """it works, and a reader must know"""
    info = "INFO"
    """worth knowing"""


class Finding(FrozenModel):
    """Finding of a check.

    Attributes:
        id: the rule, such as ``CCG-E012``.
        severity: ERROR, WARN or INFO.
        subject: the concept, code or relation concerned.
        where: file and line, as far as they are known.
        message: what is wrong.
        fix: what to do.
    """

    id: str
    severity: Severity
    subject: str
    where: str
    message: str
    fix: str

    @property
    def file_and_line(self) -> tuple[str, str]:
        """File and line of the finding; the line is "" if unknown."""
        file, _, line = self.where.rpartition(":")
        return (file, line) if file and line.isdigit() else (self.where, "")
