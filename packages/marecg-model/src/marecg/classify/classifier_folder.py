"""Read and write the folder of a classifier: its model, the head as safetensors, and the labels as JSON."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from ecg_records.storage.documents import read_model
from marecg.classify.calibration import Calibration
from marecg.errors import CheckpointError
from marecg.model.classifier import Classifier
from marecg.model.folder import tensors_of, write_tensors
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import Readout
from marecg.settings import Count, Settings, Share

MARK = "classifier.json"
"""File that marks the folder of a classifier."""
AGAIN = "Fit it again, or give a folder that `marecg classify fit` or EcgClassifier.save wrote"
HEAD = "head.safetensors"
FILES = {MARK, HEAD, "model"}


class Description(Settings):
    """Content of classifier.json: labels, calibrations and thresholds, and arguments of `EcgClassifier`.

    `rule` is the classifier's `threshold`, and `step` its `step_`. `weights` is the SHA-256 of
    head.safetensors. It is None in classifiers of older versions.
    """

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
    weights: str | None = None


def write_folder(folder: Path, description: Description, net: Classifier) -> None:
    """Write a classifier's files into a folder."""
    folder.mkdir(exist_ok=True)
    net.model.save_pretrained(folder / "model")
    hashed = description.model_copy(update={"weights": write_tensors(folder / HEAD, net.own())})
    (folder / MARK).write_text(hashed.model_dump_json(indent=2), encoding="utf-8")


def read_folder(folder: Path) -> tuple[Description, Classifier]:
    """Read a classifier's folder. Raises `CheckpointError` if it is missing or damaged."""
    problem = "isn't a classifier of this version"
    description = read_model(Description, folder / MARK, problem, AGAIN, CheckpointError)
    classes = len(description.classes)
    if not classes == len(description.calibrations) == len(description.thresholds):
        problem = f"must have a calibration and a threshold for each of {classes} classes"
        raise CheckpointError(problem, where=folder / MARK, remedy=AGAIN)
    net = Classifier(MarEcg.from_pretrained(folder / "model"), classes, description.readout)
    head = tensors_of(folder / HEAD, net.own(), description.weights, AGAIN)
    net.load_state_dict({**net.state_dict(), **head})
    return description, net


def is_classifier(folder: str | Path) -> bool:
    """Return whether a folder is the folder of a classifier, that is, has a classifier.json."""
    return os.path.lexists(Path(folder) / MARK)
