"""What training takes: how long each recipe of a comparison trains, and what a finished run took."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from marecg.model.card import Provenance
from marecg.recipes.overrides import override
from marecg.recipes.schema import Config

Equal = Literal["records", "flops"]


def records_of(config: Config, corpus: int) -> int:
    """How many records a recipe's steps see on a corpus of that size, each as often as it comes."""
    train = config.train
    step = train.batch_size * train.accumulate
    steps = math.ceil(train.max_epochs * corpus / step)
    return step * min(steps, train.max_steps or steps)


def equalled(config: Config, reference: Config, equal: Equal, records: int, corpus: int) -> Config:
    """The recipe, cut or drawn out until it has what the reference has of `records` records.

    Args:
        reference: whose arithmetic is that of all, where that is what is equal.
        equal: the records themselves, or the FLOPs of all training steps together.
        records: that the reference sees.
    """
    train = config.train
    if equal == "flops":
        records = round(records * reference.step_flops() / config.step_flops())
    steps = max(1, round(records / (train.batch_size * train.accumulate)))
    epochs = max(train.max_epochs, math.ceil(steps * train.batch_size * train.accumulate / corpus))
    return override(config, [f"train.max_steps={steps}", f"train.max_epochs={epochs}"])


@dataclass(frozen=True)
class Cost:
    """What training took.

    Attributes:
        records: seen, each as often as it came.
        flops: of all steps, by `marecg.model.flops`.
        seconds: wall time, since the last resumption where there was one; None where nobody noted it.
    """

    records: int
    flops: int
    seconds: float | None


def expected(config: Config, corpus: int, speed: float) -> Cost:
    """What a recipe will take on a corpus of so many records, at so many FLOPs in a second."""
    records = records_of(config, corpus)
    flops = records * config.step_flops()
    return Cost(records, flops, flops / speed)


def cost_of(run: Path) -> Cost | None:
    """The cost of a run on one device; None where the folder doesn't tell."""
    try:
        config = Config.model_validate(
            json.loads((run / "config.json").read_text(encoding="utf-8"))["config"],
            context={"elsewhere": True},
        )
        fields = json.loads((run / "model" / "config.json").read_text(encoding="utf-8"))["provenance"]
        provenance = Provenance.model_validate(fields)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    devices = int((provenance.devices or "1").partition(" ")[0])
    records = provenance.steps * config.train.batch_size * config.train.accumulate * devices
    return Cost(records, records * config.step_flops(), provenance.seconds)
