"""Concept scores of a model, which combine its prototypes with ridge regressions.

The prototypes' score of a concept is log q, where q is the softmax of the similarities between the record's
embedding h_rhythm and all prototypes. h_rhythm lacks some information, such as the regularity of the beats.
The beat readout and the full readout, longer vectors of features, have this information
(`marecg.model.readout`). A ridge regression for each of the two computes a second score. A concept score is
the mean of log q and of this second score, on the same scale. `marecg.use.fit_concept_scores` fits the
regressions on the codes of the model's training records, and writes them into the model's folder.

Shapes: M records, T records on which the regressions were fitted, N concepts, V values of a readout.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from scipy.special import logsumexp

from ecg_base import replacing
from marecg.base.numbers import refuse_impossible
from marecg.errors import CheckpointError
from marecg.model.readout import Readout

FILE = "concept_scores.safetensors"
AGAIN = "Remove it. To fit it again, run python -m marecg.use.fit_concept_scores"
TAUGHT: tuple[Readout, ...] = ("beats", "full")
"""Readouts from which a ridge regression computes scores."""
Floats = NDArray[np.float64]


class Ridge(NamedTuple):
    """Ridge regression from a readout to the concepts.

    Attributes:
        weight_NV: weights of the values of the readout.
        bias_N: intercepts.
        left_out_TN: scores of the training records. Each score comes from a regression that was fitted
            without the record.
    """

    weight_NV: NDArray[np.floating]
    bias_N: NDArray[np.floating]
    left_out_TN: NDArray[np.floating]


@dataclass(frozen=True)
class ConceptScores:
    """Ridge regressions from the readouts to the concepts, and the scores of their training records.

    The training records are the records on which the regressions were fitted.

    Attributes:
        weights: hash of the model's weights (`pretrained.weights_sha256`).
        sources: number of training records from each published collection.
        others: number of training records from other folders.
        log_q_TN: the prototypes' scores of the training records, log q.
        taught_N: number of training records with each leaf concept. For a root concept, number of records
            with any leaf below it.
        ridges: regression of each readout in `TAUGHT`.
    """

    weights: str
    sources: dict[str, int]
    others: int
    log_q_TN: NDArray[np.float32]
    taught_N: NDArray[np.int64]
    ridges: Mapping[Readout, Ridge]

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """All numbers by their names in the file."""
        of_ridges = {
            f"{readout}.{name}": tensor
            for readout in TAUGHT
            for name, tensor in self.ridges[readout]._asdict().items()
        }
        return {"log_q_TN": self.log_q_TN, "taught_N": self.taught_N, **of_ridges}

    @property
    def sha256(self) -> str:
        """SHA-256 hash of all numbers. It shows damage, and identifies the concept scores of a result."""
        return hashlib.sha256(b"".join(tensor.tobytes() for tensor in self.tensors.values())).hexdigest()

    @property
    def taught_by(self) -> str:
        """Description of the training records, for a model card."""
        counts = [f"{name} {count}" for name, count in self.sources.items()]
        others = [f"{self.others} from other collections"] if self.others else []
        return f"{len(self.log_q_TN)} coded records: {', '.join([*counts, *others])}"

    def of_class(
        self,
        log_q_MN: Floats,
        readout_MV: NDArray[np.floating],
        readout: Readout,
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
            readout_MV: readout of the records.
            readout: name of this readout, one of `TAUGHT`.
            places: indices of the concepts over which q is summed.
            leaves: indices of the leaf concepts of the class.
            families: index of each concept's root.
        """
        by_mass_M = logsumexp(log_q_MN[:, places], axis=1)
        fitted = [leaf for leaf in leaves if self.taught_N[leaf]] or [families[leaves[0]]]
        if not self.taught_N[fitted].any():
            return by_mass_M
        weight_NV, bias_N, left_out_TN = self.ridges[readout]
        ridge_M = readout_MV.astype(np.float64) @ weight_NV[fitted].sum(0, dtype=np.float64)
        ridge_M += bias_N[fitted].sum(dtype=np.float64)
        ridge_T = left_out_TN[:, fitted].astype(np.float64).sum(1)
        mass_T = logsumexp(self.log_q_TN[:, places].astype(np.float64), axis=1)
        by_ridge_M = (ridge_M - ridge_T.mean()) / ridge_T.std()
        return np.asarray((by_mass_M + mass_T.mean() + mass_T.std() * by_ridge_M) / 2)

    def write(self, folder: Path) -> None:
        """Write the concept scores into a model's folder."""
        sources = {"sources": json.dumps(self.sources), "others": str(self.others)}
        metadata = {"weights": self.weights, "sha256": self.sha256, **sources}
        with replacing(folder / FILE) as temporary:
            temporary.write_bytes(save(self.tensors, metadata))

    @classmethod
    def read(
        cls, folder: Path, weights: str, concepts: int, widths: Mapping[Readout, int]
    ) -> "ConceptScores":
        """Read the concept scores in a model's folder.

        Args:
            folder: folder of the model.
            weights: hash of the model's weights.
            concepts: number N of the model's concepts.
            widths: width V of each readout.

        Raises:
            CheckpointError: If the file is damaged, or was fitted for other weights.
        """
        path = folder / FILE
        try:
            with safe_open(path, "np") as file:
                metadata = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no dict)
            fitted_for, sources = metadata["weights"], json.loads(metadata["sources"])
            others, sha256 = int(metadata["others"]), metadata["sha256"]
            ridges = {
                readout: Ridge(*(tensors[f"{readout}.{name}"] for name in Ridge._fields))
                for readout in widths
            }
            scores = cls(fitted_for, sources, others, tensors["log_q_TN"], tensors["taught_N"], ridges)
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"has no concept scores ({error})", where=path, remedy=AGAIN) from error
        if fitted_for != weights:
            raise CheckpointError("was fitted for other weights", where=path, remedy=AGAIN)
        records = len(scores.log_q_TN)
        shapes = {"log_q_TN": (records, concepts), "taught_N": (concepts,)}
        for readout, width in widths.items():
            shapes |= {
                f"{readout}.weight_NV": (concepts, width),
                f"{readout}.bias_N": (concepts,),
                f"{readout}.left_out_TN": (records, concepts),
            }
        for name, tensor in scores.tensors.items():
            if tensor.shape != shapes[name]:
                problem = f"{name} must have shape {list(shapes[name])}, got {list(tensor.shape)}"
                raise CheckpointError(problem, where=path, remedy=AGAIN)
            refuse_impossible(tensor, name, path, AGAIN, CheckpointError)
        if sha256 != scores.sha256:
            raise CheckpointError("is damaged (its SHA-256 has changed)", where=path, remedy=AGAIN)
        return scores
