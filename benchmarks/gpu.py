"""Pretraining on a GPU: how much of the machine's matrix product a step of C1 and of C3 reaches.

    python -m benchmarks gpu [--out gpu.json] [--batch-size 8] [--steps 20] [--variant eager compile …]

Trains at full size in bf16 autocast on synthetic shards: plain, with torch.compile, with checkpointing, with
AdamW's loop in place of the fused one, and with an attention of one's choice. Beside it stand the rate of an
8192³ bf16 product of the same run, and the attention across the twelve leads under each of SDPA's backends.

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
    """How a step is run; `compile` is a mode of torch.compile or empty, `attention` a backend of SDPA."""

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
"""The last one has the compiler fuse what surrounds the attention's products."""
REACH = {"c1": 0.50, "c3": 0.45}
"""What share of the product's rate the best variant of a recipe is to reach."""
DATA = 0.02
"""What share of the time fetching batches may take."""
RECIPES = tuple(REACH)


@dataclass(frozen=True)
class Result:
    """A recipe under a variant: its speed, or what went wrong.

    `of_product` is the share of the matrix product's rate; `data_share` that of the time in which the host
    fetched and pinned batches, most of it while the GPU was busy with the step before.
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
    say: Callable[[str], None],
    keep: Callable[[dict[str, Any]], None] = lambda told: None,
    *,
    tiny: bool = False,
) -> dict[str, Any]:
    """Measure recipes under variants, and attention across the leads under each of SDPA's backends.

    Args:
        device: where to train; a CPU only shows that it runs.
        recipes: out of c1 and c3.
        variants: names out of `VARIANTS`.
        batch: records per micro-batch.
        steps: how many are timed.
        say: takes the lines of a table as they come.
        keep: takes all that is known, after each measurement: a run cut short is not for nothing.
        tiny: the tiny recipes and a small product.

    Returns:
        Everything measured, ready for JSON.

    Raises:
        UsageError: there is no such recipe or variant.
    """
    for name, known in [(each, VARIANTS) for each in variants] + [(each, RECIPES) for each in recipes]:
        if name not in known:
            raise UsageError(f"there is no {name!r} to measure", remedy=f"Choose from {', '.join(known)}")
    size, calls = (256, 2) if tiny else (8192, 200)
    product = product_rate(device, size, calls)
    told: dict[str, Any] = {"device": _name(device), "torch": torch.__version__, "batch": batch}
    told |= {"fp32_products": torch.get_float32_matmul_precision(), "product_tflops": product / TERA}
    told |= {"reach": REACH, "data_reach": DATA, "steps": [], "spatial": []}
    say(
        f"{told['device']}, torch {told['torch']}, product {product / TERA:.2f} TFLOP/s, "
        f"what autocast leaves in fp32: {told['fp32_products']} (highest is without TF32)"
    )
    say(f"{'':<32}{'records/s':>10}{'TFLOP/s':>9}{'of product':>11}{'data':>7}{'GB':>7}{'min/epoch':>11}")
    results: list[Result] = []
    for recipe in recipes:
        config = override(by_name(f"tiny-{recipe}" if tiny else recipe), [f"train.batch_size={batch}"])
        for name in variants:
            results.append(measured(config, name, device, steps, product))
            told["steps"].append(asdict(results[-1]))
            say(line(results[-1]))
            keep(told)
        say(best([each for each in results if each.recipe == config.name], REACH[recipe]))
    for backend in BACKENDS:
        timed = spatial(backend, device, 1 if tiny else batch, calls)
        told["spatial"].append(timed)
        ms = timed["problem"] or f"{timed['ms']:.3f} ms"
        say(f"12×12 attention, {timed['backend']:<20} {ms}")
        keep(told)
    return told


def device_named(name: str) -> torch.device:
    """A device to train on. Raises `UsageError` where there is none of that name."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cuda" and not gpus:
        raise UsageError("no CUDA device", where="--device", remedy="--device cpu --tiny shows that it runs")
    known = [*(["cuda"] if gpus else []), *(f"cuda:{number}" for number in range(gpus)), "cpu"]
    if name not in known:
        problem = f"there is no device {name!r} here"
        raise UsageError(problem, where="--device", remedy=f"Choose from {', '.join(known)}")
    return torch.device(name)


def measured(config: Config, name: str, device: torch.device, steps: int, product: float) -> Result:
    """Train for some steps; running out of memory, or a compiler that fails, is a result too."""
    try:
        return _train(config, name, device, steps, product)
    except Exception as error:  # noqa: BLE001 (whatever a compiler or a driver raises, the others are yet to come)
        return Result(config.name, name, problem=in_short(error))
    finally:  # nothing of one variant may count as the next one's memory, or use up its recompilations
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
    """Micro-batches from the shards of a synthetic corpus."""
    corpus = prepared(4 * config.train.batch_size)
    supervision = supervise(config, corpus, ONTOLOGY)
    return iter(BatchStream(corpus, supervision, config.train.batch_size, batches, seed=0))


def line(result: Result) -> str:
    """A row of the table."""
    head = f"{f'{result.recipe} {result.variant}':<32}"
    if result.problem:
        return f"{head}{result.problem}"
    return (
        f"{head}{result.records_per_s:>10.1f}{result.tflops:>9.2f}{result.of_product:>11.3f}"
        f"{result.data_share:>7.3f}{result.peak_gb:>7.1f}{result.epoch_minutes:>11.1f}"
    )


def best(results: Sequence[Result], reach: float) -> str:
    """The variant that comes nearest to the product's rate, beside what is to be reached."""
    found = max(results, key=lambda result: result.of_product)
    data = f"data {found.data_share:.3f} (reach < {DATA})"
    missed = "" if found.of_product >= reach and found.data_share < DATA else " !"
    return f"{found.recipe}: {found.variant}, {found.of_product:.3f} (reach ≥ {reach}), {data}{missed}"


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
