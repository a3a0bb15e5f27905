"""Answers on a record: for each family a finding, only the family, or nothing, depending on certainty.

A share of q isn't a probability. `marecg.use.fit_answers` calibrates it on coded records. The share of a leaf
becomes the probability that a record has this leaf. The mass of q on a family becomes the probability of any
finding of the family (docs/answers.md).

Shapes: B records, N concepts.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Ontology
from ecg_records.storage.documents import read_model
from marecg.classify.calibration import Calibration
from marecg.errors import CheckpointError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of, weights_sha256
from marecg.settings import Count, Settings

ANSWERS = "answers.json"
"""File in the folder of the weights that it was fitted for. Saving weights there removes it."""
RISK = 0.1
"""Default share of the answers that may be wrong."""


class Told(NamedTuple):
    """Answer with its probability: a finding, or the root of its family if the finding is uncertain."""

    concept: int
    probability: float


class Answers(Settings):
    """Calibrations of a model's leaves and families by abbreviation.

    A concept without a calibration is never an answer.
    """

    weights: str
    records: Count
    of: dict[str, Calibration]

    def probabilities(self, onto: Ontology, q_BN: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the calibrated probability of each concept, [B, N]; NaN without a calibration."""
        logit_BN, p_BN = logits(onto, q_BN), np.full(q_BN.shape, np.nan)
        for abbr, calibration in self.of.items():
            at = onto.node(abbr).index
            p_BN[:, at] = calibration(logit_BN[:, at])
        return p_BN

    def told(self, onto: Ontology, q_BN: NDArray[np.floating], risk: float = RISK) -> list[list[Told]]:
        """Return each record's answers with a probability of at least 1 − `risk`, the most probable first.

        For each family, the answer is its likeliest leaf if the leaf's probability suffices. Otherwise it is
        the family if the family's probability suffices.
        """
        sure_BN = np.nan_to_num(self.probabilities(onto, q_BN), nan=-1.0)
        answers: list[list[Told]] = [[] for _ in sure_BN]
        for root in onto.roots:
            leaves = [at for at, family in enumerate(onto.families) if family == root != at]
            leaf_B = np.array(leaves)[sure_BN[:, leaves].argmax(1)]
            for row, (leaf, p_N) in enumerate(zip(leaf_B, sure_BN, strict=True)):
                at = int(leaf) if p_N[leaf] >= 1 - risk else root
                if p_N[at] >= 1 - risk:
                    answers[row].append(Told(at, float(p_N[at])))
        return [sorted(some, key=lambda one: -one.probability) for some in answers]


def marked(onto: Ontology, y_BN: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return a mask of each record's leaves and their families' roots, [B, N]."""
    is_BN = y_BN > 0
    is_BN[:, list(onto.roots)] = is_BN @ np.equal.outer(onto.families, onto.roots)
    return is_BN


def logits(onto: Ontology, q_BN: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the logits of q [B, N]: of its share of each leaf, and of its mass on each root's family."""
    member_NN = np.eye(len(onto))
    member_NN[list(onto.roots)] = np.equal.outer(onto.roots, onto.families)
    share_BN = np.clip(q_BN.astype(float) @ member_NN.T, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(share_BN) - np.log1p(-share_BN))


def answers_of(run: str | Path, model: MarEcg) -> Answers | None:
    """Read a model's fitted answers from its folder; None if it has none. Raises `CheckpointError`."""
    path = folder_of(run) / ANSWERS
    if not path.is_file():
        return None
    again = "Fit it again, or remove it"
    answers = read_model(Answers, path, "isn't a file of calibrated answers", again, CheckpointError)
    if answers.weights != weights_sha256(model):
        raise CheckpointError("was fitted for other weights", where=path, remedy=again)
    return answers
