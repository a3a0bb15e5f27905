"""What tests of a report share: the labels that a probe is given, and what two reports must agree on."""

from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report

WHOLE = Request(fractions=(1.0,), resamples=50)
HALF_AND_WHOLE = Request(fractions=(0.5, 1.0), seeds=2, resamples=50)


def untimed(report: Report) -> dict:
    """Everything but the wall times."""
    return report.model_dump(exclude={"cells": {"__all__": {"seconds"}}})
