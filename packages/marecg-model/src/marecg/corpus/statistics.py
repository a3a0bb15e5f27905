"""`marecg stats`: the paper's tables tab:pretrain-corpus and tab:pretrain-code-histogram for a corpus.

With `--verify` every window on disk is read, too, and compared with what the index says of it. `marecg
prepare --select paper` sets a corpus beside the paper's, number by number.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, median
from typing import Any, Self

from ecg_ontology import Ontology
from marecg.corpus import index
from marecg.corpus.account import Account, read_report
from marecg.corpus.prepared import Corpus, labelling_ontology, read_about
from marecg.model.stored_signal import signal_hash
from marecg.settings import Frozen

_PARTICULAR = re.compile(
    r"\d{6,}|'[^']*'|(?<=differs in ).*"
    r"|^\w+: [\d.]+ s(?= of extreme| without)|^[\w, ]+(?=: .*: (?:hidden|derived)$)"
)
INDEX_COLUMNS = ["source", "fs", "length", "n_valid", "codes", "leaves", "rpeaks", "notes"]


class Summary(Frozen):
    """Mean, median, minimum and maximum of numbers; None if there are no numbers."""

    mean: float | None = None
    median: float | None = None
    min: float | None = None
    max: float | None = None

    @classmethod
    def of(cls, values: Iterable[float], **others: Any) -> Self:
        """Return the summary of numbers; `others` are the fields of a subclass."""
        numbers = list(values)
        if not numbers:
            return cls(**others)
        measures = {
            "mean": fmean(numbers), "median": median(numbers), "min": min(numbers), "max": max(numbers)
        }  # fmt: skip
        return cls(**{name: round(float(value), 4) for name, value in measures.items()}, **others)


class SourceAccount(Account):
    """Account of a collection, with its share of the kept records and its sampling rates in Hz."""

    share: float
    fs: tuple[str, ...]


class CodesPerRecord(Summary):
    """Numbers of codes per record; `histogram` is {number of codes: records}."""

    histogram: dict[str, int]


class CodeCounts(Frozen):
    """Number of unique codes, counts by routing status, and the unrouted codes by status."""

    unique: int
    by_status: dict[str, int]
    not_routed: dict[str, dict[str, int]]


class PeakCounts(Frozen):
    """Numbers of records with and without R-peaks, and of R-peaks per record."""

    records_with: int
    records_without: int
    per_record: Summary


class Seconds(Summary):
    """Lengths of recordings, length of the window, and number of shorter records."""

    window: float
    padded: int


class Statistics(Account):
    """Description of a corpus, key by key as `marecg stats` prints it.

    Attributes:
        sources: the account of each collection.
        codes_per_record: how many codes the records have.
        codes: the codes by routing status.
        leaves: {abbreviation: records}, all leaves, in index order.
        records_without_leaf: how many records reach none.
        rpeaks: how many records have R-peaks, and how many.
        seconds: how long the recordings were.
        duplicates: groups of bit-identical signals.
        notes: {kind of note: records}; what differs from record to record is an ellipsis.
    """

    sources: dict[str, SourceAccount]
    codes_per_record: CodesPerRecord
    codes: CodeCounts
    leaves: dict[str, int]
    records_without_leaf: int
    rpeaks: PeakCounts
    seconds: Seconds
    duplicates: int
    notes: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return the description for `--format json`, without empty measures."""
        return self.model_dump(mode="json", exclude_none=True)


def statistics(folder: str | Path) -> Statistics:
    """Describe a prepared corpus.

    Raises `CorpusError` where the folder isn't a finished corpus, is damaged, or has the labels of
    another ontology.
    """
    folder = Path(folder)
    settings, report = read_about(folder), read_report(folder)
    ontology = labelling_ontology(folder, settings)
    column = index.of(folder, INDEX_COLUMNS).to_pydict()
    codes, beats = [len(places) for places in column["codes"]], [len(places) for places in column["rpeaks"]]
    rates: defaultdict[str, set[float]] = defaultdict(set)
    for source, fs in zip(column["source"], column["fs"], strict=True):
        rates[source].add(fs)
    leaves = Counter(leaf for record in column["leaves"] for leaf in record)
    window, fs = settings["config"]["window"], settings["config"]["fs"]
    kinds = [{_PARTICULAR.sub("…", note) for note in record} for record in column["notes"]]
    return Statistics(
        found=report.found,
        kept=report.kept,
        quarantined=report.quarantined,
        sources={
            name: SourceAccount(
                **account.model_dump(),
                share=account.kept / max(report.kept, 1),
                fs=tuple(f"{fs:g}" for fs in sorted(rates[name])),
            )
            for name, account in report.sources.items()
        },
        codes_per_record=CodesPerRecord.of(
            codes, histogram={str(count): n for count, n in sorted(Counter(codes).items())}
        ),
        codes=_codes(column["codes"], ontology),
        leaves={ontology.nodes[leaf].abbr: leaves[leaf] for leaf in ontology.leaves},
        records_without_leaf=sum(not active for active in column["leaves"]),
        rpeaks=PeakCounts(
            records_with=len(beats) - beats.count(0),
            records_without=beats.count(0),
            per_record=Summary.of(beats),
        ),
        seconds=Seconds.of(
            (length / fs for length, fs in zip(column["length"], column["fs"], strict=True)),
            window=window / fs,
            padded=sum(n < window for n in column["n_valid"]),
        ),
        duplicates=len(report.duplicates),
        notes=dict(sorted(Counter(kind for record in kinds for kind in record).items())),
    )


