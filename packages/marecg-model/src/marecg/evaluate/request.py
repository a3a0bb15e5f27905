"""Define the options of a probe, and find protocols and baselines by name."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ecg_base import suggest
from marecg.base.plugins import plugin
from marecg.errors import UsageError
from marecg.evaluate.methods.frozen_encoder import Reading
from marecg.evaluate.methods.method import Method
from marecg.evaluate.methods.resnet1d import resnet1d
from marecg.evaluate.probe.merl import MERL
from marecg.evaluate.probe.protocol import STRICT, Protocol
from marecg.evaluate.scores.metrics import RESAMPLES
from marecg.evaluate.scores.summary import READ_AS
from marecg.evaluate.tasks.task import Folds, Task, TaskDefinition

Baseline = Callable[[Task], Method]
"""Function that returns the baseline for a task. A baseline learns only from the task's training records."""

PROTOCOLS = {STRICT.name: STRICT, MERL.name: MERL}
BASELINES: dict[str, Baseline] = {"resnet1d": resnet1d}
FRACTIONS = (0.01, 0.1, 1.0)


def baseline_named(name: str) -> Baseline:
    """Return a baseline by its name, or as `FILE.py:NAME`. Raises `UsageError` if it is unknown."""
    return plugin(name, BASELINES, Callable, "baseline")  # type: ignore[arg-type]


def protocol_named(name: str) -> Protocol:
    """Return a protocol by its name, or as `FILE.py:NAME`. Raises `UsageError` if it is unknown."""
    return plugin(name, PROTOCOLS, Protocol, "protocol")


@dataclass(frozen=True)
class Request:
    """Options of a probe, checked on creation.

    Attributes:
        fractions: shares of the training part, each in (0, 1], in ascending order.
        seeds: number of random draws of each share below 1.
        protocol: rules of the probe.
        splits: folder of MERL's split tables (`marecg.evaluate.tasks.label_tables`), from which labels and
            split are read; None for the task's own labels and split.
        baselines: baselines that are evaluated in addition to the hand-crafted features.
        readout: readout of the run's encoder (`marecg.model.readout`) that other rows are compared with.
            `concepts` is the beat readout together with the concept score of each class. For all readouts
            except `rhythm`, a row with the same readout of a random encoder is added.
        folds: folds of the dataset for training, selection and test. With several entries (rotations), test
            records are pooled. If empty, the published folds are used.
        resamples: number of resamples of the test records for intervals.
        without: rows to leave out, for example `encoder, wide`, which takes longest.

    Raises:
        UsageError: an option is invalid, or the protocol doesn't support it.
    """

    fractions: tuple[float, ...] = FRACTIONS
    seeds: int = 5
    protocol: Protocol = STRICT
    splits: Path | None = None
    baselines: tuple[Baseline, ...] = ()
    readout: Reading = "rhythm"
    folds: tuple[Folds, ...] = ()
    resamples: int = RESAMPLES
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.fractions or not all(0 < fraction <= 1 for fraction in self.fractions):
            listed = " ".join(f"{fraction:g}" for fraction in self.fractions)
            raise UsageError(
                f"fractions must be shares above 0 and at most 1, got {listed}",
                remedy="Give shares of the training records such as 0.01 0.1 1",
            )
        object.__setattr__(self, "fractions", tuple(sorted(set(self.fractions))))
        if self.readout not in READ_AS:
            raise UsageError(f"unknown readout {self.readout!r}", remedy=suggest(self.readout, READ_AS))
        if self.protocol.reader and self.readout != "rhythm":
            problem = f"protocol {self.protocol.name} reads {self.protocol.row}, got readout={self.readout}"
            raise UsageError(problem, remedy="Leave out --set readout, or --protocol")
        if self.readout == "concepts" and not self.protocol.own_classifiers:
            problem = f"protocol {self.protocol.name} doesn't support readout=concepts"
            raise UsageError(problem, remedy="Leave out --protocol, or set readout=beats")
        for name in ("seeds", "resamples"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.baselines and not self.protocol.own_classifiers:
            problem = f"protocol {self.protocol.name} doesn't support baselines"
            raise UsageError(problem, remedy="Leave out --baseline")

    @property
    def as_json(self) -> str:
        """Return all options that affect a report's scores, as a line of JSON."""
        fields = {
            "fractions": self.fractions,
            "seeds": self.seeds,
            "protocol": self.protocol.name,
            "baselines": [baseline.__qualname__ for baseline in self.baselines],
            "readout": self.readout,
            "folds": "; ".join(map(str, self.folds)) or "as published",
            "splits": str(self.splits or ""),
            "resamples": self.resamples,
            "without": self.without,
        }
        return json.dumps(fields, ensure_ascii=False)

    def open(self, task: TaskDefinition, root: Path) -> tuple[Task, ...]:
        """Open the task once for each rotation. Raises as `TaskDefinition.open` does."""
        rotations = (task.open(root, self.splits, folds=folds) for folds in self.folds or (None,))
        return tuple(replace(rotation, view=self.protocol.view) for rotation in rotations)
