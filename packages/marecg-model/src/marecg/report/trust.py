"""Whether an encoder may be believed: the one sentence that stands over everything it says of a record."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import pandas as pd

from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import BEATS, ENCODER, OWN, WIDE
from marecg.evaluate.table import lines, tidy, title
from marecg.model.card_figures import Score


class Verdict(StrEnum):
    """What the probes say, from best to worst."""

    better = "better"
    even = "even"
    worse = "worse"
    leaking = "leaking"
    untested = "untested"


class Trust(NamedTuple):
    """A verdict with the task and the number of test records that it rests on.

    `leak_unknown`: a verdict in favour, though nobody knows whether training saw the test records.
    """

    verdict: Verdict
    task: str = ""
    records: int = 0
    leak_unknown: bool = False


def trust(reports: Sequence[Report], scores: Sequence[Score] = ()) -> Trust:
    """The worst verdict over the probes of a run: what failed once is not to be believed everywhere.

    Args:
        scores: what the model's card says it reaches, for a model that comes without its probes.
    """
    order = list(Verdict)
    verdicts = [_of(tidy(lines("", report)), report.reference) for report in reports]
    judged = list(filter(None, verdicts)) or list(filter(None, _carded(scores)))
    return max(judged, key=lambda each: order.index(each.verdict), default=Trust(Verdict.untested))


def _carded(scores: Sequence[Score]) -> Iterator[Trust | None]:
    """Per task; without pairs, intervals that overlap tell nothing."""
    frame = pd.DataFrame([score.model_dump() for score in scores], columns=list(Score.model_fields))
    largest = frame.groupby("task")["fraction"].transform("max")
    for _, rows in frame[frame["fraction"] == largest].groupby("task", sort=False):
        reference = next((name for name in (BEATS, WIDE) if name in set(rows["method"])), ENCODER)
        own = rows[rows["method"] == reference].iloc[:1]
        low, high = (own[name].max() for name in ("low", "high"))  # missing where there is none
        named = rows.rename(columns={"tested": "test_records", "auc": "macro_auc", "leaks": "leaked_records"})
        yield _of(named.assign(versus_low=rows["low"] - high, versus_high=rows["high"] - low), reference)


def _of(scores: pd.DataFrame, reference: str) -> Trust | None:
    """What one probe says at its largest share; None where nothing was probed beside the encoder."""
    rows = scores[scores["fraction"] == scores["fraction"].max()]
    own, rivals = rows[rows["method"] == reference], rows[~rows["method"].isin(OWN)]
    if own.empty or rivals.empty:
        return None
    encoder, best = own.iloc[0], rivals.loc[rivals["macro_auc"].idxmax()]
    verdict = Verdict.even
    if not pd.isna(encoder["leaked_records"]) and encoder["leaked_records"]:
        verdict = Verdict.leaking
    elif best["versus_high"] < 0 or best["versus_low"] > 0:  # the paired interval leaves zero out
        verdict = Verdict.better if best["versus_high"] < 0 else Verdict.worse
    doubt = pd.isna(encoder["leaked_records"]) and verdict in (Verdict.better, Verdict.even)
    return Trust(verdict, title(encoder["task"]), int(encoder["test_records"]), bool(doubt))
