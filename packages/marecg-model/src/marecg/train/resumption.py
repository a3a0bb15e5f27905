"""Compute the state of Lightning's loops after a number of optimiser steps.

The loops' state in a checkpoint isn't used, because it counts micro-batches. A run can therefore continue
with another number of micro-batches per step.
"""

from typing import Any

import lightning


def loops_after(steps: int, trainer: lightning.Trainer, *, last: bool) -> dict[str, Any]:
    """Return the state of the loops, as Lightning saves it after an optimiser step.

    Args:
        steps: Number of optimiser steps.
        trainer: Trainer of the run.
        last: Whether the step is the last step of the run.
    """
    batches = steps * trainer.accumulate_grad_batches
    state = trainer.fit_loop.state_dict()
    state["state_dict"]["combined_loader"] = [{"next": batches}]
    state["epoch_loop.state_dict"]["_batches_that_stepped"] = steps - 1
    progress = state["epoch_loop.batch_progress"]
    # Lightning calls the hook before it counts the batch as completed.
    _set(progress, ready=batches, started=batches, processed=batches, completed=batches - 1)
    progress["is_last_batch"] = last
    _set(state["epoch_loop.scheduler_progress"], ready=steps, completed=steps)
    optimizer = state["epoch_loop.automatic_optimization.optim_progress"]["optimizer"]
    _set(optimizer["step"], ready=steps, completed=steps)
    _set(optimizer["zero_grad"], ready=steps, started=steps, completed=steps)
    _set(state["epoch_progress"], ready=1, started=1)
    return {"fit_loop": state}


def _set(progress: dict[str, Any], **counts: int) -> None:
    progress["total"] |= counts
    progress["current"] |= counts
