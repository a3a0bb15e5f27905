"""Saved models: a folder with config.json, model.safetensors, ontology.json and a model card.

A run writes this folder as `model/`, and a repository on the Hugging Face hub contains the same files. Only
JSON and safetensors are read. A folder with missing, extra or reordered content is refused.
"""

import hashlib
from pathlib import Path
from typing import Any, Self

import torch
from huggingface_hub import ModelCard, ModelHubMixin, snapshot_download
from safetensors.torch import save_file
from torch import Tensor, nn

import ecg_ontology
from ecg_base import file_sha256, refuse_others, replacing
from ecg_ontology import Ontology
from marecg.base.device import named_device
from marecg.errors import CheckpointError, UsageError
from marecg.model.card import Provenance, model_card
from marecg.model.card_figures import Score
from marecg.model.concept_scores import FILE as CONCEPT_SCORES
from marecg.model.concept_scores import ConceptScores
from marecg.model.config import ModelConfig
from marecg.model.folder import FILES, Description, read, refuse_another, refuse_non_finite, tensors_of
from marecg.model.names import local_folder
from marecg.model.readout import readout_width

REPLACEABLE = {*FILES, CONCEPT_SCORES, "answers.json", "README.md", ".gitattributes"}
"""Files that `save_pretrained` may replace or delete. A folder with any other file is refused."""

SHAPE = "A model's shape is in its config.json"
INSTEAD = dict.fromkeys(
    ("num_classes", "num_labels", "n_classes", "n_outputs"), "model.classifier(n_classes) puts a head on it"
) | dict.fromkeys(("device_map", "map_location"), "Say device='cuda'")
INSTEAD |= dict.fromkeys(("dtype", "torch_dtype"), "model.half() or model.bfloat16() casts it")
"""Remedies for arguments known from other libraries."""


