"""Folder of a classifier: its model, the head as safetensors, and the labels as JSON."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from ecg_base import refuse_pipe
from ecg_records.storage.documents import read_model
from marecg.classify.calibration import Calibration
from marecg.errors import CheckpointError
from marecg.model.classifier import Classifier
from marecg.model.folder import refuse_non_finite
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import Readout
from marecg.settings import Count, Settings, Share

MARK = "classifier.json"
"""File that marks the folder of a classifier."""
WRITERS = "`marecg classify fit` or EcgClassifier.save"
LARGEST_HEAD = 1 << 30
"""Largest accepted size of head.safetensors in bytes: far larger than any head, but within memory."""
FILES = {MARK, "head.safetensors", "model"}


class Description(Settings):
    """Content of classifier.json: labels with their calibrations, and arguments of `EcgClassifier`."""

    format: Literal[3] = 3
    classes: list[str] | list[int]
    several: bool
    fs: float = Field(gt=0)
    leads: list[str]
    layers: str
    readout: Readout
    step: Count
    rule: str
    calibrations: list[Calibration]
    thresholds: list[Share]


def write_folder(folder: Path, description: Description, net: Classifier) -> None:
    """Write a classifier into a temporary folder."""
    state = net.state_dict()
    folder.mkdir(exist_ok=True)
    net.model.save_pretrained(folder / "model")
    head = save({name: state[name].contiguous() for name in _heads(state)})
    (folder / "head.safetensors").write_bytes(head)  # `save_file` would make it readable only by its owner
    (folder / MARK).write_text(description.model_dump_json(indent=2), encoding="utf-8")


def read_folder(folder: Path) -> tuple[Description, Classifier]:
    """Read a classifier's folder. Raises `CheckpointError` if it is missing or damaged."""
    remedy, head_file = f"Name a folder that {WRITERS} wrote", folder / "head.safetensors"
    problem, again = "isn't a classifier of this version", f"Fit it again, or {remedy[0].lower()}{remedy[1:]}"
    description = read_model(Description, folder / MARK, problem, again, CheckpointError)
    refuse_pipe(head_file, remedy, CheckpointError, LARGEST_HEAD)
    try:
        head = load_file(head_file)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"isn't a classifier ({error})", where=folder, remedy=remedy) from error
    refuse_non_finite(head, head_file)
    net = Classifier(MarEcg.from_pretrained(folder / "model"), len(description.classes), description.readout)
    state = net.state_dict()
    shapes = {name: state[name].shape for name in _heads(state)}
    sizes = {len(description.classes), len(description.calibrations), len(description.thresholds)}
    if shapes != {name: value.shape for name, value in head.items()} or len(sizes) > 1:
        problem = "head.safetensors, classifier.json and the model don't fit each other"
        raise CheckpointError(problem, where=folder, remedy="Fit the classifier again")
    net.load_state_dict({**state, **head})
    return description, net


def is_classifier(folder: str | Path) -> bool:
    """Return whether a folder was written by `EcgClassifier.save`."""
    return os.path.lexists(Path(folder) / MARK)


def _heads(names: Iterable[str]) -> list[str]:
    """Return the names of tensors outside the encoder."""
    return [name for name in names if not name.startswith("model.")]
