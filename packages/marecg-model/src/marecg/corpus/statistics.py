"""`marecg stats`: the paper's tables tab:pretrain-corpus and tab:pretrain-code-histogram, from a corpus."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pyarrow as pa

from ecg_ontology import Ontology
from marecg.base.config import Frozen
from marecg.corpus import index
from marecg.corpus.account import Account, PreparationReport
from marecg.corpus.plan import read_report
from marecg.corpus.prepared import labelling_ontology, read_about

_PARTICULAR = re.compile(r"\d{6,}|'[^']*'|(?<=differs in ).*")
COLUMNS = ["source", "fs", "length", "n_valid", "codes", "leaves", "rpeaks", "notes"]


class Summary(Frozen):
    """Mean, median, smallest and largest of some numbers; None where there are none."""

    mean: float | None = None
    median: float | None = None
    min: float | None = None
    max: float | None = None


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
        notes: {kind of note: records}.
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

    Raises:
        CorpusError: the folder isn't a finished corpus, is damaged, or has the labels of another ontology.
    """
    folder = Path(folder)
    about, report = read_about(folder), read_report(folder)
    ontology = labelling_ontology(folder, about)
    rows = index.read(folder / "index.parquet", COLUMNS)
    codes, leaves = rows["codes"].to_pylist(), rows["leaves"].to_pylist()
    return Statistics(
        found=report.found,
        kept=report.kept,
        quarantined=report.quarantined,
        sources=_sources(rows, report),
        codes_per_record=CodesPerRecord(**_measures(map(len, codes)), histogram=_histogram(map(len, codes))),
        codes=_codes(codes, ontology),
        leaves=_leaves(leaves, ontology),
        records_without_leaf=sum(not active for active in leaves),
        rpeaks=_rpeaks(rows["rpeaks"].to_pylist()),
        seconds=_seconds(rows, about["config"]),
        duplicates=len(report.duplicates),
        notes=_notes(rows["notes"].to_pylist()),
    )


def _sources(rows: pa.Table, report: PreparationReport) -> dict[str, SourceAccount]:
    rates: dict[str, set[float]] = {name: set() for name in report.sources}
    for source, fs in zip(rows["source"].to_pylist(), rows["fs"].to_pylist(), strict=True):
        rates[source].add(fs)
    total = max(report.kept, 1)
    return {
        name: SourceAccount(
            **account.model_dump(),
            share=account.kept / total,
            fs=tuple(f"{fs:g}" for fs in sorted(rates[name])),
        )
        for name, account in report.sources.items()
    }


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


def _leaves(leaves: Iterable[list[int]], ontology: Ontology) -> dict[str, int]:
    """Records per leaf concept, all leaves named, in index order."""
    counts = Counter(leaf for record in leaves for leaf in record)
    return {ontology.nodes[leaf].abbr: counts[leaf] for leaf in ontology.leaves}


def _rpeaks(rpeaks: list[list[int]]) -> PeakCounts:
    beats = [len(peaks) for peaks in rpeaks]
    return PeakCounts(
        records_with=sum(n > 0 for n in beats),
        records_without=beats.count(0),
        per_record=Summary(**_measures(beats)),
    )


def _seconds(rows: pa.Table, config: dict[str, Any]) -> Seconds:
    seconds = [n / fs for n, fs in zip(rows["length"].to_pylist(), rows["fs"].to_pylist(), strict=True)]
    padded = sum(n < config["window"] for n in rows["n_valid"].to_pylist())
    return Seconds(**_measures(seconds), window=config["window"] / config["fs"], padded=padded)


def _notes(notes: Iterable[list[str]]) -> dict[str, int]:
    """Records per kind of note: codes and leads, which differ from record to record, become an ellipsis."""
    kinds = [{_PARTICULAR.sub("…", note) for note in record} for record in notes]
    return dict(sorted(Counter(kind for record in kinds for kind in record).items()))


def _histogram(values: Iterable[int]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items())}


def _measures(values: Iterable[float]) -> dict[str, Any]:
    """The fields of `Summary`; none for no values."""
    numbers = list(values)
    measures: dict[str, Callable[[list[float]], float]] = {
        "mean": fmean, "median": median, "min": min, "max": max
    }  # fmt: skip
    return {name: round(float(of(numbers)), 4) for name, of in measures.items()} if numbers else {}
