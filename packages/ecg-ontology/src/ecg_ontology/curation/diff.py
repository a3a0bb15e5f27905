"""Compare the training targets of two ontologies: nodes, edges, distances, routes and targets.

Concepts are matched by IRI, so that renumbered concepts are recognised. D is the matrix of distances between
concepts. A record has a 0/1 vector y of its leaves (concepts of findings), a primary concept c* among these
leaves, and a soft target, a distribution around c*. The total variation of two targets is half the sum of
their absolute differences, from 0 to 1.

Shapes: B records, N concepts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ecg_ontology.codes.corpus_codes import CorpusCodes
from ecg_ontology.graph.concepts import Concept, FrozenModel, Rule
from ecg_ontology.ontology import Ontology

TOLERANCE = 1e-12
"""Maximum total variation between targets that differ only by rounding."""


class MovedPair(FrozenModel):
    """Two concepts whose distance in the graph changed.

    Attributes:
        a, b: abbreviations of the concepts.
        old, new: number of edges between the concepts before and after the change.
        leaves: whether both concepts are leaves.
    """

    a: str
    b: str
    old: int
    new: int
    leaves: bool


class ChangedCode(FrozenModel):
    """Code for which the training target of a record with only this code changed.

    Attributes:
        code: the code.
        y: abbreviations of the leaves, as (before, after).
        primary: abbreviation of the primary concept c*, as (before, after). "" if there is no leaf.
        total_variation: total variation of the soft targets before and after.
    """

    code: str
    y: tuple[tuple[str, ...], tuple[str, ...]]
    primary: tuple[str, str]
    total_variation: float


class ChangedRecords(FrozenModel):
    """Number of records in a corpus with changed targets, and the size of the changes in total variation.

    Attributes:
        records: number of all records.
        changed: number of records with a changed soft target.
        primary_changed: number of records with another primary concept c*.
        mean_total_variation, max_total_variation: mean and maximum over all records of the total variation
            between the old and the new soft target.
    """

    records: int
    changed: int
    primary_changed: int
    mean_total_variation: float
    max_total_variation: float


class Difference(FrozenModel):
    """Changes from one ontology to another.

    Attributes:
        enumeration: lines for concepts and edges that were removed (``-``) or added (``+``).
        routes: codes that reach other concepts than before.
        moved: pairs of concepts with a changed distance, pairs of leaves first.
        rows: concepts in pairs of `moved`. Soft targets that are centred on such a concept change.
        codes: codes with a change in y, c* or the soft target.
        yields: concepts that yield to other leaves (`Concept.yields`) in only one of the two ontologies.
        texts: concepts in both ontologies with a changed label, text variant, translation, synonym,
            definition or source.
        records: changes in the records of a corpus, or `None` without a corpus of records.
        crosswalks: removed (``-``) and added (``+``) rows of crosswalks, the tables of codes that are only
            exported. They don't affect targets.
        official: codes whose label in the official map of the CinC Challenges was changed, added or removed.
    """

    enumeration: tuple[str, ...]
    routes: tuple[str, ...]
    moved: tuple[MovedPair, ...]
    rows: tuple[str, ...]
    codes: tuple[ChangedCode, ...]
    yields: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    records: ChangedRecords | None = None
    crosswalks: tuple[str, ...] = ()
    official: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether concepts, edges, routes, targets and texts are equal.

        Crosswalks and official labels may differ.
        """
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
    """Return the changes from one ontology to another.

    Args:
        old: the ontology before the change.
        new: the ontology after the change.
        corpus: records whose targets are also compared.
        sigma: temperature of the soft targets, see `Ontology.soft_targets`.
        rule: rule that selects the primary concept c*, see `Ontology.primary`.

    Example:
        >>> import ecg_ontology
        >>> ecg_ontology.compare(ecg_ontology.load(), ecg_ontology.load(profile="curated")).routes
        ('164931005', '233896004', '233917008', ...)
    """
    moved = _moved_pairs(old, new)
    names = {name for pair in moved for name in (pair.a, pair.b)}
    codes = sorted({*old.codes, *new.codes})
    records = None if corpus is None or corpus.records is None else corpus.records
    return Difference(
        enumeration=old.difference(new),
        routes=tuple(code for code in codes if _reached(old, code) != _reached(new, code)),
        moved=moved,
        rows=tuple(node.abbr for node in new.nodes if node.abbr in names),
        codes=tuple(_changed_codes((old, new), codes, sigma, rule)),
        yields=_changed(old, new, lambda node: node.yields),
        texts=_changed(
            old, new, lambda n: (n.label, n.variants, n.translations, n.synonyms, n.definition, n.sources)
        ),
        records=None if records is None else _changed_records((old, new), records, sigma, rule),
        crosswalks=_changed_crosswalks(old, new),
        official=_changed_labels(old.draft.official, new.draft.official),
    )


