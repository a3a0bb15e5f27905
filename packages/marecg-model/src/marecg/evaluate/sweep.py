"""A recipe with some of its values varied: every combination, or a search among them; each is runs and a row.

A search goes by the macro AUC on val: what is chosen on test isn't a measurement any more.
"""

import json
import re
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from marecg.base.errors import ConfigError, InputError, UsageError
from marecg.evaluate.scores.results import Report
from marecg.recipes import Config
from marecg.recipes.overrides import Change, override, parsed

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from marecg.evaluate.ablate import ProbedRun

_RANGE = re.compile(r"(?P<low>[^,.]+(?:\.\d+)?(?:e[+-]?\d+)?)\.\.(?P<high>[^,:]+)(?P<log>:log)?")
JOURNAL = "search.journal"


class SweepAxis(NamedTuple):
    """A value that is varied: the choices, or where there are none, a range.

    Attributes:
        low, high: the ends of a range; whole numbers where the value is one.
        log: whether orders of magnitude are alike.
    """

    key: str
    choices: tuple[Any, ...]
    low: float
    high: float
    log: bool
    text: str

    def change(self, value: Any) -> Change:
        """The value in its place."""
        return Change(self.key, value, f"--vary {self.text}")

    def distribution(self) -> "BaseDistribution":
        """What Optuna draws from; of choices, their JSON."""
        from optuna import distributions as of  # noqa: PLC0415 (an extra)

        if self.choices:
            return of.CategoricalDistribution([json.dumps(value) for value in self.choices])
        if isinstance(self.low, int) and isinstance(self.high, int):
            return of.IntDistribution(self.low, self.high, log=self.log)
        return of.FloatDistribution(self.low, self.high, log=self.log)


def axis(text: str) -> SweepAxis:
    """Read `KEY=1,2,3`, or `KEY=0.1..2` and `KEY=1e-4..1e-2:log`, which are ranges.

    Raises:
        ConfigError: it is neither.

    Example:
        >>> axis("gscl.sigma=0.5,1,2").choices, axis("train.lr=1e-4..1e-2:log").high
        ((0.5, 1, 2), 0.01)
    """
    key, equals, values_text = text.partition("=")
    if not equals or not values_text:
        raise ConfigError("has no values", where=f"--vary {text}", remedy="Write KEY=1,2,3 or KEY=0.1..2")
    if bounds := _RANGE.fullmatch(values_text):
        ends = parsed(bounds["low"]), parsed(bounds["high"])
        if not all(isinstance(end, int | float) for end in ends) or not ends[0] < ends[1]:
            raise ConfigError("isn't a range of numbers", where=f"--vary {text}", remedy="Write LOW..HIGH")
        low, high = ends if all(isinstance(end, int) for end in ends) else map(float, ends)
        if bounds["log"] and low <= 0:
            raise ConfigError("has no logarithm", where=f"--vary {text}", remedy="Begin above 0")
        return SweepAxis(key, (), low, high, bool(bounds["log"]), text)
    values = parsed(f"[{values_text}]")
    choices = tuple(values) if isinstance(values, list) else tuple(map(parsed, values_text.split(",")))
    return SweepAxis(key, choices, 0, 0, log=False, text=text)


def grid(config: Config, axes: Sequence[SweepAxis]) -> list[Config]:
    """Every combination, in the order of the axes, each called after its values.

    Raises:
        UsageError: an axis is a range.
        ConfigError: a key is unknown, or a value impossible.
    """
    if ranges := [each.text for each in axes if not each.choices]:
        raise UsageError(f"{ranges[0]} is a range", remedy="Name values, KEY=1,2,3, or add --search N")
    return [_varied(config, axes, values) for values in product(*(each.choices for each in axes))]


def search(
    config: Config,
    axes: Sequence[SweepAxis],
    trials: int,
    out: Path,
    measure: "Callable[[Config], list[ProbedRun]]",
) -> "list[ProbedRun]":
    """Let Optuna choose so many combinations, one after the other; called again, go on where it was.

    What is drawn follows from the trials before and the recipe's seed, so an interruption changes nothing.

    Args:
        out: where the search is kept, as `search.journal`.
        measure: trains and probes a recipe.

    Returns:
        What was measured, as `marecg.evaluate.ablate.ablate` returns it, the best combination on val first.

    Raises:
        UsageError: Optuna is not installed, or `out` holds a search of something else.
        InputError: the probe chose nothing on val.
    """
    try:
        import optuna  # noqa: PLC0415 (an extra)
        from optuna.storages import JournalStorage  # noqa: PLC0415
        from optuna.storages.journal import JournalFileBackend  # noqa: PLC0415
    except ImportError as error:
        remedy = 'pip install "marecg-model[search]"'
        raise UsageError("--search needs Optuna, which is not installed", remedy=remedy) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    out.mkdir(parents=True, exist_ok=True)
    storage = JournalStorage(JournalFileBackend(str(out / JOURNAL)))
    study = optuna.create_study(
        storage=storage, study_name="search", direction="maximize", load_if_exists=True
    )
    asked = {"recipe": config.model_dump(mode="json"), "vary": [each.text for each in axes]}
    if study.user_attrs.get("asked", asked) != asked:
        raise UsageError("holds a search of something else", where=out, remedy="Name another folder")
    study.set_user_attr("asked", asked)
    space = {each.key: each.distribution() for each in axes}
    trials_done: list[tuple[float, list[ProbedRun]]] = []
    for number in range(trials):
        if number == len(study.trials):
            study.sampler = optuna.samplers.TPESampler(seed=1000 * config.train.seed + number)
            study.ask(space)
        drawn = study.trials[number].params
        values = [json.loads(drawn[each.key]) if each.choices else drawn[each.key] for each in axes]
        measured = measure(_varied(config, axes, values))
        auc = float(np.mean([val_auc(report) for _, _, report in measured]))
        if not study.trials[number].state.is_finished():
            study.tell(number, auc)
        trials_done.append((auc, measured))
    ordered = [each for _, measured in sorted(trials_done, key=lambda pair: -pair[0]) for each in measured]
    return list({each.folder: each for each in ordered}.values())


def _varied(config: Config, axes: Sequence[SweepAxis], values: Sequence[Any]) -> Config:
    pairs = list(zip(axes, values, strict=True))
    settings = " ".join(f"{each.key}={_short(value)}" for each, value in pairs)
    named = Change("name", f"{config.name} {settings}", "")
    return override(config, [*(each.change(value) for each, value in pairs), named])


def _short(value: Any) -> str:
    return (
        f"{value:.6g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)
    )


def val_auc(report: Report) -> float:
    """The macro AUC on val of what the report is about, at its largest share."""
    own = [cell for cell in report.cells if cell.method == report.reference and cell.val_macro_auc]
    if not own:
        raise InputError("nothing was chosen on val, so there is nothing to search by", where=report.task)
    best = max(own, key=lambda cell: cell.fraction).val_macro_auc
    assert best is not None
    return best.mean
