"""Measure the encoder's FLOP rate relative to a matrix product, and check its FLOP formula.

Shapes: B records, T patches, C leads, D width, K any width, L tokens of a plain transformer.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import linear
from torch.utils._pytree import tree_map_only
from torch.utils.flop_counter import FlopCounterMode

import ecg_ontology
from benchmarks.batches import noise_batch
from benchmarks.ratio import Action, Effort, Reach, Row, alternate
from ecg_records.signal.leads import LEADS
from marecg.base.memory import keep_freed
from marecg.model.config import ModelConfig
from marecg.model.flops import encoder_flops
from marecg.nn.encoder import Encoder
from marecg.recipes import c3
from marecg.recipes.overrides import override
from marecg.train.network import Network

RECORDS, DEPTH = 2, 2
PRODUCTS = 20
"""Number of matrix products in a turn of the baseline. They take about as long as the encoder."""
VIT_TOKENS = 197
"""Length of a sequence of ViT-B/16: 14 × 14 patches and a class token."""
BACKBONE = (
    "model.tokens",
    "model.encoder",
    "objectives.ar.decoder",
    "objectives.jepa.predictor",
    "objectives.jepa.ema.module.0",
    "objectives.jepa.ema.module.1",
)
"""Modules that don't count as auxiliary heads in the paper (§Computational efficiency)."""


class Work(NamedTuple):
    """Action to time, and its number of FLOPs."""

    run: Action
    flops: float


def forward(effort: Effort) -> list[float]:
    """Return the FLOP rate of the encoder's forward pass, divided by the rate of F.linear at its shape."""
    return _rates(_encoder(), _product(), effort)


def both_ways(effort: Effort) -> list[float]:
    """Return the FLOP rate of a forward and backward pass, divided by the rate of F.linear at its shape.

    A backward pass has twice the FLOPs of a forward pass.
    """
    keep_freed()  # as `marecg train` does
    return _rates(_encoder(backward=True), _product(), effort)


def per_flop(effort: Effort) -> list[float]:
    """Return the encoder's FLOP rate, divided by the rate of torch's transformer with ViT-B blocks.

    Both have the same number of FLOPs.
    """
    encoder = _encoder()
    layer = nn.TransformerEncoderLayer(
        768, 12, 3072, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    vit = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False).eval()
    per_image = VIT_TOKENS * DEPTH * (2 * 12 * 768**2 + 4 * VIT_TOKENS * 768)
    images = round(encoder.flops / per_image)
    h_BLD = torch.randn(images, VIT_TOKENS, 768)
    return _rates(encoder, Work(torch.no_grad()(lambda: vit(h_BLD)), images * per_image), effort)


def formula(effort: Effort) -> list[float]:
    """Return the FLOPs by our formula, divided by the FLOPs that torch counts.

    Attention must use matrix products, because torch can't count a fused kernel.
    """
    config = ModelConfig(depth=1)
    with torch.device("meta"):
        encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
        h_BTCD = torch.empty(1, config.context_patches, len(LEADS), config.width)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        encoder(h_BTCD)
    return [encoder_flops(config) / counter.get_total_flops()]


def head_share(effort: Effort) -> list[float]:
    """Return the FLOPs of C3's auxiliary heads, divided by the FLOPs of a forward pass of the encoder.

    They are counted on meta tensors. The network has only one block, because blocks aren't counted.
    """
    config, ontology = override(c3(), ["model.depth=1"]), ecg_ontology.load()
    network = Network(config, ontology).to("meta")
    batch = tree_map_only(
        torch.Tensor, lambda value: value.to("meta"), noise_batch(RECORDS, ontology, config)
    )
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(batch, torch.Generator(), lambda z_BK: z_BK, epoch=50)
    counts = {name: sum(ops.values()) for name, ops in counter.get_flop_counts().items()}
    heads = counts["Global"] - sum(counts[f"Network.{part}"] for part in BACKBONE)
    return [heads / (RECORDS * encoder_flops(c3().model))]


def _rates(ours: Work, baseline: Work, effort: Effort) -> list[float]:
    turns = alternate(ours.run, baseline.run, effort)
    return [ours.flops / turn.ours / (baseline.flops / turn.baseline) for turn in turns]


def _encoder(*, backward: bool = False) -> Work:
    config = ModelConfig(depth=DEPTH)
    encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
    x_BTCD = torch.randn(RECORDS, config.context_patches, len(LEADS), config.width)
    flops = RECORDS * encoder_flops(config)
    if backward:
        return Work(lambda: encoder(x_BTCD).sum().backward(), 3 * flops)
    return Work(torch.no_grad()(lambda: encoder(x_BTCD)), flops)


def _product() -> Work:
    config = ModelConfig()
    tokens = RECORDS * len(LEADS) * config.context_patches
    x_LD, weight_DD = torch.randn(tokens, config.width), torch.randn(config.width, config.width)
    return Work(
        lambda: [linear(x_LD, weight_DD) for _ in range(PRODUCTS)], PRODUCTS * 2 * tokens * config.width**2
    )


SHAPE = f"F.linear {RECORDS * len(LEADS) * ModelConfig().context_patches}×768×768, FLOP/s"
ROWS = (  # rows that use more memory come last, because they slow down later rows
    Row("encoder-forward", "encoder, forward pass in fp32, FLOP/s", SHAPE, Reach("≥", 0.88), "1", forward),
    Row(
        "encoder-per-flop",
        "encoder, forward pass, FLOP/s",
        "nn.TransformerEncoder with ViT-B/16 blocks, FLOP/s",
        Reach("≥", 1.05),
        "~1.2",
        per_flop,
    ),
    Row(
        "encoder-both-ways",
        "encoder, forward and backward pass, FLOP/s",
        SHAPE,
        Reach("≥", 0.88),
        "1",
        both_ways,
    ),
    Row("flop-formula", "FLOPs by our formula", "FLOPs that torch counts", Reach("=", 1.0), "1", formula),
    Row(
        "head-flops",
        "FLOPs of C3's auxiliary heads",
        "FLOPs of the encoder",
        Reach("≤", 0.02),
        "0",
        head_share,
    ),
)
