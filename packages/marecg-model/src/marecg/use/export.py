"""A trained encoder as one file that needs no marecg: ONNX, or a program of torch.export.

The file takes windows of the encoder's context, as many at a time as one likes, and gives what
`MarEcg.forward` gives. Resampling, windows and the mean over them stay outside.

A classifier's file has its head and calibration inside: logits and probabilities of each window.

Shapes: B records, C leads, L samples of the context, T patches, D width, K classes, N knots of a calibration.
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
from marecg.base.errors import CheckpointError, OutputError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.use.classifier import EcgClassifier
from marecg.use.classifier_folder import is_classifier

Target = Literal["onnx", "torch"]
Inputs = tuple[Tensor, Tensor, Tensor]
"""x [B, C, L] in mV, n_valid int64 [B], absent bool [B, C]."""
Outputs = list[Tensor]
"""rhythm [B, D] and patch [B, T, D]; of a classifier logit and probability [B, K]."""

TOLERANCE = 1e-4
"""The largest difference from the eager model that is let pass, in units of a LayerNorm's output."""
BATCHES = (1, 2, 5)
INPUTS = ("x", "n_valid", "absent")
ENDINGS: dict[Target, str] = {"onnx": ".onnx", "torch": ".pt2"}


@dataclass(frozen=True)
class Export:
    """A file that was written, and what it says of itself.

    `difference` is the largest from the eager model, over `records` random ones.
    """

    path: Path
    difference: float
    records: int
    about: dict[str, str]


class _Frozen(nn.Module):
    """The encoder with plain arguments and a plain tuple of results."""

    outputs: tuple[str, str] = ("rhythm", "patch")

    def __init__(self, model: MarEcg) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, n_valid: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
        features = self.model(x, n_valid, absent)
        return features.rhythm_BD, features.patch_BTD

    def about(self) -> dict[str, str]:
        """What the file says beside what it says of the encoder."""
        return {}


class _Calibrated(_Frozen):
    """A classifier with its head and calibration."""

    outputs = ("logit", "probability")
    knots_KN: Tensor
    values_KN: Tensor
    slope_K: Tensor
    shift_K: Tensor
    isotonic_K: Tensor

    def __init__(self, classifier: EcgClassifier) -> None:
        if classifier.readout == "beats":
            remedy = "Fit it again with --set readout=wide"
            raise UsageError("reads beats, whose R-peaks no file of a network finds", remedy=remedy)
        super().__init__(classifier.encoder)
        self.net, self.several = classifier.tuned_.net, classifier.several_
        self._said = {
            "classes": json.dumps(classifier.classes_.tolist()),
            "thresholds": json.dumps(classifier.thresholds_.tolist()),
        }
        curves = classifier.calibrations_
        most = max(1, *(len(curve.knots) for curve in curves))
        for name in ("knots", "values"):
            rows = [list(getattr(curve, name)) or [0.0] for curve in curves]
            padded_KN = [row + row[-1:] * (most - len(row)) for row in rows]
            self.register_buffer(f"{name}_KN", torch.tensor(padded_KN))
        for name in ("slope", "shift"):
            self.register_buffer(f"{name}_K", torch.tensor([getattr(curve, name) for curve in curves]))
        self.register_buffer("isotonic_K", torch.tensor([curve.kind == "isotonic" for curve in curves]))

    def forward(self, x: Tensor, n_valid: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
        z_BK = self.net(x, n_valid, absent)
        p_BK = torch.where(
            self.isotonic_K, self._between(z_BK), (self.slope_K * z_BK + self.shift_K).sigmoid()
        )
        return z_BK, p_BK if self.several else p_BK / p_BK.sum(1, keepdim=True).clamp(min=1e-12)

    def _between(self, z_BK: Tensor) -> Tensor:
        """`numpy.interp` of every class."""
        passed_BK = (z_BK[..., None] >= self.knots_KN).sum(-1)
        classes_K, last = torch.arange(self.knots_KN.shape[0]), self.knots_KN.shape[1] - 1

        def at(table_KN: Tensor, place_BK: Tensor) -> Tensor:
            return table_KN[classes_K, place_BK.clamp(0, last)]

        low, high = at(self.knots_KN, passed_BK - 1), at(self.knots_KN, passed_BK)
        share_BK = ((z_BK - low) / (high - low).clamp(min=1e-12)).clamp(0, 1)
        start, end = at(self.values_KN, passed_BK - 1), at(self.values_KN, passed_BK)
        return start + share_BK * (end - start)

    def about(self) -> dict[str, str]:
        return self._said


def export(run: str | Path, to: Target, out: str | Path) -> Export:
    """Write the encoder of a run, or a classifier, as one file, if it says what the eager model says.

    `run` is as for `MarEcg.from_pretrained`, or a folder of `EcgClassifier.save`; `out` ends in `.onnx`, or
    in `.pt2` for a program of torch.export.

    Raises:
        UsageError: the file has another ending, the extra for ONNX is missing, or a classifier reads beats.
        CheckpointError: the model can't be loaded.
        OutputError: the file can't be written, or differs from the eager model by more than `TOLERANCE`.
    """
    out = Path(out)
    if (Path(run) / "corpus.json").is_file():
        remedy = "docs/corpus/datasets.md writes one as HDF5 or Parquet in a few lines"
        raise CheckpointError("is a prepared corpus, not a model", where=run, remedy=remedy)
    if out.suffix != ENDINGS[to]:
        raise UsageError(f"--to {to} writes {ENDINGS[to]}", where=out, remedy="Change the file's ending")
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if to == "onnx" and not find_spec(name)]
    if missing:
        raise UsageError(
            f"ONNX needs {', '.join(missing)}", remedy="Install it: pip install 'marecg-model[onnx]'"
        )
    whole = (
        _Calibrated(EcgClassifier.load(run)) if is_classifier(run) else _Frozen(MarEcg.from_pretrained(run))
    )
    frozen = whole.cpu().eval().requires_grad_(False)
    model = frozen.model
    about = _about(model) | frozen.about()
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
        _program(frozen), dynamo=True, input_names=INPUTS, output_names=frozen.outputs, verbose=False
    )
    assert exported is not None, "the exporter of torch.export gives a program"
    opset = {"opset": str(exported.model.opset_imports[""])}
    exported.model.metadata_props.update(about | opset)
    exported.save(path, external_data=False)
    session = InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(inputs: Inputs) -> Outputs:
        named = {name: tensor.numpy() for name, tensor in zip(INPUTS, inputs, strict=True)}
        return [torch.from_numpy(array) for array in session.run(frozen.outputs, named)]

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
