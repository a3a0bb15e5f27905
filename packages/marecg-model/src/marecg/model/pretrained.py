"""Saved models: a folder of config.json, model.safetensors, ontology.json and a model card.

The folder is what a run leaves under `model/` and what a repository on the Hugging Face hub holds. Only JSON
and safetensors are read, and only whole: nothing that is missing, extra or in another order is loaded.
"""

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import torch
from huggingface_hub import ModelCard, ModelHubMixin, snapshot_download
from safetensors.torch import save_file
from torch import Tensor, nn

import ecg_ontology
from ecg_base import refuse_others, replacing, suggest
from ecg_ontology import Ontology
from ecg_records.storage.copies import ensure_local
from ecg_records.storage.places import Place, is_remote
from marecg.base.device import named_device
from marecg.errors import CheckpointError, UsageError
from marecg.model.card import Provenance, model_card
from marecg.model.card_figures import Score
from marecg.model.config import ModelConfig
from marecg.model.folder import FILES, Description, read, refuse_another, refuse_non_finite, tensors_of

DEFAULT = "marecg-small-codes"
"""What reads a user's records where no model is named, since it learnt from the most statements; a probe
takes `marecg-small`, which has seen no code of PTB-XL. The package `marecg-small` has both."""
FOLDERS = {"marecg-small": "without_ptbxl_codes", DEFAULT: "with_ptbxl_codes"}


def installed(name: str) -> Path | None:
    """Return the folder of a model in the package marecg-small; None if it isn't installed."""
    package = find_spec("marecg_small") if name in FOLDERS else None
    for place in (package and package.submodule_search_locations) or ():
        return Path(place) / FOLDERS[name]
    return None


def list_models() -> list[str]:
    """Return the names of the models that are installed, as `MarEcg.from_pretrained` takes them.

    >>> list_models()
    ['marecg-small', 'marecg-small-codes']
    """
    return [name for name in FOLDERS if installed(name)]


OWN_FILES = tuple(name for name in FILES if name != "ontology.json")
"""What only a model has: a prepared corpus carries its ontology too."""
REPLACEABLE = {*FILES, "answers.json", "README.md", ".gitattributes"}
"""What a folder may hold that `save_pretrained` replaces, or of the old weights; more would be lost."""

SHAPE = "A model's shape is in its config.json"
INSTEAD = dict.fromkeys(
    ("num_classes", "num_labels", "n_classes", "n_outputs"), "model.classifier(n_classes) puts a head on it"
) | dict.fromkeys(("device_map", "map_location"), "Say device='cuda'")
INSTEAD |= dict.fromkeys(("dtype", "torch_dtype"), "model.half() or model.bfloat16() casts it")
"""What stands here for arguments of other libraries."""

_HUB_ID = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}")


class Pretrained(nn.Module, ModelHubMixin):
    """Module that is saved to and loaded from a folder or the Hugging Face hub.

    Args:
        config: its shape; as many concepts as the ontology has, or not said.
        ontology: whose enumeration its prototypes follow; the packaged one if None.

    Raises:
        ConfigError: the shape is of another number of concepts.
    """

    prototypes: Tensor

    def __init__(self, config: ModelConfig, ontology: Ontology | None = None) -> None:
        super().__init__()
        self.ontology = ontology or ecg_ontology.load()
        self.config = config.of_concepts(len(self.ontology))
        self.provenance: Provenance | None = None
        self.scores: tuple[Score, ...] = ()
        self.untaught_by_family: tuple[str, ...] = ()

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        repo_id: str | None = None,
        push_to_hub: bool = False,
        **push_to_hub_kwargs: Any,
    ) -> str | None:
        """Write the model and its card into a folder, all or nothing; upload the folder if requested.

        Args:
            save_directory: created, or replaced if it holds a model.
            repo_id: where on the hub; the folder's name if None.
            push_to_hub: whether to upload.
            push_to_hub_kwargs: as for `push_to_hub`: `private`, `token`, `branch`, …

        Returns:
            The address of the upload, if there was one.

        Raises:
            OutputError: the folder can't be written.
            UsageError: the folder holds other files, which would be lost.
            CheckpointError: a weight isn't finite; nothing is written.
        """
        folder = Path(save_directory)
        refuse_non_finite(self.state_dict(), folder)
        refuse_others(folder, REPLACEABLE.__contains__)
        with replacing(folder) as temporary:
            super().save_pretrained(temporary)
        return self.push_to_hub(repo_id or folder.name, **push_to_hub_kwargs) if push_to_hub else None

    def _save_pretrained(self, save_directory: Path) -> None:
        description = Description(
            ontology=self.ontology.sha256,
            bundle=self.ontology.bundle_sha256,
            model=self.config,
            provenance=self.provenance,
            scores=self.scores,
            untaught_by_family=self.untaught_by_family,
        )
        config, tensors = save_directory / "config.json", save_directory / "model.safetensors"
        config.write_text(description.model_dump_json(indent=2), encoding="utf-8")
        self.ontology.save(save_directory / "ontology.json")
        save_file(self.state_dict(), tensors)
        tensors.chmod(config.stat().st_mode)  # safetensors lets nobody but its owner read it

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """Return the card that `save_pretrained` writes as README.md.

        Args:
            *args: none; the hub's interface has them.
            **kwargs: none either.
        """
        gscl = bool(self.prototypes.any())
        return model_card(self.config, self.ontology, self.provenance, self.scores, gscl=gscl)

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
            pretrained_model_name_or_path: a folder that `save_pretrained` wrote, a run folder, or the id
                (owner/name) of a repository on the Hugging Face hub. What is here is never asked for there.
            ontology: refuse a model of another enumeration than this one.
            force_download: fetch again what was fetched before.
            token: for a private repository; the one of `hf auth login` if None.
            cache_dir: where downloads are kept.
            local_files_only: use what was fetched before, without network.
            revision: a branch, tag or commit on the hub.
            device: where its weights are to be, such as `cuda`.
            model_kwargs: none; the hub's interface has them.

        Returns:
            The model.

        Raises:
            UsageError: the device isn't available.
            CheckpointError: a file is missing or damaged, a tensor missing, extra, of another shape or type
                or not finite, the leads stand in another order, the enumeration is another, or the hub
                can't give it.
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
        with torch.device("meta"):  # no memory before the file is known to fill it
            model = cls(description.model, carried)
        model.provenance, model.scores = description.provenance, description.scores
        model.untaught_by_family = description.untaught_by_family
        model.load_state_dict(tensors_of(folder / "model.safetensors", model), strict=True, assign=True)
        return model.eval().to(where)

    @property
    def id2label(self) -> dict[int, str]:
        """Labels of the concepts by number, in the order of the shares that `predict` returns."""
        return {node.index: node.label for node in self.ontology.nodes}


