"""Coverage of a corpus: leaves without support, codes without a node, and odd targets."""

from collections import Counter
from collections.abc import Sequence

from ecg_ontology.codes.corpus_codes import CorpusCodes
from ecg_ontology.graph.concepts import FrozenModel, Rule, Status
from ecg_ontology.ontology import Ontology


class CodeUse(FrozenModel):
    """Code in a corpus: number of records, and reached leaves."""

    code: str
    label: str
    status: Status
    records: int
    leaves: tuple[str, ...]


class RecordUse(FrozenModel):
    """Codes and leaves of a corpus' records, counted.

    Attributes:
        without_leaf: those whose codes reach no leaf.
        normal_primary: those whose c* is a yielding leaf (normal sinus rhythm) beside a pathology.
        codes_per_record: number of records by number of codes (appendix, Table pretrain-code-histogram).
    """

    records: int
    without_leaf: int
    normal_primary: int
    codes_per_record: dict[int, int]


class Coverage(FrozenModel):
    """The coverage of one corpus.

    Attributes:
        corpus: where the codes come from.
        sources: columns that a table of counts was summed over.
        codes: every code that occurs, the most frequent first.
        by_status: number of different codes by status.
        leaves: number of records that carry a code of each leaf; for a table of counts, the sum of its codes.
        unsupported: leaves that no occurring code reaches.
        records: what only whole records show; `None` for a table of counts.
    """

    corpus: str
    sources: tuple[str, ...]
    codes: tuple[CodeUse, ...]
    by_status: dict[Status, int]
    leaves: dict[str, int]
    unsupported: tuple[str, ...]
    records: RecordUse | None = None


def coverage_of(onto: Ontology, corpus: CorpusCodes, rule: Rule = "max-index") -> Coverage:
    """Return the coverage of a corpus' codes.

    Args:
        onto: in the profile that is used.
        corpus: from `read_corpus`.
        rule: how c* is chosen.

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
    odd = [c in yielding and bool(row[pathologies].any()) for c, row in zip(primary.tolist(), y, strict=True)]
    lengths = Counter(len(codes) for codes in records)
    return RecordUse(
        records=len(records),
        without_leaf=int((primary < 0).sum()),
        normal_primary=sum(odd),
        codes_per_record=dict(sorted(lengths.items())),
    )
