"""What a finished run took, read from its folder."""

import json
from dataclasses import dataclass
from pathlib import Path

from marecg.evaluate.budget import records_of
from marecg.model.card import Provenance
from marecg.recipes.schema import Config


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
