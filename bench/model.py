"""What the encoder and its training cost, each figure against a baseline in the same run.

Run it with `python bench/model.py`, on a machine that does nothing else.
"""

import copy
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

import ecg_ontology
from marecg.concept_text import shipped
from marecg.config import LEADS, Config, ModelConfig
from marecg.data.loader import Batch
from marecg.data.supervision import Supervision
from marecg.flops import encoder_flops
from marecg.network import Network
from marecg.nn.ema import Ema
from marecg.nn.encoder import Encoder
from marecg.objectives.total import total_loss
from marecg.overrides import override
from marecg.recipes import by_name

REPEATS = 5
RECORDS = 2


class Row(NamedTuple):
    """One line of the table: a ratio, its spread over the repeats, and what to reach."""

    what: str
    against: str
    ratio: float
    spread: float
    reach: str


def side_by_side(ours: Callable[[], object], baseline: Callable[[], object]) -> list[tuple[float, float]]:
    """Seconds of both, taken in turns, the first turn left out."""
    turns = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        baseline()
        turns.append((middle - start, time.perf_counter() - middle))
    return turns[1:]


def row(what: str, against: str, ratios: list[float], reach: str) -> Row:
    """The median of the ratios and half their range."""
    return Row(what, against, statistics.median(ratios), (max(ratios) - min(ratios)) / 2, reach)


def encoder_rows(depth: int = 2) -> list[Row]:
    """The encoder's arithmetic rate beside that of a bare matrix product of its own shape."""
    config = ModelConfig(depth=depth)
    encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
    tokens = RECORDS * len(LEADS) * config.context_patches
    x_BTCD = torch.randn(RECORDS, config.context_patches, len(LEADS), config.width)
    a, weight = torch.randn(tokens, config.width), torch.randn(config.width, config.width)
    flops = RECORDS * encoder_flops(config)
    gemm_flops = 20 * 2 * tokens * config.width**2

    def gemm() -> None:
        for _ in range(20):
            torch.nn.functional.linear(a, weight)

    def forward() -> None:
        with torch.no_grad():
            encoder(x_BTCD)

    def both_ways() -> None:
        encoder(x_BTCD).sum().backward()

    layer = nn.TransformerEncoderLayer(
        768, 12, 3072, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    vit = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
    length = config.context_patches * len(LEADS) // 8
    vit_flops = RECORDS * 8 * length * depth * (2 * 12 * 768**2 + 4 * length * 768)
    v_BLD = torch.randn(RECORDS * 8, length, 768)

    def vit_forward() -> None:
        with torch.no_grad():
            vit(v_BLD)

    return [
        row(
            "encoder forward, fp32",
            "F.linear rate",
            [flops / ours * base / gemm_flops for ours, base in side_by_side(forward, gemm)],
            "≥ 0.88",
        ),
        row(
            "encoder forward and backward",
            "F.linear rate",
            [3 * flops / ours * base / gemm_flops for ours, base in side_by_side(both_ways, gemm)],
            "≥ 0.88",
        ),
        row(
            "encoder per FLOP",
            "nn.TransformerEncoder, ViT-B",
            [flops / ours * base / vit_flops for ours, base in side_by_side(forward, vit_forward)],
            "≥ 1.05",
        ),
    ]


def step_rows(depth: int = 4) -> list[Row]:
    """Steps of C2 and C3 beside one of C1, at full width and a depth that a CPU can wait for."""
    ontology = ecg_ontology.load()
    batch = _batch(ontology)
    steps = {name: _step(_sized(name, depth), ontology, batch) for name in ("c1", "c2", "c3")}
    return [
        row(
            f"{name.upper()} step at depth {depth}",
            "C1 step",
            [ours / base for ours, base in side_by_side(steps[name], steps["c1"])],
            "≤ 2.5",
        )
        for name in ("c2", "c3")
    ]


def optimiser_rows() -> list[Row]:
    """AdamW and the EMA in one fused call beside a loop over parameters."""
    encoder = Encoder(768, 4, 12, 4)
    for parameter in encoder.parameters():
        parameter.grad = torch.randn_like(parameter)
    fused = torch.optim.AdamW(encoder.parameters(), fused=True)
    loop = torch.optim.AdamW(copy.deepcopy(encoder).parameters(), foreach=False, fused=False)
    for group, source in zip(loop.param_groups[0]["params"], encoder.parameters(), strict=True):
        group.grad = source.grad
    ema = Ema(encoder)

    def ema_loop() -> None:
        with torch.no_grad():
            for slow, fast in zip(ema.module.parameters(), encoder.parameters(), strict=True):
                slow.copy_(0.99 * slow + 0.01 * fast)

    return [
        row(
            "AdamW, fused",
            "per-parameter loop",
            [base / ours for ours, base in side_by_side(fused.step, loop.step)],
            "≥ 3",
        ),
        row(
            "EMA, foreach lerp",
            "per-parameter loop",
            [base / ours for ours, base in side_by_side(lambda: ema.update(encoder, 0.99), ema_loop)],
            "≥ 3",
        ),
    ]


def _sized(name: str, depth: int) -> Config:
    return override(by_name(name), [f"model.depth={depth}"])


def _step(config: Config, ontology: ecg_ontology.Ontology, batch: Batch) -> Callable[[], None]:
    network = Network(
        config, torch.tensor(ontology.a_hat), shipped(ontology) if config.mpct is not None else None
    )

    def step() -> None:
        outcome = network(batch, torch.Generator().manual_seed(0), _same)
        total_loss(outcome.named, config, epoch=50).backward()
        network.zero_grad()

    return step


def _same(z_BK: Tensor) -> Tensor:
    return z_BK


def _batch(ontology: ecg_ontology.Ontology) -> Batch:
    """Two records of noise with labels and beats."""
    shape = ModelConfig()
    y = ontology.leaf_multi_hot([["164889003"], ["54329005"]])
    supervision = Supervision(
        torch.from_numpy(y.astype(bool)),
        torch.from_numpy(ontology.soft_targets(y)).float(),
        torch.arange(200, 3400, 400).expand(RECORDS, -1),
        torch.full((RECORDS,), 0.8),
        torch.full((RECORDS,), 0.1),
        torch.tensor([1, 2]),
        torch.zeros(RECORDS),
        torch.ones(RECORDS, shape.context_patches, dtype=torch.int8),
    )
    return Batch(
        0, torch.arange(RECORDS), torch.randn(RECORDS, 12, 4700), torch.full((RECORDS,), 4700), supervision
    )


def main() -> None:
    """Print the table."""
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {REPEATS} repeats")
    print(f"{'what':<32}{'against':<32}{'ratio':>8}{'±':>8}   reach")
    for part in (encoder_rows, optimiser_rows, step_rows):
        for line in part():
            print(
                f"{line.what:<32}{line.against:<32}{line.ratio:>8.2f}{line.spread:>8.2f}   {line.reach}",
                flush=True,
            )


if __name__ == "__main__":
    main()
