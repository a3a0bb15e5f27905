"""The command that writes a model's card."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._output import result


def card(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that was probed.")],
    protocol: Annotated[str, typer.Option(help="Whose reports are read.")] = "strict",
) -> None:
    """Put what a run's probes measured, with intervals, into the card that goes with its model.

    Example: marecg card runs/c3
    """
    from marecg.evaluate.model_card import write_model_card

    result(str(write_model_card(run, protocol)))


COMMANDS: tuple[Callable[..., None], ...] = (card,)
