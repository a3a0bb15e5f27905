"""Write the scores of a run's probes into the card of its model.

Shapes: S seeds, M test records, K classes.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from scipy.special import expit

from marecg.errors import UsageError
from marecg.evaluate.scores.metrics import MIN_POSITIVES, error_by_chance, expected_calibration_error, scored
from marecg.evaluate.scores.predictions import Predictions, load
from marecg.evaluate.scores.results import Cell, Report
from marecg.evaluate.scores.summary import ENCODER_METHODS
from marecg.evaluate.table import read_report
from marecg.model.card_figures import ClassFigure, Score
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256

logger = logging.getLogger(__name__)


def write_model_card(run: str | Path, protocol: str = "strict") -> Path:
    """Write the scores in `RUN/probe/*-PROTOCOL.json` to the model card and config.json in `RUN/model`.

    Returns the path of the card. Raises `UsageError` if the run has no probe by the protocol, or only probes
    of other weights.
    """
    folder = Path(run)
    model = MarEcg.from_pretrained(folder)
    reports = [read_report(path) for path in sorted((folder / "probe").glob(f"*-{protocol}.json"))]
    sha256 = weights_sha256(model)
    of_model = [report for report in reports if report.model_sha256 == sha256]
    for report in reports:
        if report not in of_model:
            logger.warning("%s: skipped the probe of %s, which belongs to another model", folder, report.task)
    if not of_model:
        problem = f"has no probe of its model by protocol {protocol}"
        raise UsageError(problem, where=folder, remedy="Run `marecg probe` on it first")
    model.scores = tuple(
        score
        for report in of_model
        for score in scores(report, load(folder / "probe" / f"{report.task}-{protocol}.npz"))
    )
    model.save_pretrained(folder / "model")
    return folder / "model" / "README.md"


def scores(report: Report, predictions: Predictions) -> Iterable[Score]:
    """Yield the scores in a probe's report for a model card."""
    leaks = None if report.leak is None else bool(report.leak.records)
    largest = max(cell.fraction for cell in report.cells)
    for cell in report.cells:
        detailed = cell.method == report.reference and cell.fraction == largest
        yield Score(
            task=report.task,
            method=cell.method,
            fraction=cell.fraction,
            tested=report.records.test,
            auc=cell.macro_auc.mean,
            low=cell.interval.low,
            high=cell.interval.high,
            leaks=leaks if cell.method in ENCODER_METHODS else False,
            concepts_sha256=report.concepts_sha256,
            classes=tuple(_classes(predictions, cell)) if detailed else (),
            groups=report.groups if detailed else (),
        )


def _classes(predictions: Predictions, cell: Cell) -> Iterable[ClassFigure]:
    """Yield the scores of each class in a cell, averaged over draws of training records.

    Rare classes are left out.
    """
    logits_SMK = predictions.logits[cell.method, cell.fraction]
    for score in cell.classes:
        k = [predictions.classes.index(score.name)]
        y_M1, logits_SM1 = predictions.y_MK[:, k], logits_SMK[:, :, k]
        if min(score.support, len(y_M1) - score.support) < MIN_POSITIVES:
            continue
        auc, low, high = scored(y_M1, logits_SM1, predictions.rotation_M)
        p_M = expit(logits_SM1).mean(axis=(0, 2))
        yield ClassFigure(
            name=score.name,
            positives=score.support,
            auc=auc,
            low=low,
            high=high,
            ece=expected_calibration_error(y_M1[:, 0].astype(float), p_M),
            ece_chance=error_by_chance(p_M),
        )
