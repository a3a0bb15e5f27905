"""Measure pretraining steps of C1 and C3 on a GPU, relative to the rate of a matrix product.

    python -m benchmarks gpu [--out gpu.json] [--batch-size 8] [--steps 20] [--variant eager compile …]

The steps are at full size in bf16 autocast on synthetic shards. Variants use torch.compile, checkpointing,
an AdamW that isn't fused, or another backend of attention. The matrix product is 8192³ in bf16, in the same
run. In addition, the attention across the twelve leads is timed with each of SDPA's backends.

Shapes: B records, K any width.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend
from torch.nn.utils import clip_grad_norm_
from torch.utils._pytree import tree_map_only

import ecg_ontology
from benchmarks.corpora import prepared
from benchmarks.gpu_kernels import BACKENDS, in_short, product_rate, spatial, synchronise, under
from benchmarks.supervision import RECORDS as EPOCH
from marecg.corpus.batches import BatchStream
from marecg.errors import UsageError
from marecg.model.batch import Batch
from marecg.recipes import Config, by_name
from marecg.recipes.overrides import override
from marecg.train.data import supervise
from marecg.train.lightning_module import parameter_groups
from marecg.train.network import Network

WARM_UP = 3
TERA = 1e12
ONTOLOGY = ecg_ontology.load()


class Variant(NamedTuple):
    """Options of a step.

    Attributes:
        compile: mode of torch.compile, or "" for eager mode.
        checkpointing: whether activations are checkpointed.
        fused: whether AdamW is fused.
        attention: backend of SDPA; None for torch's choice.
    """

    compile: str = ""
    checkpointing: bool = False
    fused: bool = True
    attention: SDPBackend | None = None


VARIANTS = {
    "eager": Variant(),
    "compile": Variant(compile="default"),
    "compile-autotune": Variant(compile="max-autotune-no-cudagraphs"),
    "checkpoint": Variant(checkpointing=True),
    "compile+checkpoint": Variant(compile="default", checkpointing=True),
    "adamw-loop": Variant(fused=False),
    "attention-efficient": Variant(attention=SDPBackend.EFFICIENT_ATTENTION),
    "attention-cudnn": Variant(attention=SDPBackend.CUDNN_ATTENTION),
    "compile+attention-math": Variant(compile="default", attention=SDPBackend.MATH),
}
"""Variants by name. In the last, the compiler can fuse operations with the products of the attention."""
REACH = {"c1": 0.50, "c3": 0.45}
"""Target of each recipe's best variant: FLOP rate divided by the product's rate."""
DATA = 0.02
"""Target of the share of the time for fetching batches."""
RECIPES = tuple(REACH)


@dataclass(frozen=True)
class Result:
    """Speed of a recipe with a variant, or the problem that prevented the measurement.

    Attributes:
        tflops: FLOP rate in TFLOP/s.
        of_product: FLOP rate divided by the product's rate.
        data_share: share of the time in which the host fetched and pinned batches. For most of this time, the
            GPU was busy with the previous step.
        problem: description of the problem; "" if there was none.
    """

    recipe: str
    variant: str
    records_per_s: float = 0.0
    tflops: float = 0.0
    of_product: float = 0.0
    data_share: float = 0.0
    peak_gb: float = 0.0
    epoch_minutes: float = 0.0
    problem: str = ""


def pretraining(
    device: torch.device,
    recipes: Sequence[str],
    variants: Sequence[str],
    batch: int,
    steps: int,
    report: Callable[[str], None],
    keep: Callable[[dict[str, Any]], None] = lambda results: None,
    *,
    tiny: bool = False,
) -> dict[str, Any]:
    """Measure recipes with variants, and attention across the leads with each of SDPA's backends.

    Args:
        device: device to train on. A CPU only shows that the benchmark works.
        recipes: names from `RECIPES`.
        variants: names from `VARIANTS`.
        batch: records per micro-batch.
        steps: number of timed steps.
        report: function that is called with each line of the table.
        keep: function that is called with all results so far, after each measurement.
        tiny: use the tiny recipes and a small product.

    Returns:
        All results, as values for JSON.

    Raises:
        UsageError: a recipe or variant is unknown.
    """
    for name, known in [(each, VARIANTS) for each in variants] + [(each, RECIPES) for each in recipes]:
        if name not in known:
            raise UsageError(f"unknown recipe or variant {name!r}", remedy=f"Choose from {', '.join(known)}")
    size, calls = (256, 2) if tiny else (8192, 200)
    product = product_rate(device, size, calls)
    summary: dict[str, Any] = {"device": _name(device), "torch": torch.__version__, "batch": batch}
    summary |= {"fp32_products": torch.get_float32_matmul_precision(), "product_tflops": product / TERA}
    summary |= {"reach": REACH, "data_reach": DATA, "steps": [], "spatial": []}
    report(
        f"{summary['device']}, torch {summary['torch']}, product {product / TERA:.2f} TFLOP/s, "
        f"precision of fp32 products: {summary['fp32_products']} (highest: no TF32)"
    )
    report(f"{'':<32}{'records/s':>10}{'TFLOP/s':>9}{'of product':>11}{'data':>7}{'GB':>7}{'min/epoch':>11}")
    results: list[Result] = []
    for recipe in recipes:
        config = override(by_name(f"tiny-{recipe}" if tiny else recipe), [f"train.batch_size={batch}"])
        for name in variants:
            results.append(measured(config, name, device, steps, product))
            summary["steps"].append(asdict(results[-1]))
            report(line(results[-1]))
            keep(summary)
        report(best([each for each in results if each.recipe == config.name], REACH[recipe]))
    for backend in BACKENDS:
        timed = spatial(backend, device, 1 if tiny else batch, calls)
        summary["spatial"].append(timed)
        ms = timed["problem"] or f"{timed['ms']:.3f} ms"
        report(f"12×12 attention, {timed['backend']:<20} {ms}")
        keep(summary)
    return summary


def device_named(name: str) -> torch.device:
    """Return a device by name. Raises `UsageError` if there is no such device."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cuda" and not gpus:
        remedy = "To check that the benchmark works, use --device cpu --tiny"
        raise UsageError("no CUDA device", where="--device", remedy=remedy)
    known = [*(["cuda"] if gpus else []), *(f"cuda:{number}" for number in range(gpus)), "cpu"]
    if name not in known:
        problem = f"unknown device {name!r}"
        raise UsageError(problem, where="--device", remedy=f"Choose from {', '.join(known)}")
    return torch.device(name)


