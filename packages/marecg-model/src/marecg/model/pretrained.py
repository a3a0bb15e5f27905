"""Saved models: a folder with config.json, model.safetensors, ontology.json and a model card.

A run writes this folder as `model/`. A repository on the Hugging Face hub contains the same files. Only JSON
and safetensors files are read. A model with missing or extra tensors, or another lead order, is refused.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from huggingface_hub import snapshot_download

from ecg_ontology import Ontology
from marecg.errors import CheckpointError, UsageError
from marecg.model.concept_scores import FILE as CONCEPT_SCORES
from marecg.model.concept_scores import TAUGHT, ConceptScores
from marecg.model.folder import FILES, Description, read, refuse_another, tensors_of, write_tensors
from marecg.model.names import local_folder
from marecg.model.readout import readout_width

if TYPE_CHECKING:
    from marecg.model.mar_ecg import MarEcg

Model = TypeVar("Model", bound="MarEcg")
REPLACEABLE = {*FILES, CONCEPT_SCORES, "answers.json", "README.md", ".gitattributes"}
"""Files that `save_pretrained` may replace or delete. A folder with any other file is refused."""

SHAPE = "A model's shape is in its config.json"
INSTEAD = dict.fromkeys(
    ("num_classes", "num_labels", "n_classes", "n_outputs"), "Use model.classifier(n_classes) to add a head"
) | dict.fromkeys(("device_map", "map_location"), "Use device='cuda'")
INSTEAD |= dict.fromkeys(("dtype", "torch_dtype"), "Use model.half() or model.bfloat16()")
"""Remedies for arguments that `from_pretrained` has in other libraries, but not here, by argument.

If a user passes such an argument, the error states the remedy.
"""


def write(model: "MarEcg", folder: Path) -> None:
    """Write a model's files into an existing folder, without its card."""
    description = Description(
        ontology=model.ontology.sha256,
        bundle=model.ontology.bundle_sha256,
        weights=write_tensors(folder / "model.safetensors", model.state_dict()),
        model=model.config,
        provenance=model.provenance,
        scores=model.scores,
        untaught_by_family=model.untaught_by_family,
    )
    (folder / "config.json").write_text(description.model_dump_json(indent=2), encoding="utf-8")
    model.ontology.save(folder / "ontology.json")
    scores = model.concept_scores
    if scores and scores.weights == weights_sha256(model):  # fine-tuned weights need new scores
        scores.write(folder)


def load(model_class: type[Model], folder: Path, ontology: Ontology | None = None) -> Model:
    """Load a model in eval mode. Raises the same errors as `MarEcg.from_pretrained`."""
    description, carried = read(folder)
    if ontology is not None:
        refuse_another(ontology, carried, folder)
    with torch.device("meta"):  # allocates no memory before the file is known to match
        model = model_class(description.model, carried)
    model.provenance, model.scores = description.provenance, description.scores
    model.untaught_by_family = description.untaught_by_family
    tensors = tensors_of(folder / "model.safetensors", model.state_dict(), description.weights)
    model.load_state_dict(tensors, strict=True, assign=True)
    if (folder / CONCEPT_SCORES).is_file():
        widths = {readout: readout_width(model.config, readout) for readout in TAUGHT}
        model.concept_scores = ConceptScores.read(folder, weights_sha256(model), len(model.ontology), widths)
    return model.eval()


def folder_named(name: str | Path, unknown: Mapping[str, Any], **how: Any) -> Path:
    """Return the folder of a model as `folder_of` does, after refusing unknown arguments.

    Args:
        name: as for `folder_of`.
        unknown: keyword arguments that a user passed to `from_pretrained`, but that the method doesn't have.
        how: as for `folder_of`.

    Raises:
        UsageError: If there are unknown arguments.
    """
    if unknown:
        remedy = next((INSTEAD[argument] for argument in unknown if argument in INSTEAD), SHAPE)
        raise UsageError(f"unknown arguments {', '.join(unknown)}", remedy=remedy)
    return folder_of(name, **how)


def folder_of(name: str | Path, **how: Any) -> Path:
    """Return the folder of a model. Download the model from the hub if necessary.

    Args:
        name: name of the model, as for `MarEcg.from_pretrained`.
        how: download options, as for `MarEcg.from_pretrained`.

    Raises:
        CheckpointError: If no model has this name, or if the download fails.
    """
    return local_folder(name) or _fetched(str(name), **how)


def weights_sha256(model: "MarEcg") -> str:
    """Return a SHA-256 hash of a model's settings, parameters and buffers."""
    digest = hashlib.sha256(model.config.model_dump_json().encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _fetched(hub_id: str, **how: Any) -> Path:
    try:
        return Path(snapshot_download(hub_id, allow_patterns=[*FILES, CONCEPT_SCORES, "answers.json"], **how))
    except Exception as error:  # the hub, its HTTP library and its proxy raise different exception classes
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise CheckpointError(
            f"isn't a local folder, and can't be downloaded from the Hugging Face hub ({reason[0]})",
            where=hub_id,
            remedy="Check the name and the network, or give a folder",
        ) from error