def _changed_crosswalks(old: Ontology, new: Ontology) -> tuple[str, ...]:
    before, after = (
        {
            f"{row.table}: {row.code} {row.predicate} {onto.draft.abbreviation(row.node or '') or 'nothing'}"
            f"  {row.label}"
            for row in onto.draft.crosswalks
        }
        for onto in (old, new)
    )
    changed = sorted(before ^ after, key=lambda line: (line, line in after))
    return tuple(f"{'+' if line in after else '-'} {line}" for line in changed)


def _changed_labels(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    codes = [code for code in {**old, **new} if old.get(code) != new.get(code)]
    return tuple(f"{code}: {old.get(code, 'none')!r} → {new.get(code, 'none')!r}" for code in codes)


def _changed(old: Ontology, new: Ontology, part: Callable[[Concept], object]) -> tuple[str, ...]:
    before = {node.iri: part(node) for node in old.nodes}
    return tuple(node.abbr for node in new.nodes if node.iri in before and before[node.iri] != part(node))


def _reached(onto: Ontology, code: str) -> frozenset[str]:
    return frozenset(onto.nodes[index].iri for index in onto.route(code).nodes)


def _moved_pairs(old: Ontology, new: Ontology) -> tuple[MovedPair, ...]:
    """Return the pairs of common concepts with a changed distance, pairs of leaves first."""
    before = {node.iri: node.index for node in old.nodes}
    common = [node for node in new.nodes if node.iri in before]
    indices = ([before[node.iri] for node in common], [node.index for node in common])
    d_old, d_new = (
        onto.distances[np.ix_(*[np.array(common_indices, int)] * 2)]
        for onto, common_indices in zip((old, new), indices, strict=True)
    )
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


class _Supervised:
    """Training targets of the same records under an old and a new ontology.

    The attributes are y [B, N] and the primary concepts for each ontology, and the total variation [B]
    between the soft targets of the two ontologies.
    """

    def __init__(
        self,
        ontologies: tuple[Ontology, Ontology],
        records: Sequence[Sequence[str]],
        sigma: float,
        rule: Rule,
    ) -> None:
        iris = dict.fromkeys(node.iri for onto in ontologies for node in onto.nodes)
        column = {iri: number for number, iri in enumerate(iris)}
        self.y = [onto.leaf_multi_hot(records, strict=None) for onto in ontologies]
        self.primary: list[list[Concept | None]] = []
        targets = np.zeros((2, len(records), len(column) + 1))
        for onto, y, target in zip(ontologies, self.y, targets, strict=True):
            target[:, [column[node.iri] for node in onto.nodes]] = onto.soft_targets(y, sigma, rule)
            # The last column stands for "no target", so records with and without a target differ completely.
            target[~y.any(axis=1), -1] = 1.0
            self.primary.append([None if c < 0 else onto.nodes[c] for c in onto.primary(y, rule)])
        self.total_variation: NDArray[np.float64] = np.abs(targets[0] - targets[1]).sum(axis=1) / 2
        of_nodes = [[node and node.iri for node in nodes] for nodes in self.primary]
        self.other_primary = [a != b for a, b in zip(*of_nodes, strict=True)]


def _changed_codes(
    ontologies: tuple[Ontology, Ontology], codes: Sequence[str], sigma: float, rule: Rule
) -> Iterator[ChangedCode]:
    both = _Supervised(ontologies, [[code] for code in codes], sigma, rule)
    for row, code in enumerate(codes):
        old, new = (
            tuple(sorted(onto.nodes[leaf].abbr for leaf in np.flatnonzero(y[row])))
            for onto, y in zip(ontologies, both.y, strict=True)
        )
        variation = float(both.total_variation[row])
        if variation > TOLERANCE or old != new or both.other_primary[row]:
            a, b = (node.abbr if node else "" for node in (nodes[row] for nodes in both.primary))
            yield ChangedCode(code=code, y=(old, new), primary=(a, b), total_variation=variation)


def _changed_records(
    ontologies: tuple[Ontology, Ontology], records: Sequence[Sequence[str]], sigma: float, rule: Rule
) -> ChangedRecords:
    both = _Supervised(ontologies, records, sigma, rule)
    variation = both.total_variation
    return ChangedRecords(
        records=len(records),
        changed=int((variation > TOLERANCE).sum()),
        primary_changed=sum(both.other_primary),
        mean_total_variation=float(variation.mean()) if len(records) else 0.0,
        max_total_variation=float(variation.max(initial=0.0)),
    )
