"""The baselines that take longer, and so are measured when asked for, by the name that `--baseline` takes."""

from collections.abc import Callable

from marecg.base.plugins import named
from marecg.evaluate.methods.method import Method
from marecg.evaluate.methods.minirocket import minirocket
from marecg.evaluate.methods.resnet import resnet
from marecg.evaluate.tasks.task import Task

Baseline = Callable[[Task], Method]
"""Makes the method for a task: what it has to learn, it learns from the task's training records."""

BASELINES: dict[str, Baseline] = {"minirocket": minirocket, "resnet1d": lambda task: resnet()}


def baseline_named(name: str) -> Baseline:
    """The baseline of that name, or `FILE.py:NAME`. Raises `UsageError` where there is none."""
    return named(name, BASELINES, Callable, "baseline")  # type: ignore[arg-type]
