"""What a revision changes in supervision: nodes, edges, distances, routes, targets of codes and records.

Two revisions are compared by the IRIs of their concepts, so a renumbering shows as such.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ecg_ontology.concepts import Concept, Frozen, Rule
from ecg_ontology.corpora import CorpusCodes
from ecg_ontology.ontology import Ontology

TOLERANCE = 1e-12
"""Targets closer than this in total variation are the same: both are sums of the same exponentials."""


class MovedPair(Frozen):
    """Two concepts whose distance changed."""

    a: str
    b: str
    old: int
    new: int
    leaves: bool


class ChangedCode(Frozen):
    """A code whose supervision changed, for a record that carries it alone.

    Attributes:
        code: the code.
        y: leaves before and after.
        primary: c* before and after; "" for none.
        total_variation: half the sum of absolute differences of the two soft targets, 0 … 1.
    """

    code: str
    y: tuple[tuple[str, ...], tuple[str, ...]]
    primary: tuple[str, str]
    total_variation: float


class ChangedRecords(Frozen):
    """How many records of a corpus are supervised otherwise, and by how much in total variation."""

    records: int
    changed: int
    primary_changed: int
    mean_total_variation: float
    max_total_variation: float


class Difference(Frozen):
    """Everything that changed from one ontology to another.

    Attributes:
        enumeration: lines of the enumeration that are gone (``-``) or new (``+``).
        routes: codes whose nodes changed.
        moved: pairs of concepts whose distance changed, leaf pairs first.
        rows: concepts whose row of D changed: their soft target is another one.
        codes: codes whose y, c* or target changed.
        yields: concepts that yield under ``most-specific`` in one of the two alone.
        texts: concepts of both whose label, text variants, translations, synonyms or definition changed.
        records: the same for a corpus, where one was given.
    """

    enumeration: tuple[str, ...]
    routes: tuple[str, ...]
    moved: tuple[MovedPair, ...]
    rows: tuple[str, ...]
    codes: tuple[ChangedCode, ...]
    yields: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    records: ChangedRecords | None = None

    @property
    def empty(self) -> bool:
        """Whether a model learns the same: concepts, edges, routes, targets, what yields, and texts."""
        by_record = self.records is not None and (self.records.changed or self.records.primary_changed)
        changes = (self.enumeration, self.routes, self.codes, self.yields, self.texts, by_record)
        return not any(changes)


def compare(
    old: Ontology,
    new: Ontology,
    corpus: CorpusCodes | None = None,
    *,
    sigma: float = 1.0,
    rule: Rule = "max-index",
) -> Difference:
    """Return what `new` changes.

    Args:
        old: the ontology before.
        new: the ontology after.
        corpus: records whose targets are compared too.
        sigma: temperature of the soft targets.
        rule: how c* is chosen.

    Example:
        >>> import ecg_ontology
        >>> difference = ecg_ontology.compare(ecg_ontology.load(), ecg_ontology.load(profile="curated"))
        >>> difference.routes
        ('164931005', '233896004', '233917008', ...)
    """
    moved = moved_pairs(old, new)
    names = {name for pair in moved for name in (pair.a, pair.b)}
    codes = sorted({*old.codes, *new.codes})
    records = None if corpus is None or corpus.records is None else corpus.records
    return Difference(
        enumeration=old.difference(new),
        routes=tuple(code for code in codes if _reached(old, code) != _reached(new, code)),
        moved=moved,
        rows=tuple(node.abbr for node in new.nodes if node.abbr in names),
        codes=tuple(_changed_codes(old, new, codes, sigma, rule)),
        yields=_changed(old, new, lambda node: node.yields),
        texts=_changed(
            old, new, lambda n: (n.label, n.variants, n.translations, n.synonyms, n.definition, n.sources)
        ),
        records=None if records is None else _changed_records(old, new, records, sigma, rule),
    )


def _changed(old: Ontology, new: Ontology, part: Callable[[Concept], object]) -> tuple[str, ...]:
    """The concepts of both in which a part differs."""
    before = {node.iri: part(node) for node in old.nodes}
    return tuple(node.abbr for node in new.nodes if node.iri in before and before[node.iri] != part(node))


def _reached(onto: Ontology, code: str) -> frozenset[str]:
    return frozenset(onto.nodes[index].iri for index in onto.route(code).nodes)


def moved_pairs(old: Ontology, new: Ontology) -> tuple[MovedPair, ...]:
    """Return the pairs of concepts, of both ontologies, whose distance changed; leaf pairs first."""
    before = {node.iri: node.index for node in old.nodes}
    common = [node for node in new.nodes if node.iri in before]
    old_index = np.array([before[node.iri] for node in common], dtype=int)
    new_index = np.array([node.index for node in common], dtype=int)
    d_old, d_new = old.distances[np.ix_(old_index, old_index)], new.distances[np.ix_(new_index, new_index)]
    pairs = [
        MovedPair(
            a=common[i].abbr,
            b=common[j].abbr,
            old=int(d_old[i, j]),
            new=int(d_new[i, j]),
            leaves=not (common[i].root or common[j].root),
        )
        for i, j in np.argwhere(np.triu(d_old != d_new))
    ]
    return tuple(sorted(pairs, key=lambda pair: not pair.leaves))


class _Supervision:
    """y, c* and the soft target of records under one ontology, in columns shared with another ontology."""

    def __init__(self, onto: Ontology, columns: Sequence[str], records: Sequence[Sequence[str]]) -> None:
        self.onto = onto
        self.columns = np.array([columns.index(node.iri) for node in onto.nodes])
        self.width = len(columns)
        self.y = onto.leaf_multi_hot(records)

    def target(self, sigma: float, rule: Rule) -> NDArray[np.float64]:
        """The soft targets, float64[B, width + 1]; the last column is 1 for a record that has no target."""
        t = np.zeros((len(self.y), self.width + 1))
        t[:, self.columns] = self.onto.soft_targets(self.y, sigma, rule)
        t[~self.y.any(axis=1), -1] = 1.0
        return t

    def leaves(self, row: int) -> tuple[str, ...]:
        return tuple(sorted(self.onto.nodes[leaf].abbr for leaf in np.flatnonzero(self.y[row])))

    def primary(self, rule: Rule) -> list[str]:
        return ["" if c < 0 else self.onto.nodes[c].iri for c in self.onto.primary(self.y, rule)]


def _both(
    old: Ontology, new: Ontology, records: Sequence[Sequence[str]]
) -> tuple[_Supervision, _Supervision]:
    columns = list(dict.fromkeys(node.iri for onto in (old, new) for node in onto.nodes))
    return _Supervision(old, columns, records), _Supervision(new, columns, records)


def _changed_codes(
    old: Ontology, new: Ontology, codes: Sequence[str], sigma: float, rule: Rule
) -> list[ChangedCode]:
    before, after = _both(old, new, [[code] for code in codes])
    variation = _total_variation(before.target(sigma, rule), after.target(sigma, rule))
    c_old, c_new = before.primary(rule), after.primary(rule)
    changed = []
    for row, code in enumerate(codes):
        y = before.leaves(row), after.leaves(row)
        if variation[row] > TOLERANCE or y[0] != y[1] or c_old[row] != c_new[row]:
            names = _abbr(old, c_old[row]), _abbr(new, c_new[row])
            changed.append(ChangedCode(code=code, y=y, primary=names, total_variation=float(variation[row])))
    return changed


def _abbr(onto: Ontology, iri: str) -> str:
    return next((node.abbr for node in onto.nodes if node.iri == iri), "")


def _changed_records(
    old: Ontology, new: Ontology, records: Sequence[Sequence[str]], sigma: float, rule: Rule
) -> ChangedRecords:
    before, after = _both(old, new, records)
    variation = _total_variation(before.target(sigma, rule), after.target(sigma, rule))
    pairs = zip(before.primary(rule), after.primary(rule), strict=True)
    return ChangedRecords(
        records=len(records),
        changed=int((variation > TOLERANCE).sum()),
        primary_changed=sum(a != b for a, b in pairs),
        mean_total_variation=float(variation.mean()) if len(records) else 0.0,
        max_total_variation=float(variation.max(initial=0.0)),
    )


def _total_variation(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the sum of absolute differences, by row."""
    variation: NDArray[np.float64] = np.abs(p - q).sum(axis=1) / 2
    return variation
