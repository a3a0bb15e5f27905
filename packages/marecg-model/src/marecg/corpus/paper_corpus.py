"""`marecg prepare --select paper`: a corpus beside the paper's, number by number.

The paper's are those of tab:pretrain-corpus and tab:pretrain-code-histogram.
"""

from marecg.base.config import Frozen
from marecg.corpus.account import Account
from marecg.corpus.statistics import Statistics

COLLECTIONS = ("ningbo", "georgia", "ptb")
"""The three sources; all others, PTB-XL and CPSC2018 above all, are held out."""

KEPT = {"ningbo": 32_006, "georgia": 8_296, "ptb": 419}
"""Records in tab:pretrain-corpus."""
PUBLISHED = {"ningbo": 34_905, "georgia": 10_344, "ptb": 516}
"""Records in the CinC Challenge 2021's training set (v1.0.3)."""
HISTOGRAM = {"1": 181, "2": 29_203, "3": 5_805, "4": 3_066, "5": 1_513, "6": 635, "7–12": 318}
"""Records by number of codes, in tab:pretrain-code-histogram."""
UNIQUE_CODES, MEAN_CODES, MEDIAN_CODES = 142, 2.51, 2.0
"""Different codes in the corpus, and codes per record."""


class Compared(Frozen):
    """A number of the paper's corpus beside the one found, and why they differ; empty where nobody knows."""

    what: str
    paper: int | float
    found: int | float
    why: str


def reconcile(statistics: Statistics) -> tuple[Compared, ...]:
    """Set a corpus, as `statistics` describes it, beside the paper's, line by line."""
    sources = [_source(name, statistics.sources.get(name)) for name in COLLECTIONS]
    total = _row("records, total", sum(KEPT.values()), statistics.kept, "")
    per_record = statistics.codes_per_record
    mean, middle = per_record.mean, per_record.median
    histogram = _grouped(per_record.histogram)
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
    reasons.append(f"the paper kept {KEPT[name] / PUBLISHED[name]:.0%} by thresholds that it does not give")
    return _row(f"records, {name}", KEPT[name], kept, "; ".join(reasons))


def _with_codes(number: str) -> str:
    return f"records with {number} {'code' if number == '1' else 'codes'}"


def _row(what: str, paper: float, found: float, why: str) -> Compared:
    return Compared(what=what, paper=paper, found=found, why="" if paper == found else why)


def _grouped(histogram: dict[str, int]) -> dict[str, int]:
    """The paper's classes: 1 to 6, 7–12; whatever else there is keeps its number."""
    grouped: dict[str, int] = {}
    for codes, records in histogram.items():
        name = "7–12" if 7 <= int(codes) <= 12 else codes
        grouped[name] = grouped.get(name, 0) + records
    return grouped
