"""Read and write the folder of a fine-tuned `Classifier`.

The encoder is in `model/`, the head in head.json and head.safetensors.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from huggingface_hub import HfApi, snapshot_download
from pydantic import Field
from torch import Tensor

from ecg_base import refuse_others, replacing
from ecg_records.storage.documents import read_model
from marecg.errors import CheckpointError
from marecg.model.folder import refuse_non_finite, write_tensors
from marecg.settings import Settings

if TYPE_CHECKING:
    from marecg.model.mar_ecg import MarEcg

MARK, TENSORS = "head.json", "head.safetensors"
AGAIN = "Give a folder written by Classifier.save_pretrained"


class Head(Settings):
    """Content of head.json: the number of classes, and the readout used as input.

    `weights` is the SHA-256 of head.safetensors. It is None in folders of older versions.
    """

    format: Literal[1] = 1
    classes: int = Field(ge=1, le=1 << 20)
    readout: Literal["rhythm", "wide"]
    weights: str | None = None


def write(folder: Path, model: "MarEcg", head: Head, tensors: Mapping[str, Tensor]) -> None:
    """Write a classifier into a folder, completely or not at all.

    `tensors` are the classifier's tensors outside the encoder (`Classifier.own`).
    """
    refuse_non_finite(tensors, folder)
    refuse_others(folder, {MARK, TENSORS, "model"}.__contains__, mark=MARK)
    with replacing(folder) as temporary:
        temporary.mkdir(exist_ok=True)
        model.save_pretrained(temporary / "model")
        hashed = head.model_copy(update={"weights": write_tensors(temporary / TENSORS, tensors)})
        (temporary / MARK).write_text(hashed.model_dump_json(indent=2), encoding="utf-8")


def read(folder: Path) -> Head:
    """Read a classifier's head.json. Raises `CheckpointError` if it is missing or damaged."""
    return read_model(Head, folder / MARK, "isn't a classifier's head", AGAIN, CheckpointError)


def fetched(name: str | Path, **how: Any) -> Path:
    """Return the folder of a classifier.

    If the folder doesn't exist and the name has the form owner/name, download it from the Hugging Face hub
    with the download options `how`, as for `Classifier.from_pretrained`.
    """
    folder = Path(name).expanduser()
    if folder.exists() or not re.fullmatch(r"[\w.-]+/[\w.-]+", str(name)):
        return folder
    try:
        patterns = [MARK, TENSORS, *(f"model/{file}" for file in ("*.json", "model.safetensors"))]
        return Path(snapshot_download(str(name), allow_patterns=patterns, **how))
    except Exception as error:  # the hub, its HTTP library and its proxy raise different exception classes
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        problem = f"isn't a local folder, and can't be downloaded from the Hugging Face hub ({reason})"
        raise CheckpointError(problem, where=name, remedy=AGAIN) from error


def push(net: Any, repo_id: str, *, private: bool | None = None, token: str | bool | None = None) -> str:
    """Upload the classifier `net` as `Classifier.push_to_hub` does, and return the address of the upload."""
    api = HfApi(token=token)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "classifier"
        net.save_pretrained(folder)
        name = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
        return str(api.upload_folder(repo_id=name, folder_path=folder, commit_message="Push classifier"))
