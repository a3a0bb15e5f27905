"""Whom a report is about, and whether it was pretrained on records that judge it.

Shapes: M labelled records, C leads, L samples.
"""

import hashlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import ecg_ontology
from ecg_ontology import Ontology
from marecg.base.errors import RecordError, UsageError
from marecg.corpus import trained_on
from marecg.corpus.trained_on import TrainedOn
from marecg.evaluate.methods.frozen_encoder import Reading
from marecg.evaluate.scores.results import Leak
from marecg.evaluate.scores.summary import READ_AS
from marecg.evaluate.tasks.task import FS, TRAIN, Recordings, Task
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of, weights_sha256

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


def load_under_test(run: str | Path | None, features: Mapping[str, Path], readout: Reading) -> ModelUnderTest:
    """A run's encoder, loaded; without a run the first of the features.

    Args:
        readout: the row that all others are compared with.

    Raises:
        UsageError: there is neither, or concepts are asked of a model that has none.
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
    if readout == "concepts" and not model.prototypes.any():
        remedy = "Take readout=beats, or a model that was trained with GSCL"
        raise UsageError(f"{run} has no prototypes, so no concepts to read", remedy=remedy)
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


def leak(run: Path, *rotations: Task) -> Leak | None:
    """The val and test records of a task that a run was pretrained on; None where nobody knows of any.

    A run that began from weights without a list of their records is not known to be clean: what is found
    counts, and where nothing is, nobody knows.

    Signals are compared as they stand in the task: bit-identical copies are found under any name, rescaled
    ones are not (`marecg audit` looks for those). Where a copy in the corpus names no patient, as the
    Challenges' of PTB-XL don't, the patient is that of the record that it is a copy of.
    """
    trained = trained_on.read(run)
    if trained is None:
        return None
    recordings = rotations[0].recordings
    judged = sorted({int(row) for task in rotations for row in task.row_M[task.split_M != TRAIN]})
    by_id = _of(recordings.identities, trained.identities, judged)
    copied = {recordings.patient_by_identity.get(name) for name in trained.identities} - {None}
    by_patient = _of(recordings.patients, trained.patients | copied, judged) - by_id
    rest = [row for row in judged if row not in by_id | by_patient]
    by_signal = {row for row in rest if _seen(recordings, row, trained)}
    if not trained.complete and not by_id | by_patient | by_signal:
        return None
    return Leak(
        records=len(by_id | by_patient | by_signal),
        same_record=_names(recordings, by_id),
        same_patient=_names(recordings, by_patient),
        same_signal=_names(recordings, by_signal),
    )


def _of(names: tuple[str | None, ...], trained: Set[str | None], rows: Iterable[int]) -> set[int]:
    return {row for row in rows if names and names[row] in trained}


def _seen(recordings: Recordings, row: int, trained: TrainedOn) -> bool:
    """Whether a window that training would have cut from this recording is one of those it saw."""
    if trained.fs != FS:
        return False
    try:
        x_CL = recordings.read(row)
    except RecordError:
        return False
    if not np.isfinite(x_CL).all():
        return False
    return trained.saw(x_CL)


def _names(recordings: Recordings, rows: set[int]) -> tuple[str, ...]:
    return tuple(recordings.ids[row] for row in sorted(rows))
