"""Read the folder of a model, and check that its files belong together."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor

import ecg_ontology
from ecg_base import file_sha256, read_bounded, refuse_pipe
from ecg_ontology import Ontology
from ecg_records.signal.leads import LEADS
from ecg_records.storage.documents import read_json
from marecg.base.numbers import refuse_impossible
from marecg.errors import CheckpointError, EcgError, in_short
from marecg.model.card import Provenance
from marecg.model.card_figures import Score
from marecg.model.config import ModelConfig
from marecg.settings import Settings

FILES = ("config.json", "model.safetensors", "ontology.json")
LONGEST_DESCRIPTION = 1 << 20
"""Maximum size of config.json in bytes. The file of marecg-small, with its scores, has about 21,000 bytes."""
LFS = b"version https://git-lfs"
"""First bytes of a Git LFS pointer, a file whose content hasn't been downloaded."""
AGAIN, PUT_BACK = "Export the run again", "Restore the ontology.json that the model was saved with"
LARGEST_WEIGHT = 1e15
"""Maximum absolute value of a weight. Sums of products of two such numbers are finite in float32."""
MAX_SIZE = 1 << 20
"""Maximum of any size in the configuration: larger than any model needs, but small enough for memory."""
MAX_OF = {"depth": 1000, "phases": 64, "fs": 1 << 14}
"""Lower maximums for settings that determine the computing time."""


class Description(Settings):
    """Content of config.json.

    Attributes:
        format: version of the format.
        leads: leads in the encoder's order.
        ontology: SHA-256 of the concept enumeration, the numbered list of concepts. The prototypes have the
            same order.
        bundle: SHA-256 of the content of ontology.json, including labels and the concepts of each code.
        weights: SHA-256 of model.safetensors. None in models of older versions.
        model: settings of the encoder.
        provenance: how the model was trained. None if not recorded.
        scores: results of evaluations.
        untaught_by_family: abbreviations of families in which a leaf without training records is scored by
            its family; see `by_family`.
    """

    format: Literal[2] = 2
    leads: tuple[str, ...] = LEADS
    ontology: str
    bundle: str
    weights: str | None = None
    model: ModelConfig
    provenance: Provenance | None = None
    scores: tuple[Score, ...] = ()
    untaught_by_family: tuple[str, ...] = ()


def read(folder: Path) -> tuple[Description, Ontology]:
    """Read the description and the ontology of a model, and check that they belong together."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        remedy = "Give a run, its folder 'model', or a folder written by save_pretrained"
        raise CheckpointError(f"has no {missing[0]}", where=folder, remedy=remedy)
    try:
        content = read_bounded(folder / "config.json", AGAIN, CheckpointError, LONGEST_DESCRIPTION)
        description = Description.model_validate_json(content)
        ontology = ecg_ontology.load(folder / "ontology.json")
    except (ValidationError, EcgError, OSError) as error:
        text = " ".join(str(error).split())
        raise CheckpointError(f"isn't an exported model ({text})", where=folder, remedy=AGAIN) from error
    _refuse_impossible(description.model, folder)
    if description.leads != LEADS:
        problem = f"leads must be {list(LEADS)}, got {list(description.leads)}"
        raise CheckpointError(problem, where=folder, remedy="Use the version of marecg that wrote it")
    if description.model.concepts != len(ontology):
        problem = f"ontology.json must have {description.model.concepts} concepts, got {len(ontology)}"
        raise CheckpointError(problem, where=folder, remedy=PUT_BACK)
    if description.ontology != ontology.sha256:
        packaged = ecg_ontology.load()
        if description.ontology == packaged.sha256:
            refuse_another(packaged, ontology, folder)
        problem = f"ontology.json must have the enumeration {description.ontology}, got {ontology.sha256}"
        raise CheckpointError(problem, where=folder, remedy=PUT_BACK)
    in_file = read_json(folder / "ontology.json", PUT_BACK, CheckpointError)["bundle_sha256"]
    if description.bundle != in_file:
        problem = "was changed after the model was saved: labels, texts or routing don't match config.json"
        raise CheckpointError(problem, where=folder / "ontology.json", remedy=PUT_BACK)
    return description, ontology


def _refuse_impossible(config: ModelConfig, folder: Path) -> None:
    """Raise `CheckpointError` if building the model would take hours or exhaust memory."""
    for name, value in config:
        most = MAX_OF.get(name, MAX_SIZE)
        if isinstance(value, int | float) and not value <= most:
            problem = f"model.{name} must be at most {most:,}, got {value:,}"
            raise CheckpointError(problem, where=folder / "config.json", remedy=AGAIN)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors in float32, and return the SHA-256 hash of the file. `tensors_of` can check this hash."""
    content = save({name: tensor.float().contiguous() for name, tensor in tensors.items()})
    path.write_bytes(content)  # `save_file` would make it readable only by its owner
    return hashlib.sha256(content).hexdigest()


def tensors_of(
    path: Path, like: Mapping[str, Tensor], sha256: str | None, remedy: str = AGAIN
) -> dict[str, Tensor]:
    """Read the tensors of a file.

    Args:
        path: file.
        like: expected tensors, whose names and shapes the file must have.
        sha256: expected hash of the file. Not checked if None.
        remedy: remedy that the error message states if the file is missing or damaged.

    Raises:
        CheckpointError: If the file is missing or damaged, has other tensors, or a value isn't finite.
    """
    refuse_pipe(path, remedy, CheckpointError)
    expected = {name: (list(tensor.shape), "F32") for name, tensor in like.items()}
    try:
        with path.open("rb") as file:
            if file.read(len(LFS)) == LFS:
                problem = "is a Git LFS pointer, not the weights"
                raise CheckpointError(problem, where=path, remedy="Run `git lfs pull` in its repository")
        with safe_open(path, "pt") as file:
            parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it isn't a dict)
            in_file = {name: (part.get_shape(), part.get_dtype()) for name, part in parts.items()}
        problems = [f"{name} is missing" for name in expected.keys() - in_file.keys()]
        problems += [f"{name} doesn't belong to this model" for name in in_file.keys() - expected.keys()]
        problems += [
            f"{name} must be {' '.join(map(str, expected[name][::-1]))}, got "
            f"{' '.join(map(str, in_file[name][::-1]))}"
            for name in expected.keys() & in_file.keys()
            if in_file[name] != expected[name]
        ]
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise CheckpointError(min(problems) + more, where=path, remedy=remedy)
        tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}  # not memory-mapped
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"can't be read ({error})", where=path, remedy=remedy) from error
    if sha256 is not None and file_sha256(path) != sha256:
        raise CheckpointError("is damaged (its SHA-256 has changed)", where=path, remedy=remedy)
    refuse_non_finite(tensors, path)
    return tensors


def refuse_non_finite(tensors: Mapping[str, Tensor], where: Path) -> None:
    """Raise `CheckpointError` if a weight isn't finite, or so large that products may overflow."""
    remedy = "Train it again, with a lower train.lr"
    for name, tensor in tensors.items():
        refuse_impossible(
            tensor, name, where, remedy, CheckpointError, least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT
        )


def refuse_another(expected: Ontology, actual: Ontology, folder: Path) -> None:
    """Raise `CheckpointError` if the concepts of a folder's ontology, or their order, aren't as expected."""
    if actual.sha256 != expected.sha256:
        problem = f"has another enumeration: {in_short(expected.difference(actual))}"
        remedy = "Use the ontology that the model was trained with"
        raise CheckpointError(problem, where=folder / "ontology.json", remedy=remedy)
