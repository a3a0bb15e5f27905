"""Lightning module for pretraining: optimiser steps of the network.

`marecg.train.network` computes the losses of a step.

Shapes: B batch, K any width.
"""

import logging
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_only
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from marecg.errors import DivergedError
from marecg.model.batch import Batch
from marecg.model.mar_ecg import MarEcg
from marecg.nn.ema import Ema
from marecg.nn.schedule import cosine
from marecg.recipes import Config
from marecg.recipes.schema import TrainConfig
from marecg.train.network import Network, monitor
from marecg.train.resumption import loops_after

logger = logging.getLogger(__name__)

WARMING_STEPS = 10
"""Approximate number of steps after which the initial weights hardly affect the averaged weights."""
NON_FINITE_IN_A_ROW = 10
"""Number of consecutive steps with non-finite gradients after which the run ends."""
UNDECAYED = ("lead", "position", "query", "embedding")
"""Parameter names of embeddings. Like biases and norms, they get no weight decay."""


class Pretraining(lightning.LightningModule):
    """Network with an optimiser and a schedule. Steps with non-finite gradients are skipped.

    Args:
        config: Recipe of the run.
        network: Network to train.
        total_steps: Number of optimiser steps. The schedules of the learning rate and of the objectives'
            coefficients depend on it.
    """

    def __init__(self, config: Config, network: Network, total_steps: int) -> None:
        super().__init__()
        self.config = config
        self.network = network
        self.total_steps = total_steps
        self.skipped_steps = 0
        self.non_finite_in_a_row = 0
        self.monitored: dict[str, float] = {}
        self.average = Ema(network) if config.train.average else None
        self._last: tuple[Batch, dict[str, Tensor]] | None = None

    def training_step(self, batch: Batch, batch_idx: int) -> dict[str, Tensor]:
        """Return all losses by name. The total loss is called `loss`."""
        train = self.config.train
        epoch = train.max_epochs * self.global_step / self.total_steps
        outcome = self.network(batch, self._generator(batch.number), self._all_ranks, epoch)
        last = (batch.number + 1) % self.trainer.accumulate_grad_batches == 0
        if last and self.is_monitored(self.global_step + 1):
            self.monitored = monitor(outcome)
        losses = {name: value.detach() for name, value in outcome.losses.items()}
        self._last = (batch, losses)
        return {"loss": outcome.loss, **losses}

    def is_monitored(self, step: int) -> bool:
        """Return whether collapse is checked at a step: every `train.monitor_every` steps, and at the end."""
        return step % self.config.train.monitor_every == 0 or step == self.total_steps

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip the gradients, and skip the step if they aren't finite.

        Gradients are clipped here because Lightning's own clipping doesn't support the fused AdamW. Raises
        `DivergedError` if `NON_FINITE_IN_A_ROW` steps in a row are skipped.
        """
        finite = bool(clip_grad_norm_(self.parameters(), self.config.train.clip).isfinite())
        if self.trainer.strategy.reduce_boolean_decision(finite, all=True):
            self.non_finite_in_a_row = 0
            return
        self.zero_grad(set_to_none=True)
        self.skipped_steps += 1
        self.non_finite_in_a_row += 1
        logger.warning("step %d skipped: its gradients are not finite", self.global_step + 1)
        if self.non_finite_in_a_row == NON_FINITE_IN_A_ROW:
            raise self.diverged(self.global_step + 1)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Run an optimiser step, then update the objectives and the averaged weights."""
        super().optimizer_step(*args, **kwargs)
        self.network.after_step(self.global_step, self.total_steps)
        if self.average is not None:
            # With the full momentum from the start, the average would keep the initial weights for too long.
            momentum = min(self.config.train.average, self.global_step / (self.global_step + WARMING_STEPS))
            self.average.update(self.network, momentum)

    def exported(self) -> MarEcg:
        """Return the final model of the run, with averaged weights if `train.average` is set."""
        network = self.network if self.average is None else self.average.module
        assert isinstance(network, Network)
        return network.export()

    def configure_optimizers(self) -> Any:
        """Build AdamW for the model and all heads. All parameter groups have the same schedule."""
        train, network = self.config.train, self.network
        optimizer = torch.optim.AdamW(
            parameter_groups([network.model, *network.objectives.values()], train.weight_decay),
            lr=train.lr,
            betas=train.betas,
            fused=True,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: lr_factor(step, self.total_steps, train)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the number of skipped steps and the number of processes to a checkpoint."""
        checkpoint["skipped_steps"] = [self.skipped_steps, self.non_finite_in_a_row]
        checkpoint["processes"] = self.trainer.world_size

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore weights, the optimiser's moments, and the numbers of steps from a checkpoint.

        All other states are computed from the number of steps, so that a run can be resumed with another
        length or another number of processes.
        """
        step = checkpoint["global_step"]
        self.skipped_steps, self.non_finite_in_a_row = checkpoint["skipped_steps"]
        configured = self.configure_optimizers()
        (moments,) = checkpoint["optimizer_states"]
        moments["param_groups"] = configured["optimizer"].state_dict()["param_groups"]
        schedule = configured["lr_scheduler"]["scheduler"].state_dict()
        checkpoint["lr_schedulers"] = [schedule | {"last_epoch": step, "_step_count": step + 1}]
        checkpoint["loops"] = loops_after(step, self.trainer, last=step >= self.total_steps)
        before, now = checkpoint.get("processes"), self.trainer.world_size
        if before not in (None, now):
            records = self.config.train.records_per_step()
            message = "%s: resuming in %d instead of %d processes; a step still reads %d records"
            rank_zero_only(logger.warning)(message, self.trainer.default_root_dir, now, before, records)

    def _generator(self, number: int) -> torch.Generator:
        """Return the random generator of this process for a micro-batch.

        Its random numbers don't depend on interruptions or on the number of processes. Micro-batch k of
        process r among W processes has the same random numbers as micro-batch k·W + r of a single process.
        """
        global_number = number * self.trainer.world_size + self.global_rank
        seed = np.random.SeedSequence([self.config.train.seed, global_number]).generate_state(1)
        return torch.Generator(self.device).manual_seed(int(seed[0]))

    def _all_ranks(self, z_BK: Tensor) -> Tensor:
        if self.trainer.world_size == 1:
            return z_BK
        gathered = self.all_gather(z_BK, sync_grads=True)
        assert isinstance(gathered, Tensor)
        return gathered.flatten(0, 1)

    def diverged(self, step: int) -> DivergedError:
        """Build the error for a run that ends because of non-finite gradients."""
        details = ""
        if self._last is not None:
            batch, losses = self._last
            culprits = [name for name, value in losses.items() if not value.isfinite()]
            ids = self.trainer.datamodule.corpus.ids  # type: ignore[attr-defined]
            records = ", ".join(ids[row] for row in batch.rows_B.tolist())
            loss = f"loss {', '.join(culprits)}" if culprits else "every loss is finite"
            details = f" ({loss}; records {records})"
        row = self.non_finite_in_a_row
        problem = f"{f'{row} steps in a row' if row > 1 else 'the last step'} had non-finite gradients"
        remedy = "Check these records, or start again in another folder with a lower train.lr"
        return DivergedError(f"{problem}{details}", where=f"step {step}", remedy=remedy)


def lr_factor(step: int, total_steps: int, train: TrainConfig) -> float:
    """Return the learning rate of a step as a share of the peak: warm-up, then a cosine to `final_lr`.

    Warm-up takes the share `warmup_epochs / max_epochs` of the run, even if `max_steps` shortens the run.
    """
    warmup = total_steps * train.warmup_epochs / train.max_epochs
    return cosine(step, warmup, total_steps - 1, train.final_lr / train.lr)


def parameter_groups(modules: list[nn.Module], weight_decay: float) -> list[dict[str, Any]]:
    """Return up to two parameter groups per module, with and without weight decay.

    Parameters with at least two dimensions have weight decay, except embeddings. Frozen parameters and empty
    groups are left out.
    """
    groups: list[dict[str, Any]] = []
    for module in modules:
        decayed: list[nn.Parameter] = []
        rest: list[nn.Parameter] = []
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                embedding = name.rpartition(".")[-1] in UNDECAYED
                (rest if parameter.ndim < 2 or embedding else decayed).append(parameter)
        groups += [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
