"""Several processes: none waits for ever for another that is stopped, hung or gone."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Literal

import torch
from lightning.pytorch.strategies import DDPStrategy

from marecg.base.errors import PeerError

PATIENCE = timedelta(minutes=10)
"""What a process waits for the others in an exchange: longer than a step, a checkpoint or its hash takes."""

_SIGNS = ("gloo", "nccl", "timed out", "timeout", "connection", "broken pipe", "pair closure")


def several_processes(devices: int | Literal["auto"], nodes: int) -> DDPStrategy | Literal["auto"]:
    """The strategy of a run: DDP with our patience where there are several processes."""
    local = max(1, torch.cuda.device_count()) if devices == "auto" else devices
    return DDPStrategy(timeout=PATIENCE) if local * nodes > 1 else "auto"


@contextmanager
def lost_peers(world: int, run: Path) -> Iterator[None]:
    """Raise `PeerError`, a line, when an exchange between `world` processes fails."""
    try:
        yield
    except RuntimeError as error:
        if world == 1 or not any(sign in str(error).lower() for sign in _SIGNS):
            raise
        problem = f"another process gave no sign for {PATIENCE.total_seconds():g} s, or is gone"
        remedy = "See what became of it; the same command goes on from the newest checkpoint"
        raise PeerError(problem, where=run, remedy=remedy) from error
