"""What a run's probes measured, put into the card of its model."""

import logging
from collections.abc import Iterable
from pathlib import Path

from marecg.base.errors import UsageError
from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import OWN
from marecg.evaluate.table import read_report
from marecg.model.card import Score
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256

logger = logging.getLogger(__name__)


def write_model_card(run: str | Path, protocol: str = "strict") -> Path:
    """Write the figures of `RUN/probe/*-PROTOCOL.json` into `RUN/model`: its card, and its config.json.

    The weights stay as they are.

    Returns:
        The card.

    Raises:
        UsageError: the run was not probed by that protocol, or only as another model than it holds.
        InputError: a report is damaged.
        CheckpointError: the model is.
        OutputError: the model's folder can't be written.
    """
    folder = Path(run)
    model = MarEcg.from_pretrained(folder)
    reports = [read_report(path) for path in sorted((folder / "probe").glob(f"*-{protocol}.json"))]
    sha256 = weights_sha256(model)
    own = [report for report in reports if report.model_sha256 == sha256]
    for report in reports:
        if report not in own:
            logger.warning("%s: the probe of %s is another model's, and passed over", folder, report.task)
    if not own:
        problem = f"has no probe by protocol {protocol} of the model that it holds"
        raise UsageError(problem, where=folder, remedy="Run `marecg probe` on it first")
    model.scores = tuple(scores(own))
    model.save_pretrained(folder / "model")
    return folder / "model" / "README.md"


def scores(reports: Iterable[Report]) -> Iterable[Score]:
    """Every figure of the reports, as a card shows it."""
    for report in reports:
        leaks = None if report.leak is None else bool(report.leak.records)
        for cell in report.cells:
            yield Score(
                task=report.task,
                method=cell.method,
                fraction=cell.fraction,
                tested=report.records.test,
                auc=cell.macro_auc.mean,
                low=cell.interval.low,
                high=cell.interval.high,
                leaks=leaks if cell.method in OWN else False,
            )
