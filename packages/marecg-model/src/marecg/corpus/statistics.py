"""Statistics of a corpus, as in the paper's tables tab:pretrain-corpus and tab:pretrain-code-histogram.

`marecg prepare` prints the statistics. With `--select paper`, the command also compares them with
the paper's numbers. An account is the number of records found, kept and left out (`account.Account`).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ecg_ontology import Ontology
from marecg.corpus import index
from marecg.corpus.account import Account, read_report
from marecg.corpus.prepared import labelling_ontology, read_about
from marecg.settings import Frozen

_PARTICULAR = re.compile(
    r"\d{6,}|'[^']*'|(?<=differs in ).*"
    r"|^\w+: [\d.]+ s(?= of extreme| without)|^[\w, ]+(?=: .*: (?:hidden|derived)$)"
)
INDEX_COLUMNS = ["source", "fs", "length", "n_valid", "codes", "leaves", "rpeaks", "notes"]


class Summary(Frozen):
    """Mean, median, minimum and maximum of numbers. None if there are no numbers."""

    mean: float | None = None
    median: float | None = None
    min: float | None = None
    max: float | None = None

    @classmethod
    def of(cls, values: Iterable[float], **others: Any) -> Self:
        """Summarise numbers. `others` are the values of a subclass's own fields."""
        numbers = list(values)
        if not numbers:
            return cls(**others)
        measures = {
            "mean": fmean(numbers), "median": median(numbers), "min": min(numbers), "max": max(numbers)
        }  # fmt: skip
        return cls(**{name: round(float(value), 4) for name, value in measures.items()}, **others)


class SourceAccount(Account):
    """Account of a collection, with its share of all kept records, and its sampling rates in Hz."""

    share: float
    fs: tuple[str, ...]


class CodesPerRecord(Summary):
    """Number of codes per record. `histogram` has the number of records for each number of codes."""

    histogram: dict[str, int]


class CodeCounts(Frozen):
    """Counts of unique codes.

    The routing status of a code says whether the code is mapped to a concept ("routed"), or why it isn't.

    Attributes:
        unique: Number of unique codes.
        by_status: Number of unique codes by routing status.
        not_routed: For each status except "routed", the number of records by code.
    """

    unique: int
    by_status: dict[str, int]
    not_routed: dict[str, dict[str, int]]


class PeakCounts(Frozen):
    """Numbers of records with and without R-peaks, and number of R-peaks per record."""

    records_with: int
    records_without: int
    per_record: Summary


class Seconds(Summary):
    """Lengths of recordings in seconds.

    Attributes:
        window: Length of the window, the part of a recording that the corpus stores.
        padded: Number of windows that were padded because the recording ended before the window.
    """

    window: float
    padded: int


