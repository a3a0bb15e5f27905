"""`marecg stats`: the paper's tables tab:pretrain-corpus and tab:pretrain-code-histogram, from a corpus."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pyarrow as pa

from ecg_ontology import Ontology
from marecg.data import index
from marecg.data.dataset import labelling_ontology, read_about
from marecg.data.folder import read_json

_PARTICULAR = re.compile(r"\d{6,}|'[^']*'|(?<=differs in ).*")
COLUMNS = ["source", "fs", "length", "n_valid", "codes", "leaves", "rpeaks", "notes"]


def statistics(folder: str | Path) -> dict[str, Any]:
    """Describe a prepared corpus.

    Returns:
        JSON-ready numbers: `found`, `kept`, `quarantined` {reason: n}, `sources` (each with its share and
        native rates), `codes_per_record` (histogram, mean, median, …), `codes` by routing status,
        `leaves` {abbr: n}, `records_without_leaf`, `rpeaks`, `seconds`, `duplicates`, and `notes` {note: n}.

    Raises:
        CorpusError: the folder is no finished corpus, is damaged, or has the labels of another ontology.
    """
    folder = Path(folder)
    about, report = read_about(folder), read_json(folder / "report.json")
    ontology = labelling_ontology(folder, about["profile"], about["ontology_sha256"])
    rows = index.read(folder / "index.parquet", COLUMNS)
    codes, leaves = rows["codes"].to_pylist(), rows["leaves"].to_pylist()
    return {
        "found": report["found"],
        "kept": report["kept"],
        "quarantined": report["quarantined"],
        "sources": _sources(rows, report),
        "codes_per_record": _spread(map(len, codes)) | {"histogram": _histogram(map(len, codes))},
        "codes": _codes(codes, ontology),
        "leaves": _leaves(leaves, ontology),
        "records_without_leaf": sum(not active for active in leaves),
        "rpeaks": _rpeaks(rows["rpeaks"].to_pylist()),
        "seconds": _seconds(rows, about["config"]),
        "duplicates": len(report["duplicates"]),
        "notes": _notes(rows["notes"].to_pylist()),
    }


def _sources(rows: pa.Table, report: dict[str, Any]) -> dict[str, Any]:
    rates: dict[str, Counter[float]] = {name: Counter() for name in report["sources"]}
    for source, fs in zip(rows["source"].to_pylist(), rows["fs"].to_pylist(), strict=True):
        rates[source][fs] += 1
    total = max(report["kept"], 1)
    return {
        name: account | {"share": account["kept"] / total, "fs": [f"{fs:g}" for fs in sorted(rates[name])]}
        for name, account in report["sources"].items()
    }


def _codes(codes: Iterable[list[str]], ontology: Ontology) -> dict[str, Any]:
    """Unique codes, how many of them each routing status has, and those that reach no node."""
    counts = Counter(code for record in codes for code in record)
    by_status: dict[str, dict[str, int]] = {}
    for code, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        by_status.setdefault(str(ontology.route(code).status), {})[code] = n
    return {
        "unique": len(counts),
        "by_status": {status: len(found) for status, found in sorted(by_status.items())},
        "not_routed": {status: found for status, found in sorted(by_status.items()) if status != "routed"},
    }


def _leaves(leaves: Iterable[list[int]], ontology: Ontology) -> dict[str, int]:
    """Records per leaf concept, all leaves named, in index order."""
    counts = Counter(leaf for record in leaves for leaf in record)
    return {ontology.nodes[leaf].abbr: counts[leaf] for leaf in ontology.leaves}


def _rpeaks(rpeaks: list[list[int]]) -> dict[str, Any]:
    beats = [len(peaks) for peaks in rpeaks]
    return {
        "records_with": sum(n > 0 for n in beats),
        "records_without": beats.count(0),
        "per_record": _spread(beats),
    }


def _seconds(rows: pa.Table, config: dict[str, Any]) -> dict[str, Any]:
    seconds = [n / fs for n, fs in zip(rows["length"].to_pylist(), rows["fs"].to_pylist(), strict=True)]
    padded = sum(n < config["window"] for n in rows["n_valid"].to_pylist())
    return _spread(seconds) | {"window": config["window"] / config["fs"], "padded": padded}


def _notes(notes: Iterable[list[str]]) -> dict[str, int]:
    """Records per kind of note: codes and leads, which differ from record to record, become an ellipsis."""
    kinds = [{_PARTICULAR.sub("…", note) for note in record} for record in notes]
    return dict(sorted(Counter(kind for record in kinds for kind in record).items()))


def _histogram(values: Iterable[int]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items())}


def _spread(values: Iterable[float]) -> dict[str, float]:
    """Mean, median, smallest and largest; nothing for no values."""
    known = list(values)
    measures: dict[str, Callable[[list[float]], float]] = {
        "mean": fmean, "median": median, "min": min, "max": max
    }  # fmt: skip
    return {name: round(float(of(known)), 4) for name, of in measures.items()} if known else {}