def folder_of(given: str | Path, **how: Any) -> Path:
    """Return the folder of a named model, downloaded from the hub if necessary.

    Name and `how` are as for `from_pretrained`. Raises `CheckpointError` where there is none of that name, or
    the hub can't give it.
    """
    return _local(given) or _fetched(str(given), **how)


def _local(given: str | Path) -> Path | None:
    """The model's folder, or None for what only the hub can have.

    A path into a folder that is here is meant as a path, so a slip of the pen asks no server.
    """
    try:
        path = _copied(str(given)) if is_remote(given) else Path(given).expanduser()
        if (path / "model").is_dir():
            return path / "model"
        packaged = installed(str(given))
        if path.is_dir() and (packaged is None or (path / "config.json").is_file()):
            return path  # a folder that is only called as an installed model is none
        if packaged is not None:
            return packaged
        if isinstance(given, str) and _HUB_ID.fullmatch(given) and not path.parent.is_dir():
            return None
    except (OSError, RuntimeError):  # a name too long, or ~ of nobody
        pass
    if str(given) in FOLDERS:
        raise CheckpointError(
            "is not installed", where=given, remedy="Install the package marecg-small, or name a run"
        )
    names = ", ".join(list_models()) or f"such as {DEFAULT}"
    otherwise = (
        f"Name a run, its folder 'model', one installed ({names}), or owner/name on the Hugging Face hub"
    )
    raise CheckpointError("is not a folder", where=given, remedy=suggest(str(given), FOLDERS, otherwise))


def _copied(where: str) -> Path:
    """A model of a store, or a run's, as a folder here. Raises as `copies.ensure_local`."""
    return ensure_local(f"{where.rstrip('/')}/model" if "model" in Place(where).names() else where)


def weights_sha256(model: Pretrained) -> str:
    """Return a hash of a model's shape, parameters and buffers."""
    digest = hashlib.sha256(model.config.model_dump_json().encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()


def names_model(given: str | Path) -> bool:
    """Whether a name means a model: a run, a folder, an installed model, or a model on the hub."""
    if installed(str(given)) is not None:
        return True
    if is_remote(given):
        return any(name in ("model", *OWN_FILES) for name in Place(given).names())
    try:
        path = Path(given).expanduser()
        if not path.exists():
            return bool(_HUB_ID.fullmatch(str(given))) and not path.parent.is_dir()
        return any((folder / name).is_file() for folder in (path, path / "model") for name in OWN_FILES)
    except (OSError, RuntimeError):  # a name too long, or ~ of nobody
        return False


def _fetched(hub_id: str, **how: Any) -> Path:
    try:
        return Path(snapshot_download(hub_id, allow_patterns=[*FILES, "answers.json"], **how))
    except Exception as error:  # the hub's, its HTTP library's and its proxy's own
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise CheckpointError(
            f"isn't a folder here, and the Hugging Face hub can't give it ({reason[0]})",
            where=hub_id,
            remedy="Check the name and the network, or name a folder",
        ) from error