class Statistics(Account):
    """Description of a corpus, with the keys that `marecg prepare` prints.

    Attributes:
        sources: Account of each collection.
        codes_per_record: Number of codes per record.
        codes: Counts of unique codes.
        leaves: Number of records with each leaf concept, by its abbreviation and in the ontology's order.
        records_without_leaf: Number of records without a leaf.
        rpeaks: Numbers of records with and without R-peaks, and number of R-peaks per record.
        seconds: Lengths of the recordings.
        duplicates: Number of groups of bit-identical signals.
        notes: Number of records by kind of note. An ellipsis replaces details that differ between records.
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
        """Return the description for `--format json`, without keys that are None."""
        return self.model_dump(mode="json", exclude_none=True)


def statistics(folder: str | Path) -> Statistics:
    """Describe a prepared corpus.

    Raises `CorpusError` if the folder isn't a finished corpus, is damaged, or has labels of another ontology
    than its own.
    """
    folder = Path(folder)
    settings, report = read_about(folder), read_report(folder)
    ontology = labelling_ontology(folder, settings)
    rows = index.of(folder, INDEX_COLUMNS)
    codes, beats = (pc.list_value_length(rows[name]).to_numpy() for name in ("codes", "rpeaks"))
    rates: defaultdict[str, set[float]] = defaultdict(set)
    for pair in rows.group_by(["source", "fs"]).aggregate([]).to_pylist():
        rates[pair["source"]].add(pair["fs"])
    leaves = _counts(rows["leaves"])
    window, fs = settings["config"]["window"], settings["config"]["fs"]
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
            codes.tolist(), histogram={str(count): n for count, n in sorted(Counter(codes.tolist()).items())}
        ),
        codes=_codes(_counts(rows["codes"]), ontology),
        leaves={ontology.nodes[leaf].abbr: leaves[leaf] for leaf in ontology.leaves},
        records_without_leaf=pc.equal(pc.list_value_length(rows["leaves"]), 0).to_pylist().count(True),
        rpeaks=PeakCounts(
            records_with=int((beats > 0).sum()),
            records_without=int((beats == 0).sum()),
            per_record=Summary.of(beats.tolist()),
        ),
        seconds=Seconds.of(
            (rows["length"].to_numpy() / rows["fs"].to_numpy()).tolist(),
            window=window / fs,
            padded=int((rows["n_valid"].to_numpy() < window).sum()),
        ),
        duplicates=len(report.duplicates),
        notes=_kinds_of_notes(rows["notes"]),
    )


def _counts(lists: pa.ChunkedArray) -> Counter[Any]:
    """Count each value in a column of lists."""
    counted = pc.value_counts(pc.list_flatten(lists))
    return Counter({pair["values"].as_py(): pair["counts"].as_py() for pair in counted})


def _kinds_of_notes(lists: pa.ChunkedArray) -> dict[str, int]:
    """Count the records with each kind of note, ignoring details such as numbers."""
    notes = pc.list_flatten(lists).combine_chunks().dictionary_encode()
    kinds = [_PARTICULAR.sub("…", note) for note in notes.dictionary.to_pylist()]
    names = sorted(set(kinds))
    kind_n = np.array([names.index(kind) for kind in kinds], np.int64)[notes.indices.to_numpy()]
    record_n = np.repeat(np.arange(len(lists)), pc.list_value_length(lists).to_numpy())
    of_record = np.unique(np.stack([record_n, kind_n]), axis=1)[1]
    return dict(zip(names, np.bincount(of_record, minlength=len(names)).tolist(), strict=True))


def _codes(counts: Mapping[str, int], ontology: Ontology) -> CodeCounts:
    by_status: dict[str, dict[str, int]] = {}
    for code, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        by_status.setdefault(str(ontology.route(code).status), {})[code] = n
    return CodeCounts(
        unique=len(counts),
        by_status={status: len(codes) for status, codes in sorted(by_status.items())},
        not_routed={status: codes for status, codes in sorted(by_status.items()) if status != "routed"},
    )


COLLECTIONS = ("ningbo", "georgia", "ptb")
"""The three sources on which the paper trains. All others are held out, such as PTB-XL and CPSC2018."""

PAPER_RECORDS = {"ningbo": 32_006, "georgia": 8_296, "ptb": 419}
"""Numbers of records in the paper's table tab:pretrain-corpus."""
PUBLISHED = {"ningbo": 34_905, "georgia": 10_344, "ptb": 516}
"""Numbers of records in the training set of the CinC Challenge 2021 (v1.0.3)."""
HISTOGRAM = {"1": 181, "2": 29_203, "3": 5_805, "4": 3_066, "5": 1_513, "6": 635, "7–12": 318}
"""Number of records with each number of codes, in the paper's table tab:pretrain-code-histogram."""
UNIQUE_CODES, MEAN_CODES, MEDIAN_CODES = 142, 2.51, 2.0
"""Number of different codes in the paper's corpus, and codes per record."""


class Compared(Frozen):
    """Comparison of a number in the paper with the same number in a corpus.

    Attributes:
        what: What the number counts.
        paper: Number in the paper.
        found: Number in the corpus.
        why: Known reason for a difference. Empty if there is no difference, or no known reason.
    """

    what: str
    paper: int | float
    found: int | float
    why: str


def reconcile(statistics: Statistics) -> tuple[Compared, ...]:
    """Compare the paper's numbers of records and codes with the statistics of a corpus."""
    sources = [_source(name, statistics.sources.get(name)) for name in COLLECTIONS]
    total = _row("records, total", sum(PAPER_RECORDS.values()), statistics.kept, "")
    per_record = statistics.codes_per_record
    mean, middle = per_record.mean, per_record.median
    histogram: dict[str, int] = {}  # in the paper's classes; numbers of codes in no class are kept
    for codes, records in per_record.histogram.items():
        name = "7–12" if 7 <= int(codes) <= 12 else codes
        histogram[name] = histogram.get(name, 0) + records
    return (
        *sources,
        total,
        *(_row(_with_codes(n), count, histogram.pop(n, 0), "") for n, count in HISTOGRAM.items()),
        *(_row(_with_codes(n), 0, count, "the paper has no such record") for n, count in histogram.items()),
        _row("unique codes", UNIQUE_CODES, statistics.codes.unique, _UNIQUE),
        _row("codes per record, mean", MEAN_CODES, 0 if mean is None else round(mean, 2), ""),
        _row("codes per record, median", MEDIAN_CODES, 0 if middle is None else middle, ""),
    )


_UNIQUE = "the official Dx map has 133 codes, of which 110 occur in these three sources"


def _source(name: str, account: Account | None) -> Compared:
    found, kept = (account.found, account.kept) if account else (0, 0)
    reasons = []
    if found < PUBLISHED[name]:
        reasons.append(f"{PUBLISHED[name] - found} of the {PUBLISHED[name]} published records are missing")
    if account and account.quarantined:
        counts = ", ".join(f"{n} {reason}" for reason, n in account.quarantined.items())
        reasons.append(f"quarantined: {counts}")
    share = PAPER_RECORDS[name] / PUBLISHED[name]
    reasons.append(
        f"the paper kept {share:.0%} of the published records, by thresholds that it doesn't state"
    )
    return _row(f"records, {name}", PAPER_RECORDS[name], kept, "; ".join(reasons))


def _with_codes(number: str) -> str:
    return f"records with {number} {'code' if number == '1' else 'codes'}"


def _row(what: str, paper: float, found: float, why: str) -> Compared:
    return Compared(what=what, paper=paper, found=found, why="" if paper == found else why)
