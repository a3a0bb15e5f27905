"""Whether an encoder may be believed: the one sentence that stands over everything it says of a record."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from marecg.evaluate.scores.results import Cell, Report
from marecg.evaluate.scores.summary import OWN
from marecg.evaluate.table import title


class Verdict(StrEnum):
    """What the probes say, from best to worst."""

    better = "better"
    even = "even"
    worse = "worse"
    leaking = "leaking"
    untested = "untested"


class Trust(NamedTuple):
    """A verdict with what it rests on: AUC in percent, of the encoder and of the best other features."""

    verdict: Verdict
    task: str = ""
    records: int = 0
    auc: float = 0.0
    rival: str = ""
    rival_auc: float = 0.0


def trust(reports: Sequence[Report]) -> Trust:
    """The worst verdict over the probes of a run: what failed once is not to be believed everywhere."""
    order = list(Verdict)
    found = [each for each in map(_of, reports) if each is not None]
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
    return Trust(verdict, title(report.task), report.records.test, percents[0], best.method, percents[1])


def _verdict(rival: Cell) -> Verdict:
    """Whether the paired interval of the rival minus the encoder leaves zero out, and on which side."""
    versus = rival.versus_encoder
    if versus is None or versus.low <= 0 <= versus.high:
        return Verdict.even
    return Verdict.better if versus.high < 0 else Verdict.worse
