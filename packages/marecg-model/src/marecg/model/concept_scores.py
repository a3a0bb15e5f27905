"""Concept scores of a model, which combine its prototypes with a ridge regression.

The prototypes' score of a concept is log q, where q is the softmax of the similarities between the record's
embedding h_rhythm and all prototypes. h_rhythm lacks some information, such as the regularity of the beats.
The beat readout, a longer vector of features, has this information (`marecg.model.readout`). A ridge
regression computes a second score from it. A concept score is the mean of both scores, on the same scale.
`marecg.use.fit_concept_scores` fits the regression on the codes of the model's training records, and writes
it into the model's folder.

Shapes: M records, T records on which the regression was fitted, N concepts, V values of the beat readout.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from scipy.special import logsumexp

from ecg_base import replacing
from marecg.base.numbers import refuse_impossible
from marecg.errors import CheckpointError

FILE = "concept_scores.safetensors"
AGAIN = "Fit it again (python -m marecg.use.fit_concept_scores), or remove it"
TENSORS = ("weight_NV", "bias_N", "log_q_TN", "ridge_TN", "taught_N")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConceptScores:
    """Ridge regression from the beat readout to the concepts, and the scores of its training records.

    The training records are the records on which the regression was fitted.

    Attributes:
        weights: hash of the model's weights (`pretrained.weights_sha256`).
        sources: number of training records from each published collection.
        others: number of training records from other folders.
        weight_NV: weights of the values of the beat readout.
        bias_N: intercepts.
        log_q_TN: the prototypes' scores of the training records, log q.
        ridge_TN: the ridge scores of the training records. Each score comes from a regression that was fitted
            without the record.
        taught_N: number of training records with each leaf concept. For a root concept, number of records
            with any leaf below it.
    """

    weights: str
    sources: dict[str, int]
    others: int
    weight_NV: NDArray[np.float32]
    bias_N: NDArray[np.float32]
    log_q_TN: NDArray[np.float32]
    ridge_TN: NDArray[np.float32]
    taught_N: NDArray[np.int64]

    @property
    def sha256(self) -> str:
        """SHA-256 hash of all numbers. It shows damage, and identifies the concept scores of a result."""
        return hashlib.sha256(b"".join(getattr(self, name).tobytes() for name in TENSORS)).hexdigest()

    @property
    def taught_by(self) -> str:
        """Description of the training records, for a model card."""
        counts = [f"{name} {count}" for name, count in self.sources.items()]
        others = [f"{self.others} from other collections"] if self.others else []
        return f"{len(self.ridge_TN)} coded records: {', '.join([*counts, *others])}"

    def ridge(self, beats_MV: NDArray[np.floating]) -> Floats:
        """Return the ridge scores of records, [M, N], from their beat readouts."""
        score_MN: Floats = beats_MV.astype(np.float64) @ self.weight_NV.T.astype(np.float64) + self.bias_N
        return score_MN

    def of_class(
        self,
        log_q_MN: Floats,
        ridge_MN: Floats,
        places: Sequence[int],
        leaves: Sequence[int],
        families: Sequence[int],
    ) -> Floats:
        """Return the scores of a class, which may comprise several concepts, [M], on the scale of log q.

        The prototypes' score is the logarithm of the sum of q over the class. The ridge score is the sum over
        the leaves that have training records. If no leaf has training records, it is the score of the root
        concept above the first leaf. If the root has no training records either, only the prototypes' score
        is used.

        Args:
            log_q_MN: log q of the records.
            ridge_MN: ridge scores of the records.
            places: indices of the concepts over which q is summed.
            leaves: indices of the leaf concepts of the class.
            families: index of each concept's root.
        """
        by_mass_M = logsumexp(log_q_MN[:, places], axis=1)
        fitted = [leaf for leaf in leaves if self.taught_N[leaf]] or [families[leaves[0]]]
        if not self.taught_N[fitted].any():
            return by_mass_M
        mass_T = logsumexp(self.log_q_TN[:, places].astype(np.float64), axis=1)
        ridge_T = self.ridge_TN[:, fitted].astype(np.float64).sum(1)
        by_ridge_M = (ridge_MN[:, fitted].sum(1) - ridge_T.mean()) / ridge_T.std()
        return np.asarray((by_mass_M + mass_T.mean() + mass_T.std() * by_ridge_M) / 2)

    def write(self, folder: Path) -> None:
        """Write the concept scores into a model's folder."""
        tensors = {name: getattr(self, name) for name in TENSORS}
        sources = {"sources": json.dumps(self.sources), "others": str(self.others)}
        metadata = {"weights": self.weights, "sha256": self.sha256, **sources}
        with replacing(folder / FILE) as temporary:
            temporary.write_bytes(save(tensors, metadata))

    @classmethod
    def read(cls, folder: Path, weights: str, concepts: int, width: int) -> "ConceptScores":
        """Read the concept scores in a model's folder.

        Args:
            folder: folder of the model.
            weights: hash of the model's weights.
            concepts: number N of the model's concepts.
            width: width V of the model's beat readout.

        Raises:
            CheckpointError: If the file is damaged, or was fitted for other weights.
        """
        path = folder / FILE
        try:
            with safe_open(path, "np") as file:
                metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in TENSORS}
            fitted_for, sources = metadata["weights"], json.loads(metadata["sources"])
            others = int(metadata["others"])
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"has no concept scores ({error})", where=path, remedy=AGAIN) from error
        if fitted_for != weights:
            raise CheckpointError("was fitted for other weights", where=path, remedy=AGAIN)
        teaching = len(tensors["log_q_TN"])
        shapes = [(concepts, width), (concepts,), (teaching, concepts), (teaching, concepts), (concepts,)]
        for (name, tensor), shape in zip(tensors.items(), shapes, strict=True):
            if tensor.shape != shape:
                problem = f"{name} must have shape {list(shape)}, got {list(tensor.shape)}"
                raise CheckpointError(problem, where=path, remedy=AGAIN)
            refuse_impossible(tensor, name, path, AGAIN, CheckpointError)
        scores = cls(fitted_for, sources, others, **tensors)
        if metadata.get("sha256", scores.sha256) != scores.sha256:  # files of older versions have none
            raise CheckpointError("is damaged (its SHA-256 has changed)", where=path, remedy=AGAIN)
        return scores
