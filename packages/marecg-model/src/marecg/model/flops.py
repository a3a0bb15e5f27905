"""How much arithmetic encoder and training step take: the model behind every speed that is stated.

A multiply-add counts as two. Norms, activations and softmax are left out: they move memory, not numbers.
"""

from marecg.config import LEADS, Config, ModelConfig


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


def step_flops(config: Config) -> int:
    """One record's cost in a training step: every pass by the formula, a backward one as two forward ones.

    The heads, under a thousandth of the encoder, are left out, and so is what checkpointing computes again.
    """
    model, ar, jepa = config.model, config.ar, config.jepa
    encoder = encoder_flops(model)
    patches = (config.data.window - model.patch) // model.stride + 1
    maps = 2 * (4 + 2 * model.mlp_ratio) * ar.width**2
    causal = 2 * patches * ar.width  # half of what attention both ways costs
    learning = encoder + ar.depth * len(LEADS) * patches * (maps + causal)
    if config.view:
        learning += encoder
    if jepa:
        learning += encoder_flops(model.model_copy(update={"width": jepa.width, "depth": jepa.depth}))
    following = encoder if jepa else 0
    return 3 * learning + following
