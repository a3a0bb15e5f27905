"""Define the basic types as frozen models: concepts, relations, routes, findings.

A concept is a node of the graph G = (V, E) in the appendix "Cardiac Concept Graph". A root represents a
clinical family. A leaf represents a finding in this family.
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """Immutable model that rejects unknown fields. It is hashable if its fields are hashable."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


Profile = Literal["paper", "curated"]
"""Assignment of codes to concepts: as printed in the paper, or as decided by the curators."""
Rule = Literal["max-index", "most-specific"]
"""Rule that selects one of a record's leaves as its primary concept c*, the centre of its training target."""


class Tier(StrEnum):
    """Tier of a concept: root or leaf."""

    root = "Root"
    leaf = "Leaf"


class Kind(StrEnum):
    """Kind of an edge. In the graph, an edge of any kind is undirected and has length 1."""

    family = "family"
    """Edge from a leaf to its root."""
    subtype_of = "subtypeOf"
    """Edge from a leaf to a more general leaf (IS_A)."""
    manifestation_of = "manifestationOf"
    """Edge from a sign to the condition that causes it. It isn't IS_A."""
    sibling = "sibling"
    """Edge between two leaves that co-occur or are opposites."""
    ring = "ring"
    """Edge between two roots, in the cycle that joins the families."""

    @property
    def symmetric(self) -> bool:
        """Whether the relation has the same meaning in both directions."""
        return self in (Kind.sibling, Kind.ring)

    @property
    def readings(self) -> tuple[str, str]:
        """Role of an edge's target for its source, and of the source for the target.

        For example, ("family", "member") for the kind `family`.
        """
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
        language: BCP 47 language tag such as ``de``, or "" if the language isn't stated.
    """

    text: str
    language: str = ""


class Concept(FrozenModel):
    """Node of the graph.

    Attributes:
        index: number of the concept, which is its row in the distance matrix and its column in the matrix of
            training labels.
        abbr: abbreviation in the paper's table, such as ``AF``.
        label: English name.
        iri: global name.
        root: True for a family (root), False for a finding (leaf).
        variants: texts that describe the concept to a text encoder, in alphabetical order.
        yields: whether the concept is a finding of a healthy heart. Under the rule ``most-specific``, such a
            concept is the primary concept only of records without another finding.
        translations: names in other languages, ordered by language.
        synonyms: further names in any language.
        definition: definition in English.
        sources: IRIs of published documents that define the concept.
        deprecated: whether the concept is retired. It keeps its index, but no new code is routed to it.
        either_parent: whether the concept is a kind of only one of its parents, but the sources don't state
            which.
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
    """Edge between two concepts, given by index. Symmetric kinds have ``source < target``."""

    kind: Kind
    source: int
    target: int


class Status(StrEnum):
    """Whether a code can be assigned to concepts of the graph."""

    routed = "routed"
    """the code reaches at least one node"""
    unrouted = "unrouted"
    """the code is known, but no node represents it correctly. The notes give the reason"""
    unknown = "unknown"
    """the code is well formed, but no routing table contains it"""
    invalid = "invalid"
    """the code is malformed or has a wrong check digit"""


class Regime(StrEnum):
    """Type of a code's routing, its assignment to concepts (paper, appendix "Code routing").

    A routed code reaches one leaf (`single`), several leaves (`localised`) or only a root (`generic`). The
    other two types are for codes that reach no concept (`unrouted`) and codes that are only exported
    (`crosswalk`).
    """

    single = "single morphology"
    localised = "localised lesion"
    generic = "generic (NOS)"
    unrouted = "unrouted"
    crosswalk = "crosswalk"
    """a code of another system, such as ICD-10, that is exported but never gives a training target"""


class Route(FrozenModel):
    """Route of a code (π in the paper): the concepts that the code reaches.

    Attributes:
        code: the code in the form of the tables: without a prefix for SNOMED CT, with a lower-case prefix for
            other vocabularies.
        status: routed, unrouted, unknown or invalid.
        nodes: indices of the reached nodes in the order of the routing table: leaves, then the root.
        leaves: indices of the reached leaves.
        label: the code's official label, or "".
        notes: explanations and warnings.
    """

    code: str
    status: Status
    nodes: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()
    label: str = ""
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """Return the notebook view: the code, its nodes and its notes."""
        from html import escape

        nodes = ", ".join(f"<b>{node}</b>" if node in self.leaves else str(node) for node in self.nodes)
        cells = (escape(self.code), escape(self.label), self.status.value, nodes or "–")
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        head = "<tr><th>code</th><th>label</th><th>status</th><th>nodes, leaves bold</th></tr>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{head}<tr>{row}</tr></table>{notes}"


class Severity(StrEnum):
    """Severity of a problem that a check found."""

    error = "ERROR"
    """the ontology is wrong: it can't be built, or would give wrong training targets"""
    warn = "WARN"
    """the ontology works, but has a problem that users must know about"""
    info = "INFO"
    """useful information"""


class Finding(FrozenModel):
    """Problem that a check of an ontology found.

    Attributes:
        id: id of the rule, such as ``CCG-E012``.
        severity: ERROR, WARN or INFO.
        subject: the affected concept, code or relation.
        where: file and line, if known.
        message: the problem.
        fix: the remedy.
    """

    id: str
    severity: Severity
    subject: str
    where: str
    message: str
    fix: str

    @property
    def file_and_line(self) -> tuple[str, str]:
        """File and line of the problem. The line is "" if unknown."""
        file, _, line = self.where.rpartition(":")
        return (file, line) if file and line.isdigit() else (self.where, "")
