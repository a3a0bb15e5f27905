"""Export a trained model as a single file that runs without marecg: ONNX, or a program of torch.export.

The file of an encoder takes windows that are as long as the encoder's context, and returns what
`marecg.embed` returns for each window. Resampling, cutting windows and averaging over windows are not part of
the file.

The file of a classifier takes whole records of any length. It returns the logits, the probabilities and the
called (assigned) classes of `EcgClassifier`. Only resampling is not part of the file.

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
"""Largest accepted absolute difference between the outputs of a file and of the PyTorch model.

The outputs are vectors after a LayerNorm, or logits.
"""
INPUTS = ("x", "n_valid", "absent")
ENDINGS: dict[Target, str] = {"onnx": ".onnx", "torch": ".pt2"}


class Comparison(NamedTuple):
    """Comparison of an exported file with its model.

    Attributes:
        records: number of compared records.
        difference: largest difference of features, or of a classifier's probabilities.
        changed: number of records for which the file and the classifier assign different classes; 0 for an
            encoder.
    """

    records: int
    difference: float
    changed: int


@dataclass(frozen=True)
class Export:
    """Exported file, and its differences from the model.

    Attributes:
        path: the file.
        difference: largest difference from the model on random records (`Comparison.difference`).
        records: number of random records.
        about: metadata of the file, for example the sampling rate and the names of the leads.
        real: comparison on the records passed to `export`; None without records.
    """

    path: Path
    difference: float
    records: int
    about: dict[str, str]
    real: Comparison | None = None


def export(run: str | Path, to: Target, out: str | Path, records: Iterable[Recording] = ()) -> Export:
    """Write an encoder or a classifier as a file, and compare its outputs with the PyTorch model.

    Args:
        run: a model as for `MarEcg.from_pretrained`, or a folder written by `EcgClassifier.save`.
        to: file format: `onnx`, or `torch` for a program of torch.export.
        out: file to write. Its suffix is `.onnx` or, for `torch`, `.pt2`.
        records: recordings on which a classifier's file is compared, in addition to random records.

    Raises:
        UsageError: `out` has the wrong suffix, a package for ONNX isn't installed, or the classifier's
            readout isn't `wide`.
        CheckpointError: the model can't be loaded.
        OutputError: the file can't be written, or its outputs differ by more than `TOLERANCE`.
    """
    out = Path(out)
    if (Path(run) / "corpus.json").is_file():
        remedy = "To write a corpus as HDF5 or Parquet, see docs/corpus/datasets.md"
        raise CheckpointError("must be a model, got a prepared corpus", where=run, remedy=remedy)
    if out.suffix != ENDINGS[to]:
        problem = f"--out must end in {ENDINGS[to]} with --to {to}, got {out.suffix or 'no suffix'}"
        raise UsageError(problem, where=out, remedy="Change the file's suffix")
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if to == "onnx" and not find_spec(name)]
    if missing:
        problem = f"export to ONNX needs {', '.join(missing)}"
        raise UsageError(problem, remedy="Install the extra: pip install 'marecg[onnx]'")
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
        real = _compared(network, run_file, map(_inputs_of, records), out)
    return Export(out, random.difference, random.records, metadata | opset, real if real.records else None)


def _compared(
    network: ExportedEncoder, run_file: Callable[[Inputs], Outputs], trials: Iterable[Inputs], out: Path
) -> Comparison:
    """Compare the results of a file and its model. Raises `OutputError` if they differ too much."""
    largest, difference, records, changed = 0.0, 0.0, 0, 0
    for inputs in trials:
        expected, results = network.reference(inputs), run_file(inputs)
        largest = max(largest, network.error(expected, results))
        by_name = dict(zip(network.outputs, zip(expected, results, strict=True), strict=True))
        if "called" in by_name:
            expected_calls, file_calls = by_name.pop("called")
            changed += int((expected_calls != file_calls).any(1).sum())
            del by_name["logit"]
        difference = max(difference, *(float((a - b).abs().max()) for a, b in by_name.values()))
        records += len(inputs[0])
    if not largest <= TOLERANCE:
        raise OutputError(
            f"the file must agree with the model to {TOLERANCE:.0e}, but differs by {largest:.1e}",
            where=out,
            remedy="Nothing was written. Try another version of torch",
        )
    return Comparison(records, difference, changed)


def _inputs_of(recording: Recording) -> Inputs:
    """Return a batch of one recording as inputs of a file."""
    x_CL = recording.x_CL[:, :]
    absent_BC = torch.from_numpy(recording.absent_C)[None]
    return torch.from_numpy(np.asarray(x_CL))[None], torch.tensor([x_CL.shape[1]]), absent_BC


def _program(network: ExportedEncoder) -> ExportedProgram:
    """Trace a network with its `example`. Stack traces are removed, because they contain local paths."""
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
    buffer = BytesIO()  # torch would abort the process if it wrote to a full disk
    torch.export.save(_program(network), buffer, extra_files={"marecg.json": json.dumps(metadata)})
    path.write_bytes(buffer.getbuffer())
    again = torch.export.load(path).module()
    return (lambda inputs: tuple(again(*inputs))), {}


WRITERS = {"onnx": _onnx, "torch": _torch}
"""Function that writes a file, for each format.

It returns a function that runs the file, and the version of the ONNX operators (opset) for the metadata.
"""


def _metadata(model: MarEcg) -> dict[str, str]:
    """Return the metadata that describes the encoder."""
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
    """Suppress warnings of the exporter that users can't act on."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)  # the exporter warns that torchvision is missing, but it isn't needed
    try:
        with warnings.catch_warnings():
            for message in (r"(?s).*LeafSpec", r"# The axis name: records will not be used"):
                warnings.filterwarnings("ignore", message=message)
            yield
    finally:
        log.setLevel(level)
