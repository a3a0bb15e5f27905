"""Measure how well the graph covers the codes of a corpus (a collection of ECG records).

The report lists codes without a concept, and leaves (concepts of findings) without records. It also counts
records whose training target is centred on a normal rhythm although they have a pathology. The leaf on which
the target of a record is centred is its primary concept c*.
"""

from collections import Counter
from collections.abc import Sequence

from ecg_ontology.codes.corpus_codes import CorpusCodes
from ecg_ontology.graph.concepts import FrozenModel, Rule, Status
from ecg_ontology.ontology import Ontology


class CodeUse(FrozenModel):
    """Code in a corpus, with its number of records and the leaves that it reaches."""

    code: str
    label: str
    status: Status
    records: int
    leaves: tuple[str, ...]


class RecordUse(FrozenModel):
    """Numbers of records in a corpus, by their codes and by the leaves that their codes reach.

    Attributes:
        records: number of all records.
        without_leaf: number of records whose codes reach no leaf.
        normal_primary: number of records with a pathology whose primary concept is nevertheless a finding of
            a healthy heart (normal sinus rhythm).
        codes_per_record: number of records with 0, 1, 2, … codes (paper, Table pretrain-code-histogram).
    """

    records: int
    without_leaf: int
    normal_primary: int
    codes_per_record: dict[int, int]


class Coverage(FrozenModel):
    """Coverage of a corpus by the graph.

    Attributes:
        corpus: path of the table or the records with the codes.
        sources: columns of counts that were added up, if the corpus is a table of counts.
        codes: all codes in the corpus, most frequent first.
        by_status: number of distinct codes by routing status (routed, unrouted, unknown or invalid).
        leaves: number of records by leaf. For a table of counts, the sum of the counts of the leaf's codes.
        unsupported: leaves without a code in the corpus.
        records: counts of records, or `None` for a table of counts.
    """

    corpus: str
    sources: tuple[str, ...]
    codes: tuple[CodeUse, ...]
    by_status: dict[Status, int]
    leaves: dict[str, int]
    unsupported: tuple[str, ...]
    records: RecordUse | None = None


def coverage_of(onto: Ontology, corpus: CorpusCodes, rule: Rule = "max-index") -> Coverage:
    """Return the coverage of a corpus by an ontology.

    Args:
        onto: the ontology, loaded with the profile ``paper`` or ``curated`` that routes the codes.
        corpus: result of `read_corpus`.
        rule: rule that selects the primary concept from the leaves of a record, see `Ontology.primary`.

    Example:
        >>> import ecg_ontology
        >>> corpus = CorpusCodes(name="two records", counts={"164889003": 2, "426783006": 1},
        ...                              records=(("164889003",), ("164889003", "426783006")))
        >>> coverage = coverage_of(ecg_ontology.load(), corpus)
        >>> coverage.leaves["AF"], coverage.records.normal_primary, coverage.records.codes_per_record
        (2, 1, {1: 1, 2: 1})
    """
    frequent = sorted(corpus.counts, key=lambda code: (-corpus.counts[code], code))
    uses = tuple(
        CodeUse(
            code=code,
            label=(route := onto.route(code)).label,
            status=route.status,
            records=corpus.counts[code],
            leaves=tuple(onto.nodes[leaf].abbr for leaf in route.leaves),
        )
        for code in frequent
    )
    leaves = _leaf_counts(onto, corpus)
    return Coverage(
        corpus=corpus.name,
        sources=corpus.sources,
        codes=uses,
        by_status=onto.status_counts(frequent),
        leaves=leaves,
        unsupported=tuple(abbr for abbr, n in leaves.items() if n == 0),
        records=None if corpus.records is None else _of_records(onto, corpus.records, rule),
    )


def _leaf_counts(onto: Ontology, corpus: CorpusCodes) -> dict[str, int]:
    if corpus.records is not None:
        totals = onto.leaf_multi_hot(corpus.records, strict=None).sum(axis=0, dtype=int)
        return {onto.nodes[leaf].abbr: int(totals[leaf]) for leaf in onto.leaves}
    counts = {onto.nodes[leaf].abbr: 0 for leaf in onto.leaves}
    for code, records in corpus.counts.items():
        for leaf in onto.route(code).leaves:
            counts[onto.nodes[leaf].abbr] += records
    return counts


def _of_records(onto: Ontology, records: Sequence[Sequence[str]], rule: Rule) -> RecordUse:
    y = onto.leaf_multi_hot(records, strict=None)
    primary = onto.primary(y, rule)
    yielding = [node.index for node in onto.nodes if node.yields]
    normal = {onto.families[leaf] for leaf in yielding}
    pathologies = [leaf for leaf in onto.leaves if onto.families[leaf] not in normal]
    unexpected = [
        c in yielding and bool(row[pathologies].any()) for c, row in zip(primary.tolist(), y, strict=True)
    ]
    lengths = Counter(len(codes) for codes in records)
    return RecordUse(
        records=len(records),
        without_leaf=int((primary < 0).sum()),
        normal_primary=sum(unexpected),
        codes_per_record=dict(sorted(lengths.items())),
    )
