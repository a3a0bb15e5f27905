"""`marecg stats`: the paper's tables tab:pretrain-corpus and tab:pretrain-code-histogram, from a corpus.

With `--verify` every window on disk is read, too, and compared with what the index says of it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, median
from typing import Any, Self

from ecg_ontology import Ontology
from marecg.base.config import Frozen
from marecg.corpus import index
from marecg.corpus.account import Account, read_report
from marecg.corpus.prepare_record import signal_hash
from marecg.corpus.prepared import Corpus, labelling_ontology, read_about

_PARTICULAR = re.compile(r"\d{6,}|'[^']*'|(?<=differs in ).*")
COLUMNS = ["source", "fs", "length", "n_valid", "codes", "leaves", "rpeaks", "notes"]


class Summary(Frozen):
    """Mean, median, smallest and largest of some numbers; None where there are none."""

    mean: float | None = None
    median: float | None = None
    min: float | None = None
    max: float | None = None

    @classmethod
    def of(cls, values: Iterable[float], **others: Any) -> Self:
        """Measure; `others` are the fields of a class below."""
        numbers = list(values)
        if not numbers:
            return cls(**others)
        measures = {
            "mean": fmean(numbers), "median": median(numbers), "min": min(numbers), "max": max(numbers)
        }  # fmt: skip
        return cls(**{name: round(float(value), 4) for name, value in measures.items()}, **others)


class SourceAccount(Account):
    """A collection's account, its share of the records kept, and its native sampling rates in Hz."""

    share: float
    fs: tuple[str, ...]


class CodesPerRecord(Summary):
    """How many codes the records have; `histogram` is {number of codes: records}."""

    histogram: dict[str, int]


class CodeCounts(Frozen):
    """Unique codes, how many have each routing status, and {status: {code: records}} of the unrouted."""

    unique: int
    by_status: dict[str, int]
    not_routed: dict[str, dict[str, int]]


class PeakCounts(Frozen):
    """Records with R-peaks and without, and the R-peaks per record."""

    records_with: int
    records_without: int
    per_record: Summary


class Seconds(Summary):
    """How long the recordings were, how long the window is, and how many records are shorter than that."""

    window: float
    padded: int


class Statistics(Account):
    """What `marecg stats` prints of a corpus, key by key.

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
        """For `--format json`: without measures of nothing."""
        return self.model_dump(mode="json", exclude_none=True)


def statistics(folder: str | Path) -> Statistics:
    """Describe a prepared corpus.

    Raises `CorpusError` where the folder isn't a finished corpus, is damaged, or has the labels of
    another ontology.
    """
    folder = Path(folder)
    about, report = read_about(folder), read_report(folder)
    ontology = labelling_ontology(folder, about)
    column = index.read(folder / index.FILE, COLUMNS).to_pydict()
    codes, beats = [len(each) for each in column["codes"]], [len(each) for each in column["rpeaks"]]
    rates: defaultdict[str, set[float]] = defaultdict(set)
    for source, fs in zip(column["source"], column["fs"], strict=True):
        rates[source].add(fs)
    leaves = Counter(leaf for record in column["leaves"] for leaf in record)
    window, fs = about["config"]["window"], about["config"]["fs"]
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
    """The records whose windows are no longer those that were prepared, by root and path.

    Raises `CorpusError` where the folder isn't a finished corpus, or a whole file of it is damaged.
    """
    corpus = Corpus.open(folder)
    rows = index.read(corpus.folder / index.FILE, ["root", "path", "signal_hash"])
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
