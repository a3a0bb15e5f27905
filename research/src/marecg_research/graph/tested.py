"""Score an arm on the test records of the graph experiment. The scores are rows of a tidy frame.

An arm is a training with a certain graph. A leaf is a finding of the graph. Severity is the mean distance, in
PTB-XL's hierarchy of statements, between the predicted concept and the nearest true statement.

Shapes: M records, N concepts, R families, K concept width (d_c) or classes, Q queries.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from marecg.evaluate.scores.metrics import class_auc, resampled_macro_auc
from marecg_research.graph.arms import EDGELESS, REAL
from marecg_research.graph.records import DISCOUNT, EVERY, NEIGHBOURS, Hierarchy

Row = dict[str, Any]
RESAMPLES, RESAMPLED_SIGMA = 200, 0.5


@dataclass(frozen=True)
class Tested:
    """Test records, on which each arm is scored.

    Attributes:
        y_MN: leaves of the records.
        names: abbreviations of the concepts.
        rare: leaves with few training records. Their macro AUC is also computed on resampled records.
        hierarchy: hierarchy of PTB-XL; None if it isn't used.
        member_RN: concepts of the real families.
        within: leaves that are also scored only among the records with a leaf of the same family.
        kernel_NN: share of each concept that the arm `spread` gives to each other concept.
    """

    y_MN: NDArray[np.uint8]
    names: Sequence[str]
    rare: Sequence[int]
    hierarchy: Hierarchy | None
    member_RN: NDArray[np.uint8]
    within: Sequence[int] = ()
    kernel_NN: NDArray[np.float64] | None = None

    def rows(
        self,
        head: Row,
        score_MN: NDArray[np.float64],
        family_MR: NDArray[np.float64],
        space_MK: Tensor | None,
    ) -> Iterator[Row]:
        """Yield the scores of an arm: AUC of leaves and families, resampled AUC, severity and nDCG@10.

        Args:
            head: fields of all rows: arm and σ.
            score_MN: scores of the concepts.
            family_MR: scores of the families.
            space_MK: vectors of the records, for nDCG@10; None to leave out severity and nDCG@10.
        """
        yield from self._aucs(head, "auc", self.y_MN, score_MN, self.names)
        y_MR = (self.y_MN @ self.member_RN.T > 0).astype(np.uint8)
        roots = [self.names[int(row.argmax())] for row in self.member_RN]  # a root comes before its leaves
        yield from self._aucs(head, "family", y_MR, family_MR, roots)
        for leaf in self.within:
            inside_M = y_MR[:, self.member_RN[:, leaf].argmax()] > 0
            value = class_auc(self.y_MN[inside_M, leaf : leaf + 1], score_MN[inside_M, leaf : leaf + 1])[0]
            if np.isfinite(value):
                yield {**head, "metric": "within", "of": self.names[leaf], "value": 100 * value}
        resampled = head["arm"] == EDGELESS or (head["arm"] == REAL and head["sigma"] == RESAMPLED_SIGMA)
        if resampled and self.rare:
            drawn = resampled_macro_auc(self.y_MN[:, self.rare], score_MN[None][..., self.rare], RESAMPLES)
            for number, value in enumerate(drawn):
                yield {**head, "metric": "resampled", "of": str(number), "value": 100 * value}
        if self.hierarchy is not None and space_MK is not None:
            answer_M = np.where(self.y_MN.any(0), score_MN, -np.inf).argmax(1)
            severity = self.hierarchy.apart_MN[np.arange(len(answer_M)), answer_M].mean()
            yield {**head, "metric": "severity", "of": "", "value": severity}
            yield {**head, "metric": "nDCG@10", "of": "", "value": 100 * ndcg(space_MK, self.hierarchy)}

    @staticmethod
    def _aucs(
        row: Row, metric: str, y_MK: NDArray[np.uint8], score_MK: NDArray[np.float64], names: Sequence[str]
    ) -> Iterator[Row]:
        auc_K = class_auc(y_MK, score_MK)
        for column in np.flatnonzero(np.isfinite(auc_K)):
            yield {**row, "metric": metric, "of": names[column], "value": 100 * auc_K[column]}


def ndcg(space_MK: Tensor, hierarchy: Hierarchy) -> float:
    """Return the mean nDCG@10 of the queries' nearest neighbours by cosine, with linear gains.

    See Järvelin & Kekäläinen 2002.
    """
    unit_MK = normalize(space_MK, dim=-1)
    cosine_QM = unit_MK[::EVERY] @ unit_MK.T
    query_Q = torch.arange(len(cosine_QM))
    cosine_QM[query_Q, query_Q * EVERY] = -torch.inf
    nearest = cosine_QM.topk(NEIGHBOURS, dim=1).indices.numpy()
    gain_Q = np.take_along_axis(hierarchy.gain_QM, nearest, axis=1) @ DISCOUNT
    has_Q = hierarchy.ideal_Q > 0
    return float((gain_Q[has_Q] / hierarchy.ideal_Q[has_Q]).mean())
