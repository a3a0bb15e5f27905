"""A trained encoder as one file that needs no marecg: ONNX, or a program of torch.export.

The file takes windows of the encoder's context, as many at a time as one likes, and gives what
`MarEcg.forward` gives. Resampling, windows and the mean over them stay outside.

Shapes: B records, C leads, L samples of the context, T patches, D width.
"""

import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from ecg_ontology import replacing
from marecg.base.config import LEADS
from marecg.base.errors import OutputError, UsageError
from marecg.model.mar_ecg import MarEcg

Target = Literal["onnx", "torch"]
Inputs = tuple[Tensor, Tensor, Tensor]
"""x [B, C, L] in mV, n_valid int64 [B], absent bool [B, C]."""
Outputs = list[Tensor]
"""rhythm [B, D] and patch [B, T, D]."""

TOLERANCE = 1e-4
"""The largest difference from the eager model that is let pass, in units of a LayerNorm's output."""
BATCHES = (1, 2, 5)
INPUTS, OUTPUTS = ("x", "n_valid", "absent"), ("rhythm", "patch")
ENDINGS: dict[Target, str] = {"onnx": ".onnx", "torch": ".pt2"}


@dataclass(frozen=True)
class Export:
    """A file that was written.

    Attributes:
        path: where.
        difference: the largest from the eager model, over `records` random ones.
        records: how many were compared.
        about: what the file says of itself.
    """

    path: Path
    difference: float
    records: int
    about: dict[str, str]


class _Frozen(nn.Module):
    """The encoder with plain arguments and a plain tuple of results."""

    def __init__(self, model: MarEcg) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, n_valid: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
        features = self.model(x, n_valid, absent)
        return features.rhythm_BD, features.patch_BTD


def export(run: str | Path, to: Target, out: str | Path) -> Export:
    """Write the encoder of a run as one file, if it says what the eager model says.

    Args:
        run: a run or a model, as for `MarEcg.from_pretrained`.
        to: `onnx`, or `torch` for a program of torch.export.
        out: `.onnx` or `.pt2`.

    Raises:
        UsageError: the file has another ending, or the extra for ONNX is missing.
        CheckpointError: the model can't be loaded.
        OutputError: the file can't be written, or differs from the eager model by more than `TOLERANCE`.
    """
    out = Path(out)
    if out.suffix != ENDINGS[to]:
        raise UsageError(f"--to {to} writes {ENDINGS[to]}", where=out, remedy="Change the file's ending")
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if to == "onnx" and not find_spec(name)]
    if missing:
        raise UsageError(
            f"ONNX needs {', '.join(missing)}", remedy="Install it: pip install 'marecg-model[onnx]'"
        )
    model = MarEcg.from_pretrained(run)
    frozen = _Frozen(model).eval().requires_grad_(False)
    about = _about(model)
    with replacing(out) as temporary, _quiet():
        run_file, opset = WRITERS[to](frozen, temporary, about)
        difference = max(
            float((mine - theirs).abs().max())
            for inputs in _trials(model)
            for mine, theirs in zip(frozen(*inputs), run_file(inputs), strict=True)
        )
        if not difference <= TOLERANCE:
            raise OutputError(
                f"differs from the model by {difference:.1e}, more than {TOLERANCE:.0e}; nothing was written",
                where=out,
                remedy="Try another version of torch",
            )
    return Export(out, difference, sum(BATCHES), about | opset)


def _program(frozen: _Frozen) -> ExportedProgram:
    """Trace the encoder for any number of records of the context's length."""
    config = frozen.model.config
    records = Dim("records", min=1)
    example = (
        torch.zeros(2, len(LEADS), config.context),
        torch.full((2,), config.context),
        torch.zeros(2, len(LEADS), dtype=torch.bool),
    )
    return torch.export.export(frozen, example, dynamic_shapes=({0: records}, {0: records}, {0: records}))


def _onnx(
    frozen: _Frozen, path: Path, about: dict[str, str]
) -> tuple[Callable[[Inputs], Outputs], dict[str, str]]:
    from onnxruntime import InferenceSession  # noqa: PLC0415 (an extra)

    exported = torch.onnx.export(
        _program(frozen),
        dynamo=True,
        input_names=INPUTS,
        output_names=OUTPUTS,
        verbose=False,
    )
    assert exported is not None, "the exporter of torch.export gives a program"
    opset = {"opset": str(exported.model.opset_imports[""])}
    exported.model.metadata_props.update(about | opset)
    exported.save(path, external_data=False)
    session = InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(inputs: Inputs) -> Outputs:
        named = {name: tensor.numpy() for name, tensor in zip(INPUTS, inputs, strict=True)}
        return [torch.from_numpy(array) for array in session.run(OUTPUTS, named)]

    return run, opset


def _torch(
    frozen: _Frozen, path: Path, about: dict[str, str]
) -> tuple[Callable[[Inputs], Outputs], dict[str, str]]:
    buffer = BytesIO()  # onto a full disk torch would end the process
    torch.export.save(_program(frozen), buffer, extra_files={"marecg.json": json.dumps(about)})
    path.write_bytes(buffer.getbuffer())
    again = torch.export.load(path).module()
    return (lambda inputs: list(again(*inputs))), {}


WRITERS = {"onnx": _onnx, "torch": _torch}
"""Each writes a file and gives back what runs it, and the opset if there is one."""


def _about(model: MarEcg) -> dict[str, str]:
    """What a file says of itself, as text."""
    config = model.config
    return {
        "marecg": version("marecg-model"),
        "torch": torch.__version__,
        "leads": ",".join(LEADS),
        "unit": "mV",
        "fs": str(config.fs),
        "context": str(config.context),
        "patch": str(config.patch),
        "stride": str(config.stride),
        "width": str(config.width),
        "ontology": model.ontology.sha256,
    }


def _trials(model: MarEcg) -> Iterator[Inputs]:
    """Random records in batches of several sizes: whole and padded, with and without absent leads."""
    config, rng = model.config, np.random.default_rng(0)
    for batch in BATCHES:
        x = rng.normal(0, 0.3, (batch, len(LEADS), config.context)) + rng.normal(0, 1, (batch, len(LEADS), 1))
        n_valid = rng.integers(config.patch, config.context, batch)
        n_valid[::2] = config.context
        absent = rng.random((batch, len(LEADS))) < rng.random((batch, 1))
        absent[::2] = False
        absent[:, 1] = False
        yield torch.from_numpy(x).float(), torch.from_numpy(n_valid), torch.from_numpy(absent)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's own warnings and notices from a user who can do nothing about them."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)  # it misses torchvision, which is not needed
    try:
        with warnings.catch_warnings():
            for message in (r"(?s).*LeafSpec", r"# The axis name: records will not be used"):
                warnings.filterwarnings("ignore", message=message)
            yield
    finally:
        log.setLevel(level)
