"""Export of a trained model as a single file that runs without marecg: ONNX, or a program of torch.export.

An encoder's file takes any number of windows of the encoder's context, and returns what `embed` returns for
each window. Resampling, cutting windows and averaging over them are not part of the file.

A classifier's file takes whole records of any length and returns what `EcgClassifier` returns. It includes
windows, their beginnings, head, calibration and thresholds. Only resampling is not part of the file.

Shapes: B records, C leads, L samples.
"""

import json
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from ecg_base import replacing
from ecg_records.signal.leads import LEADS
from marecg.classify.classifier import EcgClassifier
from marecg.classify.classifier_folder import is_classifier
from marecg.errors import CheckpointError, OutputError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.windows import Recording
from marecg.use.exported_networks import ExportedClassifier, ExportedEncoder, Inputs, Outputs

Target = Literal["onnx", "torch"]
TOLERANCE = 1e-4
"""Largest accepted difference from the eager model, in units of a LayerNorm's output."""
INPUTS = ("x", "n_valid", "absent")
ENDINGS: dict[Target, str] = {"onnx": ".onnx", "torch": ".pt2"}


class Comparison(NamedTuple):
    """Comparison of an exported file with its model: the largest difference over `records`.

    For a classifier, it is the largest difference of probabilities. `changed` counts the records for which
    the file and the classifier call different classes.
    """

    records: int
    difference: float
    changed: int


@dataclass(frozen=True)
class Export:
    """Result of an export: the file, and its differences from the model.

    Attributes:
        path: the exported file.
        difference: largest difference over random records, from `embed` for an encoder, and from
            `EcgClassifier` for a classifier.
        records: number of random records.
        about: metadata of the file.
        real: comparison on ECGs, if ECGs were given.
    """

    path: Path
    difference: float
    records: int
    about: dict[str, str]
    real: Comparison | None = None


def export(run: str | Path, to: Target, out: str | Path, records: Iterable[Recording] = ()) -> Export:
    """Write an encoder or a classifier as one file, after comparing it with the eager model.

    Args:
        run: a model as for `MarEcg.from_pretrained`, or a folder written by `EcgClassifier.save`.
        to: file format.
        out: file that ends in `.onnx`, or in `.pt2` for a program of torch.export.
        records: whole recordings on which a classifier's file is compared as well.

    Raises:
        UsageError: the file has the wrong suffix, the extra for ONNX is missing, or a classifier reads beats.
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
        raise UsageError(f"ONNX needs {', '.join(missing)}", remedy="Install it: pip install 'marecg[onnx]'")
    network = (
        ExportedClassifier(EcgClassifier.load(run))
        if is_classifier(run)
        else ExportedEncoder(MarEcg.from_pretrained(run))
    )
    network = network.cpu().eval().requires_grad_(False)
    metadata = _metadata(network.model) | network.about()
    with replacing(out) as temporary, _quiet():
        run_file, opset = WRITERS[to](network, temporary, metadata)
        random = _compared(network, run_file, network.trials(), out)
        real = _compared(network, run_file, map(_alone, records), out)
    return Export(out, random.difference, random.records, metadata | opset, real if real.records else None)


def _compared(
    network: ExportedEncoder, run_file: Callable[[Inputs], Outputs], trials: Iterable[Inputs], out: Path
) -> Comparison:
    """Compare the results of a file and its model. Raises `OutputError` if they differ."""
    largest, difference, records, changed = 0.0, 0.0, 0, 0
    for inputs in trials:
        expected, given = network.reference(inputs), run_file(inputs)
        largest = max(largest, network.error(expected, given))
        by_name = dict(zip(network.outputs, zip(expected, given, strict=True), strict=True))
        if "called" in by_name:
            mine, theirs = by_name.pop("called")
            changed += int((mine != theirs).any(1).sum())
            del by_name["logit"]
        difference = max(difference, *(float((a - b).abs().max()) for a, b in by_name.values()))
        records += len(inputs[0])
    if not largest <= TOLERANCE:
        raise OutputError(
            f"differs from the model by {largest:.1e}, more than {TOLERANCE:.0e}; nothing was written",
            where=out,
            remedy="Try another version of torch",
        )
    return Comparison(records, difference, changed)


def _alone(recording: Recording) -> Inputs:
    """Return the inputs of a file for a single recording."""
    x_CL = recording.x_CL[:, :]
    absent_BC = torch.from_numpy(recording.absent_C)[None]
    return torch.from_numpy(np.asarray(x_CL))[None], torch.tensor([x_CL.shape[1]]), absent_BC


def _program(network: ExportedEncoder) -> ExportedProgram:
    """Trace a network, without stack traces of this machine. Its `example` defines which axes are free."""
    example, free = network.example()
    program = torch.export.export(network, example, dynamic_shapes=free)
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            node.meta.pop("stack_trace", None)
    return program


def _onnx(
    network: ExportedEncoder, path: Path, metadata: dict[str, str]
) -> tuple[Callable[[Inputs], Outputs], dict[str, str]]:
    from onnxruntime import InferenceSession  # noqa: PLC0415 (an extra)

    exported = torch.onnx.export(
        _program(network), dynamo=True, input_names=INPUTS, output_names=network.outputs, verbose=False
    )
    assert exported is not None, "the exporter of torch.export gives a program"
    opset = {"opset": str(exported.model.opset_imports[""])}
    for node in exported.model.graph.all_nodes():
        node.metadata_props.pop("pkg.torch.onnx.stack_trace", None)
    exported.model.metadata_props.update(metadata | opset)
    exported.save(path, external_data=False)
    session = InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(inputs: Inputs) -> Outputs:
        by_name = {name: tensor.numpy() for name, tensor in zip(INPUTS, inputs, strict=True)}
        return tuple(torch.from_numpy(array) for array in session.run(network.outputs, by_name))

    return run, opset


def _torch(
    network: ExportedEncoder, path: Path, metadata: dict[str, str]
) -> tuple[Callable[[Inputs], Outputs], dict[str, str]]:
    buffer = BytesIO()  # when the disk is full, torch would abort the process
    torch.export.save(_program(network), buffer, extra_files={"marecg.json": json.dumps(metadata)})
    path.write_bytes(buffer.getbuffer())
    again = torch.export.load(path).module()
    return (lambda inputs: tuple(again(*inputs))), {}


WRITERS = {"onnx": _onnx, "torch": _torch}
"""Writers of file formats. Each returns a function that runs the file, and the opset if there is one."""


def _metadata(model: MarEcg) -> dict[str, str]:
    """Return a file's metadata as texts."""
    config = model.config
    return {
        "marecg": version("marecg"),
        "torch": torch.__version__,
        "leads": ",".join(LEADS),
        "unit": "mV",
        "fs": str(config.fs),
        "context": str(config.context),
        "patch": str(config.patch),
        "stride": str(config.stride),
        "beginnings": str(config.phases),
        "width": str(config.width),
        "ontology": model.ontology.sha256,
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings and notices of the exporter that users can't act on."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)  # it warns that torchvision is missing, which isn't needed
    try:
        with warnings.catch_warnings():
            for message in (r"(?s).*LeafSpec", r"# The axis name: records will not be used"):
                warnings.filterwarnings("ignore", message=message)
            yield
    finally:
        log.setLevel(level)