def measured(config: Config, name: str, device: torch.device, steps: int, product: float) -> Result:
    """Train for some steps. If an error occurs, for example in the compiler, it is the result."""
    try:
        return _train(config, name, device, steps, product)
    except Exception as error:  # noqa: BLE001 (an error in one variant must not stop the other variants)
        return Result(config.name, name, problem=in_short(error))
    finally:  # a variant mustn't influence the memory or the recompilations of the next variant
        torch.compiler.reset()
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


def _train(config: Config, name: str, device: torch.device, steps: int, product: float) -> Result:
    variant = VARIANTS[name]
    network = Network(config, ONTOLOGY)
    network.model.encoder.checkpoint_activations = variant.checkpointing
    network.to(device)
    if variant.compile:
        network.compile_encoders(variant.compile)
    optimizer = torch.optim.AdamW(
        parameter_groups([network.model, *network.objectives.values()], config.train.weight_decay),
        lr=config.train.lr,
        fused=variant.fused,
        foreach=False if not variant.fused else None,
    )
    batches = stream(config, WARM_UP + steps)
    waited = started = 0.0
    for number in range(WARM_UP + steps):
        if number == WARM_UP:
            synchronise(device)
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            waited, started = 0.0, time.perf_counter()
        before = time.perf_counter()
        batch = next(batches)
        batch = batch.pinned() if device.type == "cuda" else batch
        waited += time.perf_counter() - before
        batch = tree_map_only(Tensor, lambda value: value.to(device, non_blocking=True), batch)
        generator = torch.Generator(device).manual_seed(number)
        with under(variant.attention):
            with torch.autocast(device.type, torch.bfloat16):
                outcome = network(batch, generator, lambda z_BK: z_BK, epoch=50)
            outcome.loss.backward()
        clip_grad_norm_(network.parameters(), config.train.clip)
        optimizer.step()
        optimizer.zero_grad()
        network.after_step(number, WARM_UP + steps)
    synchronise(device)
    seconds = time.perf_counter() - started
    records = steps * config.train.batch_size
    rate = records / seconds * config.step_flops()
    return Result(
        config.name,
        name,
        records_per_s=records / seconds,
        tflops=rate / TERA,
        of_product=rate / product,
        data_share=waited / seconds,
        peak_gb=torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0,
        epoch_minutes=EPOCH / (records / seconds) / 60,
    )


def stream(config: Config, batches: int) -> Iterator[Batch]:
    """Return an iterator over micro-batches from the shards of a synthetic corpus."""
    corpus = prepared(4 * config.train.batch_size)
    supervision = supervise(config, corpus, ONTOLOGY)
    return iter(BatchStream(corpus, supervision, config.train.batch_size, batches, seed=0))


def line(result: Result) -> str:
    """Format a row of the table."""
    head = f"{f'{result.recipe} {result.variant}':<32}"
    if result.problem:
        return f"{head}{result.problem}"
    return (
        f"{head}{result.records_per_s:>10.1f}{result.tflops:>9.2f}{result.of_product:>11.3f}"
        f"{result.data_share:>7.3f}{result.peak_gb:>7.1f}{result.epoch_minutes:>11.1f}"
    )


def best(results: Sequence[Result], reach: float) -> str:
    """Return a line with a recipe's fastest variant and the target. A missed target is marked with `!`."""
    found = max(results, key=lambda result: result.of_product)
    data = f"data {found.data_share:.3f} (reach < {DATA})"
    missed = "" if found.of_product >= reach and found.data_share < DATA else " !"
    return f"{found.recipe}: {found.variant}, {found.of_product:.3f} (reach ≥ {reach}), {data}{missed}"


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
