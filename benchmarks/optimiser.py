"""Measure AdamW and the EMA on all parameters at once, relative to a loop over parameters."""

import copy

import torch

from benchmarks.ratio import Effort, Reach, Row, speedups
from marecg.model.config import ModelConfig
from marecg.nn.ema import Ema
from marecg.nn.encoder import Encoder


def adamw(effort: Effort) -> list[float]:
    """Return the speed of the fused AdamW, relative to torch's loop over parameters."""
    fast, slow = _encoder(effort), _encoder(effort)
    for encoder in (fast, slow):
        for parameter in encoder.parameters():
            parameter.grad = torch.ones_like(parameter)
    fused = torch.optim.AdamW(fast.parameters(), fused=True)
    loop = torch.optim.AdamW(slow.parameters(), foreach=False, fused=False)
    return speedups(fused.step, loop.step, effort)


def ema(effort: Effort) -> list[float]:
    """Return the speed of the EMA's single lerp, relative to θ' ← m θ' + (1 − m) θ for each parameter."""
    encoder = _encoder(effort)
    followed, looped = Ema(encoder), copy.deepcopy(encoder)

    @torch.no_grad()
    def loop() -> None:
        for slow, fast in zip(looped.parameters(), encoder.parameters(), strict=True):
            slow.copy_(0.99 * slow + 0.01 * fast)

    return speedups(lambda: followed.update(encoder, 0.99), loop, effort)


def _encoder(effort: Effort) -> Encoder:
    config = ModelConfig()
    return Encoder(config.width, effort.depth, config.heads, config.mlp_ratio)


LOOP, LIMIT = "loop over the parameters", "memory bandwidth"
ROWS = (
    Row("adamw", "fused AdamW, speed", LOOP, Reach("≥", 3), LIMIT, adamw),
    Row("ema", "EMA in one operation, speed", LOOP, Reach("≥", 3), LIMIT, ema),
)
