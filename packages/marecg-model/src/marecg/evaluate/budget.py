"""How long each recipe of a comparison trains: as many records as the others, or as much arithmetic."""

import math
from typing import Literal

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
        config: the recipe.
        reference: whose arithmetic is that of all, where that is what is equal.
        equal: the records themselves, or the FLOPs of all training steps together.
        records: that the reference sees.
        corpus: how many records there are.
    """
    train = config.train
    if equal == "flops":
        records = round(records * reference.step_flops() / config.step_flops())
    steps = max(1, round(records / (train.batch_size * train.accumulate)))
    epochs = max(train.max_epochs, math.ceil(steps * train.batch_size * train.accumulate / corpus))
    return override(config, [f"train.max_steps={steps}", f"train.max_epochs={epochs}"])
