"""Measure `embed` relative to forward passes of the same windows, and ONNX Runtime relative to torch.

Shapes: B records or windows, C leads, L samples.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from benchmarks.corpora import workspace
from benchmarks.ratio import Effort, Reach, Row, speedups
from benchmarks.together import beside_two_apart
from ecg_records.signal.leads import LEADS
from marecg.embedding.embed import embed
from marecg.embedding.embed_records import embed_records
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.model.windows import recording, stacked, tta_windows
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.use.export import INPUTS, export

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Windows [B, C, L] in mV, numbers of valid samples [B], and absent leads [B, C]."""
RECORDS = 128
DEPTH = 2
"""Number of blocks of the encoder. With more blocks, the overhead of `embed` would seem smaller."""


def beside_forward(recipe: str, settings: Sequence[str], number: int, effort: Effort) -> list[float]:
    """Return the speed of `embed`, relative to forward passes of the same windows."""
    config = override(by_name(recipe), settings).model
    model, x_BCL = MarEcg(config).eval(), _signals(number, config)
    batch = _windows(x_BCL, config)

    def forward() -> None:
        with torch.no_grad():
            for part in zip(*(torch.split(each, number) for each in batch), strict=True):
                model(*part)

    return speedups(
        lambda: embed(model, x_BCL, fs=config.fs, batch_size=number, readout="wide"), forward, effort
    )


def two_processes(effort: Effort) -> list[float]:
    """Return the speed of one `embed` with two processes, relative to two calls of `embed`.

    Each process has one thread. The model is `small`.
    """
    model = workspace() / "small"
    MarEcg(by_name("small").model).save_pretrained(model)
    return beside_two_apart(partial(embedded, model), effort.of(RECORDS), effort, ending=".npz", threads=1)


def embedded(model: Path, sources: Sequence[Path], out: Path, jobs: int) -> None:
    """Embed folders of records. A call without other processes uses one thread."""
    if jobs == 1:
        torch.set_num_threads(1)
    embed_records(model, sources, out, readout="wide", jobs=jobs)


def onnx_beside_torch(dynamic_int8: bool, effort: Effort) -> list[float]:
    """Return the speed of ONNX Runtime relative to torch, with `small` and the same number of threads.

    Raises:
        UsageError: the extra `marecg[onnx]` isn't installed.
    """
    model = MarEcg(by_name("small").model).eval()
    batch = _windows(_signals(2, model.config), model.config)
    with TemporaryDirectory(prefix="marecg-bench-") as folder:
        run = _session(model, Path(folder), dynamic_int8=dynamic_int8)

        def forward() -> None:
            with torch.no_grad():
                model(*batch)

        return speedups(lambda: run(batch), forward, effort)


def _session(model: MarEcg, folder: Path, *, dynamic_int8: bool) -> Callable[[Batch], object]:
    """Export a model, optionally with weights in int8, and return a function that runs a batch."""
    model.save_pretrained(folder / "model")
    file = export(folder / "model", "onnx", folder / "encoder.onnx").path
    runtime = import_module("onnxruntime")
    if dynamic_int8:
        file = quantised(file, folder / "int8.onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = runtime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return lambda batch: session.run(
        None, {name: part.numpy() for name, part in zip(INPUTS, batch, strict=True)}
    )


def quantised(file: Path, out: Path) -> Path:
    """Quantise an exported encoder to int8. The scale of activations is computed at run time."""
    exported = import_module("onnx").load(file)
    del exported.graph.value_info[:]  # the quantiser transposes weights and would find these shapes wrong
    import_module("onnxruntime.quantization").quantize_dynamic(exported, out)
    return out


def _signals(records: int, config: ModelConfig) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return records of noise with the length of the encoder's context."""
    return np.random.default_rng(0).normal(size=(records, len(LEADS), config.context)).astype(np.float32)


def _windows(x_BCL: np.ndarray[tuple[int, ...], np.dtype[np.float32]], config: ModelConfig) -> Batch:
    """Return all windows of records that `embed` passes to the encoder."""
    recordings = (recording(x_CL, config.fs, LEADS, config) for x_CL in x_BCL)
    return stacked([window for ecg in recordings for window in tta_windows(ecg, config)], config)


FORWARD = "forward passes of the same windows"
ROWS = (
    Row(
        "embed-full",
        f"`embed`, full width and {DEPTH} blocks, records/s",
        FORWARD,
        Reach("≥", 0.95),
        "1",
        partial(beside_forward, "c3", [f"model.depth={DEPTH}"], 2),
    ),
    Row(
        "embed-small",
        "`embed` of `small`, records/s",
        FORWARD,
        Reach("≥", 0.95),
        "1",
        partial(beside_forward, "small", [], 32),
    ),
    Row(
        "embed-two",
        "`embed` of `small` in two processes, records/s",
        "two separate `embed` commands with half the records each",
        Reach("≥", 0.92),
        "1",
        two_processes,
    ),
    Row(
        "onnx-fp32",
        "`small` in ONNX Runtime, windows/s",
        "`small` in torch",
        Reach("≥", 1),
        "",
        partial(onnx_beside_torch, False),
    ),
    Row(
        "onnx-int8",
        "`small` in ONNX Runtime with dynamic int8, windows/s",
        "`small` in torch",
        Reach("≥", 1),
        "",
        partial(onnx_beside_torch, True),
    ),
)
