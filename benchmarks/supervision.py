"""Labels, soft targets and D_tree, each beside the way that its formula reads.

Shapes: B records, N concepts.
"""

import random
from collections.abc import Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import ecg_ontology
from benchmarks.ratio import Effort, Reach, Row, speedups
from ecg_ontology import CodedRecords, Kind, Ontology, Relation
from ecg_ontology.graph.graph import ConceptGraph

RECORDS = 40_721
CONCEPTS = 1000


def from_ids(effort: Effort) -> list[float]:
    """Labels and targets of codes that are numbers already, as a prepared corpus has them."""
    return _targets(effort, factorised=True)


def from_strings(effort: Effort) -> list[float]:
    """Labels and targets of lists of codes."""
    return _targets(effort, factorised=False)


def d_tree(effort: Effort) -> list[float]:
    """All distances of a large graph beside networkx's, written into an array."""
    n = effort.of(CONCEPTS)
    draft = ring_of_families(8, n)

    def ours() -> NDArray[np.signedinteger]:
        return ConceptGraph(n, draft).distances

    def by_networkx() -> NDArray[np.signedinteger]:
        d_NN = np.zeros((n, n), np.int16)
        for start, lengths in nx.all_pairs_shortest_path_length(ConceptGraph(n, draft).networkx):
            for end, length in lengths.items():
                d_NN[start, end] = length
        return d_NN

    assert (ours() == by_networkx()).all()
    return speedups(ours, by_networkx, effort)


def ring_of_families(families: int, n: int) -> list[Relation]:
    """A ring of roots with leaves dealt out to them, and every other pair of neighbours in it joined."""
    edges = [(Kind.ring, i, (i + 1) % families) for i in range(families)]
    edges += [(Kind.family, i, i % families) for i in range(families, n)]
    edges += [(Kind.sibling, i, i + families) for i in range(families, n - families, 2)]
    return [Relation(kind=kind, source=a, target=b) for kind, a, b in edges]


def one_by_one(ontology: Ontology, records: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Supervision as the paper's formulas read: a record at a time, a row of D and a sum."""
    t_BN = np.zeros((len(records), len(ontology)))
    for t_N, codes in zip(t_BN, records, strict=True):
        active = sorted({leaf for code in codes for leaf in ontology.route(code).leaves})
        if active:
            mass_N = np.exp(-ontology.distances[active[-1]].astype(float))
            mass_N[active] = np.maximum(1.0, mass_N[active])
            t_N[:] = mass_N / mass_N.sum()
    return t_BN


def _targets(effort: Effort, *, factorised: bool) -> list[float]:
    ontology = ecg_ontology.load()
    draw = random.Random(0)  # noqa: S311 — a bench, no secret
    codes = list(ontology.official)
    lists = [draw.choices(codes, k=draw.choice((2, 3))) for _ in range(effort.of(RECORDS))]
    records = CodedRecords.of(lists) if factorised else lists

    def ours() -> NDArray[np.float64]:
        return ontology.soft_targets(ontology.leaf_multi_hot(records))

    def loop() -> NDArray[np.float64]:
        return one_by_one(ontology, lists)

    np.testing.assert_allclose(ours(), loop())
    return speedups(ours, loop, effort)


ROWS = (
    Row("targets-from-ids", "y and t from ids", "per-record loop", Reach("≥", 20), "", from_ids),
    Row("targets-from-strings", "y and t from strings", "per-record loop", Reach("≥", 12), "", from_strings),
    Row("d-tree", f"D_tree, {CONCEPTS} concepts", "networkx, all pairs", Reach("≥", 5), "", d_tree),
)
