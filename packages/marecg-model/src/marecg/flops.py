"""How much arithmetic the encoder takes: the model behind every speed that the project states.

A multiply-add counts as two. Norms, activations and softmax are left out: they move memory, not numbers.
"""

from marecg.config import LEADS, ModelConfig


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
