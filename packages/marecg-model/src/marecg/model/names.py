"""Names of models: installed models, folders, and repositories on the Hugging Face hub.

This module doesn't import torch, so that the command line can refuse an unknown name immediately.
"""

import re
from importlib.util import find_spec
from pathlib import Path

from ecg_base import suggest
from ecg_records.storage.copies import ensure_local
from ecg_records.storage.places import Place, is_remote
from marecg.errors import CheckpointError

DEFAULT = "marecg-small-codes"
"""Default model. Among the installed models, it was trained with the most codes.

Probes on PTB-XL use `marecg-small` instead, which was trained without the codes of PTB-XL. The package
`marecg-small` contains both models.
"""
FOLDERS = {"marecg-small": "without_ptbxl_codes", DEFAULT: "with_ptbxl_codes"}


def installed(name: str) -> Path | None:
    """Return the folder of a model in the package marecg-small, or None if the model isn't installed."""
    package = find_spec("marecg_small") if name in FOLDERS else None
    for location in (package and package.submodule_search_locations) or ():
        return Path(location) / FOLDERS[name]
    return None


def list_models() -> list[str]:
    """Return the names of the installed models, as accepted by `MarEcg.from_pretrained`.

    >>> list_models()
    ['marecg-small', 'marecg-small-codes']
    """
    return [name for name in FOLDERS if installed(name)]


OWN_FILES = ("config.json", "model.safetensors")
"""Files that identify a model. ontology.json isn't included, because a prepared corpus also has it."""
_HUB_ID = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}")


def local_folder(model: str | Path) -> Path | None:
    """Return the folder of a model, or None if the name has the form of a hub id.

    A name is a path if its parent folder exists, so that a misspelt path isn't sent to the hub. Raises
    `CheckpointError` if the name is neither a folder, nor an installed model, nor a hub id.
    """
    try:
        path = _copied(str(model)) if is_remote(model) else Path(model).expanduser()
        if (path / "model").is_dir():
            return path / "model"
        packaged = installed(str(model))
        if path.is_dir() and (packaged is None or (path / "config.json").is_file()):
            return path  # a folder without config.json must not hide an installed model of the same name
        if packaged is not None:
            return packaged
        if isinstance(model, str) and _HUB_ID.fullmatch(model) and not path.parent.is_dir():
            return None
    except (OSError, RuntimeError):  # a name that is too long, or ~ of an unknown user
        pass
    if str(model) in FOLDERS:
        raise CheckpointError(
            "is not installed", where=model, remedy="Install the package marecg-small, or give a run"
        )
    names = ", ".join(list_models()) or f"such as {DEFAULT}"
    otherwise = (
        f"Give a run, its folder 'model', an installed model ({names}), or owner/name on the Hugging Face hub"
    )
    raise CheckpointError("is not a folder", where=model, remedy=suggest(str(model), FOLDERS, otherwise))


def _copied(where: str) -> Path:
    """Copy a model or run from a remote store, and return the copy. Raises as `copies.ensure_local` does."""
    return ensure_local(f"{where.rstrip('/')}/model" if "model" in Place(where).names() else where)


def names_model(model: str | Path) -> bool:
    """Return whether a name has the form of a model: a run, a folder, an installed model, or a hub id."""
    if installed(str(model)) is not None:
        return True
    if is_remote(model):
        return any(name in ("model", *OWN_FILES) for name in Place(model).names())
    try:
        path = Path(model).expanduser()
        if not path.exists():
            return bool(_HUB_ID.fullmatch(str(model))) and not path.parent.is_dir()
        return any((folder / name).is_file() for folder in (path, path / "model") for name in OWN_FILES)
    except (OSError, RuntimeError):  # a name that is too long, or ~ of an unknown user
        return False


def public_name(model: str | Path) -> str:
    """Return a name of weights that is safe to publish: a folder's name without its path."""
    path = Path(model).expanduser()
    if not path.exists():
        return str(model)
    resolved = path.resolve()
    if packaged := [
        name for name in list_models() if (folder := installed(name)) and folder.resolve() == resolved
    ]:
        return packaged[0]
    name = resolved.parent.name if resolved.name == "model" else resolved.name
    return re.sub(r"[^\w.-]", "_", name)
