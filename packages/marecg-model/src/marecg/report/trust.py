"""Whether an encoder may be believed: the one sentence that stands over everything it says of a record."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from marecg.evaluate.scores.results import Cell, Report
from marecg.evaluate.scores.summary import ENCODER, OWN, WIDE
from marecg.evaluate.table import title
from marecg.model.card import Score


class Verdict(StrEnum):
    """What the probes say, from best to worst."""

    better = "better"
    even = "even"
    worse = "worse"
    leaking = "leaking"
    untested = "untested"


class Trust(NamedTuple):
    """A verdict with what it rests on: AUC in percent, of the encoder and of the best other features.

    `leak_unknown`: a verdict in favour, though nobody knows whether training saw the test records.
    """

    verdict: Verdict
    task: str = ""
    records: int = 0
    auc: float = 0.0
    rival: str = ""
    rival_auc: float = 0.0
    leak_unknown: bool = False


def trust(reports: Sequence[Report], scores: Sequence[Score] = ()) -> Trust:
    """The worst verdict over the probes of a run: what failed once is not to be believed everywhere.

    Args:
        reports: of the probes.
        scores: what the model's card says it reaches, for a model that comes without its probes.
    """
    order = list(Verdict)
    found = [each for each in map(_of, reports) if each is not None] or list(_carded(scores))
    return max(found, key=lambda each: order.index(each.verdict)) if found else Trust(Verdict.untested)


def _of(report: Report) -> Trust | None:
    """What one probe says at its largest share; None where nothing was probed beside the encoder."""
    largest = max(cell.fraction for cell in report.cells)
    cells = {cell.method: cell for cell in report.cells if cell.fraction == largest}
    own = cells.get(report.reference)
    rivals = [cell for name, cell in cells.items() if name not in OWN]
    if own is None or not rivals:
        return None
    best = max(rivals, key=lambda cell: cell.macro_auc.mean)
    verdict = Verdict.leaking if report.leak and report.leak.records else _verdict(best)
    percents = 100 * own.macro_auc.mean, 100 * best.macro_auc.mean
    rest = (report.records.test, percents[0], best.method, percents[1])
    return Trust(verdict, title(report.task), *rest, leak_unknown=_in_doubt(verdict, report.leak))


def _carded(scores: Sequence[Score]) -> Iterator[Trust]:
    """Per task the verdict by its largest share; without pairs, intervals that overlap tell nothing."""
    for task in dict.fromkeys(score.task for score in scores):
        asked = [score for score in scores if score.task == task]
        largest = [score for score in asked if score.fraction == max(each.fraction for each in asked)]
        cells = {score.method: score for score in largest}
        own = cells.get(WIDE) or cells.get(ENCODER)
        rivals = [score for score in largest if score.method not in OWN]
        if own is None or not rivals:
            continue
        best = max(rivals, key=lambda score: score.auc)
        verdict = Verdict.even
        if own.leaks:
            verdict = Verdict.leaking
        elif own.low > best.high or own.high < best.low:
            verdict = Verdict.better if own.low > best.high else Verdict.worse
        rest = (own.tested, 100 * own.auc, best.method, 100 * best.auc)
        yield Trust(verdict, title(task), *rest, leak_unknown=_in_doubt(verdict, own.leaks))


def _in_doubt(verdict: Verdict, leak: object) -> bool:
    """Whether a verdict in favour rests on a leak being unknown."""
    return leak is None and verdict in (Verdict.better, Verdict.even)


def _verdict(rival: Cell) -> Verdict:
    """Whether the paired interval of the rival minus the encoder leaves zero out, and on which side."""
    versus = rival.versus_encoder
    if versus is None or versus.low <= 0 <= versus.high:
        return Verdict.even
    return Verdict.better if versus.high < 0 else Verdict.worse
