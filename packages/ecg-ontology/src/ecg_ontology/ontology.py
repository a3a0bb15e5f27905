"""Define the ontology: concepts and edges, routing of codes to concepts, and training targets of records.

The targets of a record are the 0/1 vector y of its leaves (concepts of findings), its primary concept c* (one
of these leaves), and its soft target, a distribution over all concepts around c*.

NumPy, networkx and the checks are imported on first use, because routing a code doesn't need them.

Shapes: B records, N concepts.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecg_base import optional, refuse_unmarked, write_text
from ecg_ontology.formats.bundle import BUNDLE_MARK, bundle_sha256, bundle_text
from ecg_ontology.graph.concepts import Profile, Route, Rule, Status
from ecg_ontology.graph.drafts import Draft, OntologyHeader, RoutingRow
from ecg_ontology.graph.enumeration import draft_nodes, draft_relations
from ecg_ontology.graph.routing import RoutingTable
from ecg_ontology.graph.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx as nx
    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from ecg_ontology.graph.coded_records import CodedRecords


class Ontology(Vocabulary):
    """Concept graph with the routing table that assigns codes to its concepts.

    Load an ontology with `ecg_ontology.load`. Ontologies are immutable.

    Attributes:
        header: name, version, licence and provenance.
        draft: content of the sources, including the tables of both profiles.
        profile: ``paper`` or ``curated``, see `ecg_ontology.load`.
        nodes: the N concepts in the order of their indices.
        relations: the edges, without duplicates.

    Args:
        draft: content of the sources.
        profile: see `ecg_ontology.load`.
        where: name of the source in error messages.
        checked: whether the draft is known to be valid, so that the checks can be skipped.

    Raises:
        SourceError: the draft breaks a structural rule. The message reports the first violation.
        UsageError: the profile is unknown.

    Example:
        >>> import ecg_ontology, tempfile
        >>> onto = ecg_ontology.load()
        >>> onto
        <Ontology Cardiac concept graph 1.2.0: 40 concepts, ...>
        >>> onto.route("164889003")
        Route(code='164889003', status=<Status.routed: 'routed'>, nodes=(5, 1), leaves=(5,), ...)
        >>> [route.leaves for route in onto.routes(["164889003", "6374002"])]
        [(5,), ()]
        >>> onto.status_counts(["164889003", "STE"])[ecg_ontology.Status.invalid]
        1
        >>> len(onto.official), "scp:NORM" in onto.codes
        (133, True)
        >>> [row.predicate for row in onto.rows if row.code == "426177001"]
        ['skos:exactMatch', 'skos:broadMatch']
        >>> y = onto.leaf_multi_hot([["54329005"], ["6374002"]])
        >>> y[0].nonzero()[0].tolist(), onto.primary(y).tolist()
        ([19, 25], [25, -1])
        >>> t = onto.soft_targets(y)
        >>> bool(t[0, 25] == t[0, 19] > t[0, 24])
        True
        >>> path = Path(tempfile.mkdtemp()) / "ontology.json"
        >>> onto.save(path)
        >>> ecg_ontology.load(path, profile="curated").bundle_sha256 == onto.bundle_sha256
        True
    """

    def __init__(
        self, draft: Draft, profile: Profile = "paper", *, where: object = "", checked: bool = False
    ) -> None:
        if not checked:
            from ecg_ontology.checks import refuse_unsound  # packaged bundles don't need the checks

            refuse_unsound(draft, where)
        super().__init__(draft_nodes(draft), draft_relations(draft))
        self.draft = draft
        self.header: OntologyHeader = draft.header
        self.profile = profile
        self._routing = RoutingTable(draft.mappings, self.nodes, profile, draft.crosswalks)

    def __eq__(self, other: object) -> bool:
        """Return whether the profile, the content and the tables of all profiles are equal."""
        if not isinstance(other, Ontology):
            return NotImplemented
        same = self.profile == other.profile and self.sha256 == other.sha256
        return self is other or (same and self.bundle_sha256 == other.bundle_sha256)

    def __hash__(self) -> int:
        return hash((self.sha256, self.profile))

    def __repr__(self) -> str:
        return (
            f"<Ontology {self.header.title} {self.header.version}: {len(self)} concepts, {self.sha256[:12]}>"
        )

    @classmethod
    def from_networkx(cls, graph: "nx.Graph[Any]", iri: str, **about: str) -> "Ontology":
        """Build an ontology of any domain from a networkx graph.

        Args:
            graph: see `formats.from_networkx.draft_from_networkx`. Directed edges point to the more general
                node.
            iri: IRI of the ontology.
            about: ``title``, ``version`` and ``licence``.

        Raises:
            SourceError: the graph breaks a structural rule.
            UsageError: an attribute of a node or an edge is invalid.

        Example:
            >>> import ecg_ontology, networkx
            >>> lung = networkx.DiGraph([("COPD", "Airway"), ("Asthma", "Airway"), ("Pneumonia", "Tissue")])
            >>> onto = ecg_ontology.Ontology.from_networkx(lung, "https://example.org/lung")
            >>> onto.distances[onto.node("COPD").index].tolist()
            [1, 3, 0, 2, 3]
        """
        from ecg_ontology.formats.from_networkx import draft_from_networkx

        return cls(draft_from_networkx(graph, iri, **about), where=iri)

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas table with a row per concept, including its family and its codes.

        Raises:
            UsageError: pandas is not installed.

        Example:
            >>> import ecg_ontology
            >>> ecg_ontology.load().to_frame().loc[5, ["abbr", "label", "family"]].tolist()
            ['AF', 'Atrial fibrillation', 'Rhythm']
        """
        pandas = optional("pandas", "a table needs pandas", "pip install pandas")
        codes: dict[int, list[str]] = {}
        for route in self.routes(self.codes):
            for index in route.leaves or route.nodes:
                codes.setdefault(index, []).append(route.code)
        rows = [
            {
                **node.model_dump(include={"index", "abbr", "label", "root", "definition", "iri"}),
                "family": self.nodes[self.families[node.index]].abbr,
                "codes": codes.get(node.index, []),
            }
            for node in self.nodes
        ]
        return pandas.DataFrame(rows).set_index("index")

    def _repr_html_(self) -> str:
        """Return the notebook view: a row per family, with the labels of its findings as tooltips."""
        from html import escape

        findings: dict[int, list[str]] = {root: [] for root in self.roots}
        for leaf in self.leaves:
            node = self.nodes[leaf]
            name = f'<span title="{escape(node.label)}">{escape(node.abbr)}</span>'
            findings[self.families[leaf]].append(name)
        row = "<tr><th>{}</th><td>{}</td></tr>".format
        rows = [row(escape(self.nodes[root].label), ", ".join(names)) for root, names in findings.items()]
        return f"<p>{escape(repr(self)[1:-1])}</p><table>{''.join(rows)}</table>"

    def save(self, path: str | Path) -> None:
        """Write the ontology with all its routing to a JSON bundle that `ecg_ontology.load` can read.

        Run folders contain such a bundle as ``ontology.json``. If a checkpoint doesn't fit an ontology,
        compare the bundle with the ontology to see the difference.

        Args:
            path: the output file. An existing bundle is replaced.

        Raises:
            OutputError: the file can't be written.
            UsageError: the path exists and isn't a bundle.
        """
        refuse_unmarked(Path(path), BUNDLE_MARK)
        write_text(path, bundle_text(self.draft))

    @cached_property
    def bundle_sha256(self) -> str:
        """SHA-256 of the content that `save` writes, including labels, texts, flags and all routing.

        Ontologies with equal `sha256` can share checkpoints. Ontologies with equal `bundle_sha256` have the
        same content, but may be loaded with different profiles.
        """
        return bundle_sha256(self.draft)

    # --- routing

    @property
    def codes(self) -> tuple[str, ...]:
        """All codes in the routing tables, including unrouted codes."""
        return self._routing.codes

    @property
    def rows(self) -> tuple[RoutingRow, ...]:
        """Rows of the routing tables that apply in the profile of this ontology, grouped by code."""
        return self._routing.rows

    @property
    def official(self) -> dict[str, str]:
        """Labels in the official code map of the CinC Challenges, by code. The map has 133 codes."""
        return dict(self.draft.official)

    def route(self, code: str | int) -> Route:
        """Return the route π of a code: the concepts that it reaches.

        An unknown or invalid code raises no error. The status of the route shows the problem.

        Args:
            code: SNOMED CT code as text or integer, or a code with a prefix such as ``scp:NORM``.

        Raises:
            UsageError: `code` is neither text nor an integer.
        """
        return self._routing.route(code)

    def routes(self, codes: Iterable[str | int]) -> tuple[Route, ...]:
        """Return the route π of each code.

        Args:
            codes: see `route`.
        """
        return tuple(self.route(code) for code in codes)

    def status_counts(self, codes: Iterable[str | int]) -> dict[Status, int]:
        """Return the number of codes for each status. Repeated codes are counted each time.

        Args:
            codes: see `route`.
        """
        statuses = [self.route(code).status for code in codes]
        return {status: statuses.count(status) for status in Status}

    # --- targets

    def leaf_multi_hot(
        self, records: "Sequence[Sequence[str | int]] | CodedRecords", strict: bool | None = False
    ) -> "NDArray[np.uint8]":
        """Return the 0/1 matrix y, uint8[B, N], with the leaves (findings) of B records.

        Columns of roots (families) are always 0 (paper, "Parent-node filtering"). Codes that reach no leaf
        are ignored.

        Args:
            records: a list of codes for each of the B records, or the records as `CodedRecords`.
            strict: whether unknown or malformed codes raise an error (`True`), log a warning (`False`), or
                are ignored silently (`None`).

        Raises:
            UsageError: a record isn't a list of codes, or `strict` is true and a code is unknown or
                malformed.
        """
        from ecg_ontology.graph import targets
        from ecg_ontology.graph.coded_records import CodedRecords, mention_strange

        coded = records if isinstance(records, CodedRecords) else CodedRecords.of(records)
        if strict is not None:
            mention_strange(self.routes(coded.vocabulary), strict)
        return targets.multi_hot(coded, [self.route(code).leaves for code in coded.vocabulary], len(self))

    def primary(self, y: "ArrayLike", rule: Rule = "max-index") -> "NDArray[np.int64]":
        """Return the primary concept c* of each record, int64[B], or −1 if the record has no leaf.

        The soft target of a record is centred on its primary concept.

        Args:
            y: result of `leaf_multi_hot`, [B, N].
            rule: rule that selects c* from the leaves of the record. ``max-index`` selects the highest index,
                as in the paper. ``most-specific`` selects the leaf with the longest path to more general
                leaves, and normal sinus rhythm only if there is no other leaf.

        Raises:
            UsageError: the rule is unknown, or `y` isn't [B, N], has values other than 0 and 1, or has a 1 in
                the column of a family.
        """
        from ecg_ontology.graph import targets

        active_BN = targets.active_leaves(y, self.nodes)
        return targets.primary(active_BN, targets.ranking(self.nodes, self.relations, rule))

    def soft_targets(
        self, y: "ArrayLike", sigma: float = 1.0, rule: Rule = "max-index"
    ) -> "NDArray[np.float64]":
        """Return the clamped soft targets, float64[B, N].

        The row of a record is a distribution over all concepts that decreases with the distance to the
        record's primary concept c*. Clamped means that all leaves of the record get the same mass as c*. The
        row of a record without a leaf is zero.

        Args:
            y: result of `leaf_multi_hot`, [B, N].
            sigma: temperature in edges, above 0. A concept at distance d from c* gets exp(-d / sigma) times
                the mass of c*, unless it is a leaf of the record.
            rule: rule that selects c*, see `primary`.

        Raises:
            UsageError: `sigma` is not positive, the rule is unknown, or `y` is invalid (see `primary`).
        """
        from ecg_ontology.graph import targets

        active_BN = targets.active_leaves(y, self.nodes)
        c_star_B = targets.primary(active_BN, targets.ranking(self.nodes, self.relations, rule))
        return targets.soft_targets(active_BN, c_star_B, self.distances, sigma)
