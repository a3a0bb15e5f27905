"""What tests of a report share: all labels at once, and what two reports must agree on."""

from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report

WHOLE = Request(fractions=(1.0,))


def untimed(report: Report) -> dict:
    """Everything but the wall times."""
    return report.model_dump(exclude={"cells": {"__all__": {"seconds"}}})
