"""Convert networkx graphs of any domain to drafts, the unchecked content of ontologies.

The top-level concepts of an ontology are families, all others are findings. The families can form a ring, as
in the cardiac graph, or be unconnected. Within a family, any hierarchy is allowed, including findings with
several parents.
"""

import re
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ecg_base import UsageError
from ecg_ontology.graph.concepts import Kind, Name, Tier
from ecg_ontology.graph.drafts import SEMVER, Draft, DraftConcept, DraftRelation, OntologyHeader

if TYPE_CHECKING:
    import networkx as nx

KINDS = {kind.value.casefold(): kind for kind in Kind}
"""Kinds of edge by lower-case name."""
_IS_A = {"", "is_a", "isa", "is a"}


def draft_from_networkx(
    graph: "nx.Graph[Any]", iri: str, *, title: str = "", version: str = "0.1.0", licence: str = ""
) -> Draft:
    """Convert a networkx graph to a draft.

    Nodes become concepts. They may have these attributes:

    - ``abbr``: by default the node as text.
    - ``label``: by default the abbreviation.
    - ``index``: by default roots first, then the order of the nodes.
    - ``iri``: by default ``<iri>#<abbr>``.
    - ``variants`` and ``synonyms``: lists of strings.
    - ``root``: whether the concept is a family. In a directed graph, by default the nodes without a parent
      are families. In an undirected graph, the attribute is required.

    An edge may have the attribute ``kind``: a name of `Kind`, or ``is_a``. In a directed graph, edges without
    a kind are ``is_a`` and point to the parent. In an undirected graph, an edge without a kind joins a
    finding to its family, two families in the ring, or two findings as siblings.

    Args:
        graph: nodes and edges of the ontology.
        iri: IRI of the ontology.
        title: title in a single line. The default is the last part of `iri`.
        version: ``major.minor.patch``.
        licence: IRI of the licence.

    Raises:
        UsageError: `iri`, `version`, or an attribute of a node or an edge is invalid.
    """
    if not re.match(r"[A-Za-z][\w+.-]*:\S+$", iri):
        raise UsageError(
            f"the name of the ontology must be an IRI, got {iri!r}",
            remedy="Choose an IRI such as https://example.org/lung",
        )
    if not re.fullmatch(SEMVER, version):
        raise UsageError(f"a version must have three numbers such as 1.2.0, got {version!r}")
    above = {node: list(_above(graph, node)) for node in graph}
    roots = [node for node, data in graph.nodes(data=True) if _is_root(graph, node, data, above)]
    order = {node: rank for rank, node in enumerate([*roots, *(n for n in graph if n not in set(roots))])}
    tiers = {node: Tier.root if node in set(roots) else Tier.leaf for node in graph}
    concepts = {node: _concept(node, graph.nodes[node], iri, tiers[node], order[node]) for node in graph}
    title = title or iri.rstrip("/#").rpartition("/")[2]
    header = OntologyHeader(
        iri=iri, version=version, title=title, licence=licence, creators=(), provenance=()
    )
    edges = dict.fromkeys(_edges(graph, above, roots))
    relations = tuple(
        DraftRelation(kind=kind, subject=concepts[a].iri, object=concepts[b].iri) for kind, a, b in edges
    )
    by_index = sorted(concepts.values(), key=lambda concept: (concept.index or 0, concept.iri))
    return Draft(header=header, concepts=tuple(by_index), relations=relations)


def _kind(data: dict[str, Any]) -> Kind | None:
    """Return the kind of an edge. `None` stands for ``is_a`` or for an edge without a kind."""
    name = str(data.get("kind", "")).casefold()
    if name in _IS_A:
        return None
    if name not in KINDS:
        names = ", ".join(("is_a", *(kind.value for kind in Kind)))
        raise UsageError(f"unknown kind of relation {data['kind']!r}", remedy=f"Choose from {names}")
    return KINDS[name]


def _above(graph: "nx.Graph[Any]", node: Hashable) -> Iterator[Hashable]:
    """Yield the parents of a node in a directed graph: its family and the concepts that it is a kind of."""
    if graph.is_directed():
        for _, parent, data in graph.out_edges(node, data=True):
            if _kind(data) in (None, Kind.family, Kind.subtype_of):
                yield parent


def _is_root(
    graph: "nx.Graph[Any]", node: Hashable, data: dict[str, Any], above: dict[Any, list[Any]]
) -> bool:
    if "root" not in data and not graph.is_directed():
        problem = f"the node {node!r} must have the attribute root, because the graph is undirected"
        remedy = "Set root=True or root=False for every node, or use a DiGraph"
        raise UsageError(problem, remedy=remedy)
    return bool(data.get("root", not above[node]))


def _concept(node: Hashable, data: dict[str, Any], iri: str, tier: Tier, rank: int) -> DraftConcept:
    abbr = str(data.get("abbr", node))
    index = data.get("index", rank)
    if isinstance(index, bool) or not isinstance(index, int):
        raise UsageError(f"the index of node {node!r} must be a whole number from 0, got {index!r}")
    return DraftConcept(
        iri=str(data.get("iri") or f"{iri}#{quote(abbr, safe='')}"),
        index=index,
        abbr=abbr,
        label=str(data.get("label") or abbr),
        tier=tier,
        variants=_texts(node, data, "variants"),
        synonyms=tuple(Name(text=str(text), language="en") for text in _texts(node, data, "synonyms")),
    )


def _texts(node: Hashable, data: dict[str, Any], name: str) -> tuple[str, ...]:
    texts = data.get(name, ())
    if isinstance(texts, str):
        problem = f"{name} of the node {node!r} must be a list, got a string"
        raise UsageError(problem, remedy="Give a list of strings")
    return tuple(sorted(map(str, texts)))


def _edges(
    graph: "nx.Graph[Any]", above: dict[Any, list[Any]], roots: list[Any]
) -> Iterator[tuple[Kind, Any, Any]]:
    tops = set(roots)
    for a, b, data in graph.edges(data=True):
        kind = _kind(data)
        if kind is None and graph.is_directed():
            kind = Kind.family if b in tops else Kind.subtype_of
        elif kind is None:
            kind = (Kind.sibling, Kind.family, Kind.ring)[(a in tops) + (b in tops)]
        if kind is Kind.family and a in tops and not graph.is_directed():
            a, b = b, a  # noqa: PLW2901 - an undirected edge may list the root first
        yield kind, a, b
        if kind.symmetric:
            yield kind, b, a
    import networkx as nx

    hierarchy = nx.DiGraph(above)
    for node in graph:  # a subtype belongs to the family of its parents
        if node not in tops:
            over = nx.descendants(hierarchy, node)
            yield from ((Kind.family, node, root) for root in roots if root in over)