class Pretrained(nn.Module, ModelHubMixin):
    """Module that can be saved to and loaded from a folder or the Hugging Face hub.

    Args:
        config: shape of the model. `concepts` must be None or the number of concepts in the ontology.
        ontology: concepts of the prototypes, in their order. The packaged ontology if None.

    Raises:
        ConfigError: If the shape has another number of concepts.
    """

    prototypes: Tensor

    def __init__(self, config: ModelConfig, ontology: Ontology | None = None) -> None:
        super().__init__()
        self.ontology = ontology or ecg_ontology.load()
        self.config = config.of_concepts(len(self.ontology))
        self.provenance: Provenance | None = None
        self.scores: tuple[Score, ...] = ()
        self.untaught_by_family: tuple[str, ...] = ()
        self.concept_scores: ConceptScores | None = None

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        repo_id: str | None = None,
        push_to_hub: bool = False,
        **push_to_hub_kwargs: Any,
    ) -> str | None:
        """Write the model and its card into a folder, completely or not at all, and optionally upload it.

        Args:
            save_directory: folder to create. It is replaced if it contains a model.
            repo_id: repository on the hub. The folder's name if None.
            push_to_hub: whether to upload.
            push_to_hub_kwargs: options of `push_to_hub`: `private`, `token`, `branch`, …

        Returns:
            Address of the upload, or None without an upload.

        Raises:
            OutputError: If the folder can't be written.
            UsageError: If the folder contains other files, which would be lost.
            CheckpointError: If a weight isn't finite. Nothing is written.
        """
        folder = Path(save_directory)
        refuse_non_finite(self.state_dict(), folder)
        refuse_others(folder, REPLACEABLE.__contains__)
        with replacing(folder) as temporary:
            super().save_pretrained(temporary)
        return self.push_to_hub(repo_id or folder.name, **push_to_hub_kwargs) if push_to_hub else None

    def _save_pretrained(self, save_directory: Path) -> None:
        config, tensors = save_directory / "config.json", save_directory / "model.safetensors"
        # A model that was cast, for example by half(), is saved in float32, which `from_pretrained` reads.
        save_file({name: tensor.float() for name, tensor in self.state_dict().items()}, tensors)
        description = Description(
            ontology=self.ontology.sha256,
            bundle=self.ontology.bundle_sha256,
            weights=file_sha256(tensors),
            model=self.config,
            provenance=self.provenance,
            scores=self.scores,
            untaught_by_family=self.untaught_by_family,
        )
        config.write_text(description.model_dump_json(indent=2), encoding="utf-8")
        self.ontology.save(save_directory / "ontology.json")
        tensors.chmod(config.stat().st_mode)  # safetensors makes the file readable for its owner only
        scores = self.concept_scores
        if scores and scores.weights == weights_sha256(self):  # fine-tuned weights need new scores
            scores.write(save_directory)

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """Return the card that `save_pretrained` writes as README.md.

        Args:
            *args: unused; required by the hub's interface.
            **kwargs: unused; required by the hub's interface.
        """
        gscl = bool(self.prototypes.any())
        own = self.concept_scores
        return model_card(
            self.config, self.ontology, self.provenance, self.scores, gscl=gscl, concept_scores=own
        )

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        ontology: Ontology | None = None,
        force_download: bool = False,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        revision: str | None = None,
        device: str | torch.device = "cpu",
        **model_kwargs: Any,
    ) -> Self:
        """Load a model in eval mode.

        Args:
            pretrained_model_name_or_path: folder written by `save_pretrained`, run folder, or id
                (owner/name) of a repository on the Hugging Face hub. Local models never contact the hub.
            ontology: if given, refuse a model with another enumeration of concepts.
            force_download: download the files even if they are in the cache.
            token: access token for a private repository. The token of `hf auth login` if None.
            cache_dir: folder for downloads.
            local_files_only: use only cached files, without network.
            revision: branch, tag or commit on the hub.
            device: device for the weights, for example `cuda`.
            model_kwargs: unused; required by the hub's interface.

        Raises:
            UsageError: If the device isn't available.
            CheckpointError: If a file is missing or damaged, the leads have another order, the enumeration
                differs, or the download fails. Also if a tensor is missing, extra or not finite, or has
                another shape or type.
        """
        if model_kwargs:
            remedy = next((INSTEAD[name] for name in model_kwargs if name in INSTEAD), SHAPE)
            raise UsageError(f"unknown {', '.join(model_kwargs)}", remedy=remedy)
        where = named_device(device)
        folder = folder_of(
            pretrained_model_name_or_path,
            force_download=force_download,
            token=token,
            cache_dir=cache_dir,
            local_files_only=local_files_only,
            revision=revision,
        )
        description, carried = read(folder)
        if ontology is not None:
            refuse_another(ontology, carried, folder)
        with torch.device("meta"):  # allocates no memory before the file is known to match
            model = cls(description.model, carried)
        model.provenance, model.scores = description.provenance, description.scores
        model.untaught_by_family = description.untaught_by_family
        tensors = tensors_of(folder / "model.safetensors", model, description.weights)
        model.load_state_dict(tensors, strict=True, assign=True)
        if (folder / CONCEPT_SCORES).is_file():
            width = readout_width(model.config, "beats")
            model.concept_scores = ConceptScores.read(
                folder, weights_sha256(model), len(model.ontology), width
            )
        return model.eval().to(where)

    @property
    def id2label(self) -> dict[int, str]:
        """Labels of the concepts by number, in the order of the shares returned by `predict`."""
        return {node.index: node.label for node in self.ontology.nodes}


def folder_of(given: str | Path, **how: Any) -> Path:
    """Return the folder of a named model, downloaded from the hub if necessary.

    The name and `how` are as for `from_pretrained`. Raises `CheckpointError` if no model has this name, or if
    the download fails.
    """
    return local_folder(given) or _fetched(str(given), **how)


def weights_sha256(model: Pretrained) -> str:
    """Return a SHA-256 hash of a model's shape, parameters and buffers."""
    digest = hashlib.sha256(model.config.model_dump_json().encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _fetched(hub_id: str, **how: Any) -> Path:
    try:
        return Path(snapshot_download(hub_id, allow_patterns=[*FILES, CONCEPT_SCORES, "answers.json"], **how))
    except Exception as error:  # the hub, its HTTP library and its proxy have exception classes of their own
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise CheckpointError(
            f"isn't a folder here, and the Hugging Face hub can't give it ({reason[0]})",
            where=hub_id,
            remedy="Check the name and the network, or name a folder",
        ) from error
