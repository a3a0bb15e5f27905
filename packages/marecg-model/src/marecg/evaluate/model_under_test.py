"""Whom a report is about: a run's encoder, or the features that somebody computed elsewhere."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

import ecg_ontology
from ecg_ontology import Ontology
from marecg.base.errors import UsageError
from marecg.corpus import trained_on
from marecg.evaluate.scores.summary import READ_AS
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of, weights_sha256
from marecg.model.readout import Readout

UNTRAINED_POOL = (
    "no loss of the recipe reaches h_rhythm's pool, so the row encoder reads H through random weights; "
    "encoder, mean H reads it without"
)


@dataclass(frozen=True)
class ModelUnderTest:
    """What is judged.

    Attributes:
        name: the row that all others are compared with.
        place: the model's folder, or the file of features.
        sha256: what it is: of the weights, or of the file.
        model: the encoder; None where only features are judged.
        ontology: the one that the encoder carries.
        run: the folder that may list what the encoder was trained on.
    """

    name: str
    place: Path
    sha256: str
    model: MarEcg | None = None
    ontology: Ontology | None = None
    run: Path | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be known of it to read its rows."""
        return (UNTRAINED_POOL,) if self.model and not self.model.pool.trained else ()


def load_under_test(run: str | Path | None, features: Mapping[str, Path], readout: Readout) -> ModelUnderTest:
    """A run's encoder, loaded; without a run the first of the features.

    Args:
        readout: the row that all others are compared with.

    Raises:
        UsageError: there is neither.
        CheckpointError: the run's model can't be loaded.
    """
    if run is None:
        if not features:
            remedy = "Name a run folder, or --features NAME=FILE"
            raise UsageError("there is nothing to judge", remedy=remedy)
        name, file = next(iter(features.items()))
        return ModelUnderTest(name, file, file_sha256(file))
    folder = folder_of(run)
    model = MarEcg.from_pretrained(folder).to("cuda" if torch.cuda.is_available() else "cpu")
    ontology = ecg_ontology.load(folder / "ontology.json")
    return ModelUnderTest(
        READ_AS[readout], folder, weights_sha256(model), model, ontology, trained_on.folder_beside(folder)
    )


def file_sha256(path: Path) -> str:
    """The hash of the bytes of a file, or of a folder's; empty where they can't be read, as is said later."""
    try:
        if path.is_dir():
            parts = "".join(file_sha256(part) for part in sorted(path.iterdir()))
            return hashlib.sha256(parts.encode()).hexdigest()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
