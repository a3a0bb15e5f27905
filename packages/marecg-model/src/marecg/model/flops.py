"""Floating-point operations of the encoder and of a training step, the basis of all reported speeds.

A multiply-add counts as two operations. Norms, activations and softmax are left out, because memory bandwidth
limits them, not arithmetic.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig


class Flops(NamedTuple):
    """Forward costs of trained modules (`learning`), which also run backward, and slow copies."""

    learning: int
    following: int


def block_flops_per_token(config: ModelConfig, patches: int) -> int:
    """Return one block's forward cost per token: 2·16d² + 4(C+T)d at MLP ratio 4.

    Each of the two attentions has four d×d maps, and the MLP has two d×4d maps. Scores and mixing cost 2·n·d
    each along an axis of n tokens.
    """
    width = config.width
    maps = 2 * (4 + 4 + 2 * config.mlp_ratio) * width**2
    attention = 4 * (len(LEADS) + patches) * width
    return maps + attention


def encoder_flops(config: ModelConfig, patches: int | None = None) -> int:
    """Return the encoder's forward cost for one record of `patches` patches, by default the context's."""
    patches = patches or config.context_patches
    return config.depth * len(LEADS) * patches * block_flops_per_token(config, patches)


def decoder_flops(width: int, depth: int, mlp_ratio: int, patches: int) -> int:
    """Return the causal decoder's forward cost for one record, with half the attention."""
    maps = 2 * (4 + 2 * mlp_ratio) * width**2
    return depth * len(LEADS) * patches * (maps + 2 * patches * width)


def step_flops(shape: ModelConfig, beyond: Iterable[Flops]) -> int:
    """Return one record's cost in a training step. A backward pass counts as two forward passes.

    The heads cost under a thousandth of the encoder and are left out. Recomputation by activation
    checkpointing is left out as well. `beyond` is each objective's addition to the masked pass, which every
    recipe has.
    """
    flops = list(beyond)
    learning = encoder_flops(shape) + sum(one.learning for one in flops)
    return 3 * learning + sum(one.following for one in flops)
