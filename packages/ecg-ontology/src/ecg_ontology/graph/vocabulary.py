"""Define the vocabulary: the numbered concepts and edges that a checkpoint depends on.

A root is a concept that represents a family. The other concepts are leaves, which represent findings.

NumPy and networkx are imported on first use.

Shapes: N concepts.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from ecg_ontology.base.errors import UnknownConceptError
from ecg_ontology.graph import enumeration
from ecg_ontology.graph.concepts import Concept, Kind, Relation
from ecg_ontology.graph.hierarchy import IS_A, reachable, steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ecg_ontology.graph.graph import ConceptGraph


_LONGEST = 10
"""Number of digits from which a number can't be an index."""


class Vocabulary:
    """Concepts in the order of their indices, and the edges between them.

    Attributes:
        nodes: the N concepts in the order of their indices.
        relations: the edges, without duplicates.

    Example:
        >>> import ecg_ontology
        >>> onto = ecg_ontology.load()
        >>> onto["AntMI"] is onto.node("anterior MI") is onto.node(25) is onto.nodes[25]
        True
        >>> "AF" in onto, "Atrial fibrillation" in onto, "AFF" in onto, [node.abbr for node in onto][:2]
        (True, True, False, ['Normal', 'Rhythm'])
        >>> onto.nodes[5], onto.relations[0]
        (Concept(index=5, abbr='AF', ...), Relation(kind=<Kind.family: 'family'>, source=5, target=1))
        >>> onto.roots, len(onto.leaves), onto.families[4:8], onto.by_family[:5]
        ((0, 1, 2, 3, 4), 35, (4, 1, 1, 1), (0, 34, 35, 36, 1))
        >>> [concept.abbr for concept in onto.ancestors("AntMI") + onto.descendants("AMI")]
        ['Ischemic', 'AMI', 'OMI', 'AntMI', 'InfMI']
        >>> [(concept.abbr, relation) for concept, relation in onto.neighbours("LAFB")]
        [('Conduction', 'family')]
        >>> int(onto.distances[25, 24]), onto.graph.path(25, 20), int(onto.adjacency.sum()) // 2
        (2, [25, 20], 57)
        >>> print(f"{onto.a_hat.trace():.4f}", onto.enumeration[5].split()[:4], len(onto.sha256))
        13.6417 ['node', '5', 'Leaf', 'AF'] 64
        >>> onto.difference(ecg_ontology.load(profile="curated"))
        ()
    """

    def __init__(self, nodes: tuple[Concept, ...], relations: tuple[Relation, ...]) -> None:
        self.nodes = nodes
        self.relations = relations
        self._by_abbr = {node.abbr: node for node in nodes}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the vocabulary itself, because it is immutable. Copies of a model share it."""
        return self

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Concept]:
        return iter(self.nodes)

    def __getitem__(self, name: int | str) -> Concept:
        return self.node(name)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, Concept):
            return name in self.nodes
        try:
            return isinstance(name, int | str) and bool(self.node(name))
        except UnknownConceptError:
            return False

    # --- the enumeration

    @cached_property
    def enumeration(self) -> tuple[str, ...]:
        """Lines that a checkpoint depends on: nodes with index, tier, abbreviation and IRI, then edges."""
        return enumeration.enumeration_lines(self.nodes, self.relations)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the enumeration, by which a checkpoint recognises the ontology that it was trained with.

        The hash covers the index, tier, abbreviation and IRI of every concept, and the kind and ends of every
        edge. It excludes labels, text variants, routing and version, so checkpoints stay valid if these are
        corrected.
        """
        return enumeration.sha256_of(self.enumeration)

    def difference(self, other: "Vocabulary") -> tuple[str, ...]:
        """Return the lines of the enumeration that `other` removes or adds, or () if the sha256 is equal.

        Args:
            other: vocabulary to compare with.
        """
        return enumeration.enumeration_difference(self.enumeration, other.enumeration)

    # --- the graph

    @cached_property
    def graph(self) -> "ConceptGraph":
        """Graph without edge kinds: matrices, shortest paths, and a `networkx.Graph`."""
        from ecg_ontology.graph.graph import ConceptGraph

        return ConceptGraph(len(self), self.relations)

    @property
    def distances(self) -> "NDArray[np.signedinteger]":
        """Distances D_tree, int8[N, N] (int16 above 127): number of edges on a shortest path."""
        return self.graph.distances

    @property
    def adjacency(self) -> "NDArray[np.uint8]":
        """Adjacency A, uint8[N, N], with values 0 and 1, symmetric and without self-loops."""
        return self.graph.adjacency

    @property
    def a_hat(self) -> "NDArray[np.float64]":
        """Normalised adjacency Â = D^-1/2 (A + I) D^-1/2, float64[N, N]."""
        return self.graph.a_hat

    @property
    def roots(self) -> tuple[int, ...]:
        """Indices of the roots, which represent families."""
        return tuple(node.index for node in self.nodes if node.root)

    @property
    def leaves(self) -> tuple[int, ...]:
        """Indices of the leaves, which represent findings."""
        return tuple(node.index for node in self.nodes if not node.root)

    @cached_property
    def families(self) -> tuple[int, ...]:
        """Index of the root of each concept. The family of a root is the root itself."""
        family = {edge.source: edge.target for edge in self.relations if edge.kind is Kind.family}
        return tuple(family.get(index, index) for index in range(len(self)))

    @property
    def by_family(self) -> tuple[int, ...]:
        """Indices of the concepts, grouped by family. Each root precedes its leaves."""
        order = sorted((self.families[node.index], not node.root, node.index) for node in self.nodes)
        return tuple(index for *_, index in order)

    def node(self, name: int | str) -> Concept:
        """Return a concept by index, abbreviation, label or synonym. ``onto[name]`` is equivalent.

        Args:
            name: for example 25 or "AntMI". Case and accents of labels are ignored.

        Raises:
            UnknownConceptError: no concept has this name, or several concepts have this label or synonym.
        """
        if isinstance(name, str) and name in self._by_abbr:
            return self._by_abbr[name]
        if str(name).isdecimal() and len(str(name)) < _LONGEST and int(name) < len(self):
            return self.nodes[int(name)]
        if isinstance(name, str) and (found := self._concept_named(name)) is not None:
            return found
        problem = f"no concept has the index, abbreviation or name {str(name)[:60]!r}"
        raise UnknownConceptError(problem, remedy=self._advice(str(name)))

    def _concept_named(self, name: str) -> Concept | None:
        from ecg_ontology.base.text_folding import fold

        return self._by_name.get(fold(name))

    @cached_property
    def _by_name(self) -> dict[str, Concept]:
        """Concepts by label and synonym, without names that belong to two concepts."""
        from ecg_ontology.base.text_folding import fold

        owners: dict[str, set[int]] = {}
        for node in self.nodes:
            for text in (node.label, *(name.text for name in (*node.translations, *node.synonyms))):
                owners.setdefault(fold(text), set()).add(node.index)
        single = {text: min(indices) for text, indices in owners.items() if text and len(indices) == 1}
        return {text: self.nodes[index] for text, index in single.items()}

    def _advice(self, name: str) -> str:
        from ecg_ontology.base.text_folding import nearest

        similar = nearest(name, [text for node in self.nodes for text in (node.abbr, node.label)])
        if similar:
            return "Did you mean " + " or ".join(similar) + "?"
        return f"Indices run from 0 to {len(self) - 1}. `ecgonto show` lists the abbreviations"

    def neighbours(self, name: int | str) -> tuple[tuple[Concept, str], ...]:
        """Return the adjacent concepts with their roles, such as "family" or "subtype".

        Two edges to the same concept give two entries.

        Args:
            name: see `node`.

        Raises:
            UnknownConceptError: no concept has this name.
        """
        return self._neighbours.get(self.node(name).index, ())

    @cached_property
    def _neighbours(self) -> dict[int, tuple[tuple[Concept, str], ...]]:
        adjacent: dict[int, list[tuple[Concept, str]]] = {}
        for edge in self.relations:
            outward, inward = edge.kind.readings
            adjacent.setdefault(edge.source, []).append((self.nodes[edge.target], outward))
            if edge.target != edge.source:
                adjacent.setdefault(edge.target, []).append((self.nodes[edge.source], inward))
        return {index: tuple(neighbours) for index, neighbours in adjacent.items()}

    def ancestors(self, name: int | str) -> tuple[Concept, ...]:
        """Return all more general concepts by `subtypeOf` and `family`, nearest first.

        Args:
            name: see `node`.
        """
        return tuple(self.nodes[index] for index in reachable([self.node(name).index], self._upwards)[1:])

    @cached_property
    def _upwards(self) -> dict[int, list[int]]:
        return steps((edge.source, edge.target) for edge in self.relations if edge.kind in IS_A)

    def descendants(self, name: int | str) -> tuple[Concept, ...]:
        """Return all more specific concepts by `family` and `subtypeOf`, nearest first.

        Manifestations aren't included. For example, ST elevation is a manifestation of ischaemia, but not a
        kind of ischaemia.

        Args:
            name: see `node`.
        """
        downwards = steps((edge.target, edge.source) for edge in self.relations if edge.kind in IS_A)
        return tuple(self.nodes[index] for index in reachable([self.node(name).index], downwards)[1:])
