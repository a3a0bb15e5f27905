"""How much arithmetic encoder and training step take: the model behind every speed that is stated.

A multiply-add counts as two. Norms, activations and softmax are left out: they move memory, not numbers.
"""

from collections.abc import Iterable
from typing import NamedTuple

from marecg.base.config import LEADS, ModelConfig


class Flops(NamedTuple):
    """Forward costs: of what learns, and so goes backward too, and of what only follows."""

    learning: int
    following: int


def block_flops_per_token(config: ModelConfig, patches: int) -> int:
    """One block's forward cost per token: 2·16d² + 4(C+T)d at the reference's MLP ratio of 4.

    Two attentions have four d×d maps each, the MLP two of d×4d; scores and mixing cost 2·n·d each along an
    axis of n tokens.
    """
    width = config.width
    maps = 2 * (4 + 4 + 2 * config.mlp_ratio) * width**2
    attention = 4 * (len(LEADS) + patches) * width
    return maps + attention


def encoder_flops(config: ModelConfig, patches: int | None = None) -> int:
    """The encoder's forward cost for one record of `patches` patches, the context's where None."""
    patches = patches or config.context_patches
    return config.depth * len(LEADS) * patches * block_flops_per_token(config, patches)


def decoder_flops(width: int, depth: int, mlp_ratio: int, patches: int) -> int:
    """The causal decoder's forward cost for one record; half of what attention both ways would cost."""
    maps = 2 * (4 + 2 * mlp_ratio) * width**2
    return depth * len(LEADS) * patches * (maps + 2 * patches * width)


def step_flops(shape: ModelConfig, beyond: Iterable[Flops]) -> int:
    """One record's cost in a training step: every pass by the formula, a backward one as two forward ones.

    The heads, under a thousandth of the encoder, are left out, and so is what checkpointing computes again.
    `beyond` is what each objective adds to the masked pass that every recipe has.
    """
    flops = list(beyond)
    learning = encoder_flops(shape) + sum(one.learning for one in flops)
    return 3 * learning + sum(one.following for one in flops)
