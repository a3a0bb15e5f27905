"""Numbers of floating-point operations in the encoder and in a training step, used to report speeds.

A multiply-add counts as two operations. Norms, activations and softmax don't count, because their speed
depends on memory bandwidth, not on arithmetic.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig


class Flops(NamedTuple):
    """Floating-point operations of a forward pass for one record.

    Attributes:
        learning: operations of trained modules, for which a backward pass is also needed.
        following: operations of slow copies of trained modules, which need no backward pass.
    """

    learning: int
    following: int


def block_flops_per_token(config: ModelConfig, patches: int) -> int:
    """Return the operations of a block of the encoder per token.

    With width d, C leads, T patches and an MLP ratio of 4, these are 2·16d² + 4(C+T)d. Each of the two
    attention layers has four d×d maps, and the MLP has two d×4d maps. In attention along n tokens, the scores
    and the weighted mean of the values cost 2·n·d each.
    """
    width = config.width
    maps = 2 * (4 + 4 + 2 * config.mlp_ratio) * width**2
    attention = 4 * (len(LEADS) + patches) * width
    return maps + attention


def encoder_flops(config: ModelConfig, patches: int | None = None) -> int:
    """Return the operations of the encoder for a record of `patches` patches. A full context if None."""
    patches = patches or config.context_patches
    return config.depth * len(LEADS) * patches * block_flops_per_token(config, patches)


def decoder_flops(width: int, depth: int, mlp_ratio: int, patches: int) -> int:
    """Return the operations of the causal decoder for a record.

    Causal attention costs half of full attention.
    """
    maps = 2 * (4 + 2 * mlp_ratio) * width**2
    return depth * len(LEADS) * patches * (maps + 2 * patches * width)


def step_flops(shape: ModelConfig, beyond: Iterable[Flops]) -> int:
    """Return the operations for a record in a training step. A backward pass counts as two forward passes.

    Every recipe encodes the masked record; this is the masked pass. Heads don't count, because they need less
    than a thousandth of the encoder's operations. Recomputation by activation checkpointing doesn't count
    either.

    Args:
        shape: settings of the encoder.
        beyond: operations that each objective adds to the masked pass.
    """
    flops = list(beyond)
    learning = encoder_flops(shape) + sum(added.learning for added in flops)
    return 3 * learning + sum(added.following for added in flops)
