"""Answer with findings, with families of findings, or not at all, depending on the certainty.

q is a record's shares over the concepts, as `marecg.predict` returns them. A share isn't a probability.
`marecg.use.fit_answers` calibrates shares on coded records. The share of a leaf (a finding of the graph)
becomes the probability that a record has this finding. A family's total share becomes the probability that a
record has any finding of the family (docs/answers.md).

Shapes: B records, M labelled records, N concepts.
"""

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_ontology import Ontology
from ecg_records.storage.documents import read_model
from marecg.classify.calibration import Calibration, calibrate
from marecg.errors import CheckpointError, InputError
from marecg.evaluate.tasks.label_tables import labels_by_name
from marecg.evaluate.tasks.task import rows_named
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of, weights_sha256
from marecg.settings import Count, Settings

logger = logging.getLogger(__name__)
ANSWERS = "answers.json"
"""File in the folder of the model's weights. It is removed when other weights are saved there."""
RISK = 0.1
"""Default share of answers that may be wrong."""


class Answer(NamedTuple):
    """Concept that a record probably has, by its number in the graph, and its probability.

    The concept is a finding, or the root of a family if the finding is uncertain.
    """

    concept: int
    probability: float


class Answers(Settings):
    """Calibrations that turn a model's shares into probabilities, by which answers are selected.

    A concept without a calibration is never an answer.

    Attributes:
        weights: hash of the model's weights.
        records: number of records that the calibrations were fitted on.
        of: calibrations of leaves and families, by the concept's abbreviation.
    """

    weights: str
    records: Count
    of: dict[str, Calibration]

    def probabilities(self, onto: Ontology, q_BN: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the calibrated probability of each concept, [B, N]. It is NaN without a calibration."""
        logit_BN, p_BN = logits(onto, q_BN), np.full(q_BN.shape, np.nan)
        for abbr, calibration in self.of.items():
            concept = onto.node(abbr).index
            p_BN[:, concept] = calibration(logit_BN[:, concept])
        return p_BN

    def read_labels(self, path: Path) -> pd.DataFrame:
        """Read a CSV of labels for `recalibrated`: a row per record and a column per concept.

        The column `record`, `name`, `id`, `ecg_id` or `study_id`, or else the first column, has the names of
        the records, which become the index. A label is 0, 1 or empty (unknown; NaN in the result).

        Raises `InputError` if the table is unusable, or has a concept without a calibration.
        """
        table = labels_by_name(path)
        if unknown := [name for name in table if name not in self.of]:
            remedy = f"Choose from {', '.join(self.of)}"
            raise InputError(f"has no calibrated concept {unknown[0]!r}", where=path, remedy=remedy)
        return table

    def recalibrated(
        self,
        onto: Ontology,
        q_BN: NDArray[np.floating],
        names_B: Sequence[Collection[str]],
        table: pd.DataFrame,
        labels: Path,
    ) -> "Answers":
        """Return the answers, adapted to labels of some of the records.

        For each labelled concept, a new slope and shift are fitted to the calibrated logits. The fit is
        regularised towards no change, so a few dozen labels suffice (docs/answers.md). Concepts without a
        column keep their calibration.

        Args:
            onto: graph of the model.
            q_BN: shares of the records over the concepts, from `marecg.predict`.
            names_B: names of each record, any of which may be in the table of labels.
            table: labels from `read_labels`.
            labels: file of the labels, which error messages name.

        Raises:
            InputError: the table names none of the records, or a record twice.
        """
        count_of = Counter(name for names in names_B for name in names)
        row_of = {name: row for row, names in enumerate(names_B) for name in names if count_of[name] == 1}
        rows = pd.Series(rows_named(row_of, table.index), table.index, "Int64")
        known = rows.dropna()
        if known.empty:
            remedy = "Name records as the column record or identity of the predicted table does"
            raise InputError("must name a predicted record, got none", where=labels, remedy=remedy)
        if known.duplicated().any():
            twice = known.index[known.duplicated()][0]
            problem = f"must have one row per record, got several rows for {twice!r}"
            raise InputError(problem, where=labels, remedy="Keep one row per record")
        if missing := len(table) - len(known):
            logger.warning("%s: %d of %d records were not predicted", labels, missing, len(table))
        logit_MN = logits(onto, q_BN[known.to_numpy(int)])
        of = dict(self.of)
        for name, y_M in table[rows.notna().to_numpy()].items():
            known_M, old = y_M.notna().to_numpy(), self.of[str(name)]
            logit_M = old.slope * logit_MN[known_M, onto.node(str(name)).index] + old.shift
            new = calibrate(logit_M, y_M.to_numpy(float)[known_M], "temperature")
            change = {"slope": new.slope * old.slope, "shift": new.slope * old.shift + new.shift}
            of[str(name)] = old.model_copy(update=change)
        return self.model_copy(update={"of": of})

    def select(self, onto: Ontology, q_BN: NDArray[np.floating], risk: float = RISK) -> list[list[Answer]]:
        """Return each record's answers with a probability of at least 1 − `risk`, the most probable first.

        A family has at most one answer: its most probable leaf if the leaf's probability is high enough, or
        else the root of the family if the family's probability is high enough.
        """
        p_BN = np.nan_to_num(self.probabilities(onto, q_BN), nan=-1.0)
        answers: list[list[Answer]] = [[] for _ in p_BN]
        for root in onto.roots:
            leaves = [leaf for leaf, family in enumerate(onto.families) if family == root != leaf]
            leaf_B = np.array(leaves)[p_BN[:, leaves].argmax(1)]
            for row, (leaf, p_N) in enumerate(zip(leaf_B, p_BN, strict=True)):
                concept = int(leaf) if p_N[leaf] >= 1 - risk else root
                if p_N[concept] >= 1 - risk:
                    answers[row].append(Answer(concept, float(p_N[concept])))
        return [sorted(of_record, key=lambda answer: -answer.probability) for of_record in answers]


def marked(onto: Ontology, y_BN: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return whether each record has each concept, bool [B, N]. A root is True if any leaf of its family is.

    `y_BN` has the leaves of each record, 0 or 1.
    """
    is_BN = y_BN > 0
    is_BN[:, list(onto.roots)] = is_BN @ np.equal.outer(onto.families, onto.roots)
    return is_BN


def logits(onto: Ontology, q_BN: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the logit of each concept's share, [B, N]. The share of a root is the sum over its family."""
    member_NN = np.eye(len(onto))
    member_NN[list(onto.roots)] = np.equal.outer(onto.roots, onto.families)
    share_BN = np.clip(q_BN.astype(float) @ member_NN.T, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(share_BN) - np.log1p(-share_BN))


def answers_of(run: str | Path, model: MarEcg) -> Answers | None:
    """Read a model's fitted answers from its folder, or return None if there is no file.

    Raises `CheckpointError` if the file is damaged, or belongs to other weights.
    """
    path = folder_of(run) / ANSWERS
    if not path.is_file():
        return None
    remedy = "Fit it again (python -m marecg.use.fit_answers), or remove it"
    answers = read_model(Answers, path, "isn't a file of calibrated answers", remedy, CheckpointError)
    if answers.weights != weights_sha256(model):
        raise CheckpointError("was fitted for other weights", where=path, remedy=remedy)
    return answers