def damaged_records(folder: str | Path) -> list[str]:
    """Return the records with damaged windows, by root and path.

    Raises `CorpusError` where the folder isn't a finished corpus, or a whole file of it is damaged.
    """
    corpus = Corpus.open(folder)
    rows = index.of(corpus.folder, ["root", "path", "signal_hash"])
    records = enumerate(zip(index.names(rows), rows["signal_hash"].to_pylist(), strict=True))
    return [name for row, (name, prepared) in records if signal_hash(corpus.stored([row])[0]) != prepared]


def _codes(codes: Iterable[list[str]], ontology: Ontology) -> CodeCounts:
    counts = Counter(code for record in codes for code in record)
    by_status: dict[str, dict[str, int]] = {}
    for code, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        by_status.setdefault(str(ontology.route(code).status), {})[code] = n
    return CodeCounts(
        unique=len(counts),
        by_status={status: len(of_it) for status, of_it in sorted(by_status.items())},
        not_routed={status: of_it for status, of_it in sorted(by_status.items()) if status != "routed"},
    )


COLLECTIONS = ("ningbo", "georgia", "ptb")
"""The three sources; all others, PTB-XL and CPSC2018 above all, are held out."""

PAPER_RECORDS = {"ningbo": 32_006, "georgia": 8_296, "ptb": 419}
"""Records in tab:pretrain-corpus."""
PUBLISHED = {"ningbo": 34_905, "georgia": 10_344, "ptb": 516}
"""Records in the CinC Challenge 2021's training set (v1.0.3)."""
HISTOGRAM = {"1": 181, "2": 29_203, "3": 5_805, "4": 3_066, "5": 1_513, "6": 635, "7–12": 318}
"""Records by number of codes, in tab:pretrain-code-histogram."""
UNIQUE_CODES, MEAN_CODES, MEDIAN_CODES = 142, 2.51, 2.0
"""Different codes in the corpus, and codes per record."""


class Compared(Frozen):
    """Comparison of a number in the paper with that of a corpus; `why` is a known reason for a difference."""

    what: str
    paper: int | float
    found: int | float
    why: str


def reconcile(statistics: Statistics) -> tuple[Compared, ...]:
    """Compare the statistics of a corpus with the paper's, line by line."""
    sources = [_source(name, statistics.sources.get(name)) for name in COLLECTIONS]
    total = _row("records, total", sum(PAPER_RECORDS.values()), statistics.kept, "")
    per_record = statistics.codes_per_record
    mean, middle = per_record.mean, per_record.median
    histogram: dict[str, int] = {}  # the paper's classes; whatever else there is keeps its number
    for codes, records in per_record.histogram.items():
        name = "7–12" if 7 <= int(codes) <= 12 else codes
        histogram[name] = histogram.get(name, 0) + records
    return (
        *sources,
        total,
        *(_row(_with_codes(n), count, histogram.pop(n, 0), "") for n, count in HISTOGRAM.items()),
        *(_row(_with_codes(n), 0, count, "the paper has none") for n, count in histogram.items()),
        _row("unique codes", UNIQUE_CODES, statistics.codes.unique, _UNIQUE),
        _row("codes per record, mean", MEAN_CODES, 0 if mean is None else round(mean, 2), ""),
        _row("codes per record, median", MEDIAN_CODES, 0 if middle is None else middle, ""),
    )


_UNIQUE = "the official Dx map has 133 codes, of which 110 occur in these three sources"


def _source(name: str, account: Account | None) -> Compared:
    found, kept = (account.found, account.kept) if account else (0, 0)
    reasons = []
    if found < PUBLISHED[name]:
        reasons.append(f"{PUBLISHED[name] - found} of the {PUBLISHED[name]} published records are not here")
    if account and account.quarantined:
        counts = ", ".join(f"{n} {reason}" for reason, n in account.quarantined.items())
        reasons.append(f"quarantined: {counts}")
    share = PAPER_RECORDS[name] / PUBLISHED[name]
    reasons.append(f"the paper kept {share:.0%} by thresholds that it does not give")
    return _row(f"records, {name}", PAPER_RECORDS[name], kept, "; ".join(reasons))


def _with_codes(number: str) -> str:
    return f"records with {number} {'code' if number == '1' else 'codes'}"


def _row(what: str, paper: float, found: float, why: str) -> Compared:
    return Compared(what=what, paper=paper, found=found, why="" if paper == found else why)
