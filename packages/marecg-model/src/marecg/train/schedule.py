"""The optimiser's schedule and parameter groups (§subsec:implementation)."""

from typing import Any

from torch import nn

from marecg.base.config import TrainConfig
from marecg.nn.schedule import cosine

UNDECAYED = ("lead", "position", "query", "embedding")
"""Embeddings by their parameters' names: like biases and norms, they are not decayed."""


def lr_factor(step: int, total_steps: int, train: TrainConfig) -> float:
    """A step's learning rate as a fraction of the peak: linear warm-up, then a cosine to `final_lr`.

    Warm-up keeps its share of the run, `warmup_epochs / max_epochs`, when `max_steps` cuts the run short.
    """
    warmup = total_steps * train.warmup_epochs / train.max_epochs
    return cosine(step, warmup, total_steps - 1, train.final_lr / train.lr)


def parameter_groups(modules: list[nn.Module], weight_decay: float) -> list[dict[str, Any]]:
    """Two groups per module: its matrices, decayed, and the rest. What takes no gradient is left out."""
    groups: list[dict[str, Any]] = []
    for module in modules:
        decayed: list[nn.Parameter] = []
        rest: list[nn.Parameter] = []
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                embedding = name.rpartition(".")[-1] in UNDECAYED
                (rest if parameter.ndim < 2 or embedding else decayed).append(parameter)
        groups += [
            {"params": decayed, "weight_decay": weight_decay},
            {"params": rest, "weight_decay": 0.0},
        ]
    return [group for group in groups if group["params"]]
