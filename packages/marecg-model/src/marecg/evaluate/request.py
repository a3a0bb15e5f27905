"""What a probe may be asked for."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from marecg.errors import UsageError
from marecg.evaluate.methods.method import Method
from marecg.evaluate.methods.minirocket import minirocket
from marecg.evaluate.methods.resnet import resnet
from marecg.evaluate.probe.merl import BY_NAME, DIFFERENCES, merl_view
from marecg.evaluate.tasks.registry import open_task
from marecg.evaluate.tasks.task import Recordings, Task
from marecg.use.embed import Readout, check_readout

FRACTIONS = (0.01, 0.1, 1.0)
BASELINES: dict[str, Callable[[Task], Method]] = {"minirocket": minirocket, "resnet1d": lambda task: resnet()}
"""The baselines that take longer, and so are measured when asked for."""
OVER = "mean over the classes that have positives and negatives in test; the others are left out"
"""Which classes the macro AUC is over, by every protocol."""


@dataclass(frozen=True)
class Terms:
    """What a protocol's report must say of it; see `results.Report`."""

    normalisation: str
    policy: str
    notes: tuple[str, ...] = ()


STRICT = Terms(
    normalisation="signals in mV; every feature standardised on the drawn training records",
    policy=f"{OVER}. A class that the drawn training records don't show counts ½",
)
MERL = Terms(
    normalisation="signals scaled to 0–1 over all leads; features as they are",
    policy=f"{OVER}. A class that the drawn training records don't show counts as the probe ranks it",
    notes=(BY_NAME, *DIFFERENCES),
)
PROTOCOLS = {"strict": STRICT, "merl": MERL, "merl-positional": replace(MERL, notes=DIFFERENCES)}


@dataclass(frozen=True)
class Request:
    """How a task is asked; it is checked when it is made.

    Attributes:
        fractions: shares of the training part, each in (0, 1]; they are brought into ascending order.
        seeds: draws per share below 1.
        protocol: a key of `PROTOCOLS`.
        splits: MERL's split tables, if labels and split shall come from there.
        baselines: keys of `BASELINES`, beside those that are always there.
        readout: what of a run's encoder the others are compared with; `wide` adds a random encoder's too.

    Raises:
        UsageError: an unknown protocol, baseline or readout, or impossible fractions or seeds.
    """

    fractions: tuple[float, ...] = FRACTIONS
    seeds: int = 5
    protocol: str = "strict"
    splits: Path | None = None
    baselines: Collection[str] = ()
    readout: Readout = "rhythm"

    def __post_init__(self) -> None:
        if not self.fractions or not all(0 < fraction <= 1 for fraction in self.fractions):
            listed = " ".join(f"{fraction:g}" for fraction in self.fractions)
            raise UsageError(
                f"fractions {listed!r}: impossible",
                remedy="Give shares of the training records such as 0.01 0.1 1",
            )
        object.__setattr__(self, "fractions", tuple(sorted(set(self.fractions))))
        object.__setattr__(self, "baselines", tuple(self.baselines))
        check_readout(self.readout)
        if self.seeds < 1:
            raise UsageError(f"seeds {self.seeds}: impossible", remedy="Give at least 1")
        if self.protocol not in PROTOCOLS:
            remedy = f"Choose one of {', '.join(PROTOCOLS)}"
            raise UsageError(f"there is no protocol {self.protocol!r}", remedy=remedy)
        if self.protocol == "merl-positional" and self.splits is None:
            remedy = "Name their folder as --splits"
            raise UsageError("merl-positional reads MERL's split tables", remedy=remedy)
        for name in self.baselines:
            if name not in BASELINES:
                remedy = f"Choose one of {', '.join(BASELINES)}"
                raise UsageError(f"there is no baseline {name!r}", remedy=remedy)
        if self.baselines and self.protocol != "strict":
            problem = f"{', '.join(self.baselines)}: not measured by protocol {self.protocol}"
            raise UsageError(problem, remedy="Leave out --baseline")

    def open(self, task: str, root: Path) -> Task:
        """The task. Raises as `open_task` does."""
        return open_task(task, root, self.splits, by_position=self.protocol == "merl-positional")

    def view(self, recordings: Recordings) -> Recordings:
        """The recordings as the protocol hands them to a method."""
        return recordings if self.protocol == "strict" else merl_view(recordings)
