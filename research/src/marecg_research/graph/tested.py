"""Test records of the graph experiment, and an arm's figures on them as tidy rows.

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
    """Test records, on which every arm is scored.

    `rare` are the leaves of the primary endpoint, `member_RN` the concepts of the real families. `within` are
    the leaves that are also judged among records with a leaf of their family alone; `kernel_NN` is what
    `spread` gives of each concept's share to its neighbours.
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
        """Yield an arm's figures: AUC of each leaf and family, resamples of the rare ones, severity, nDCG@10.

        `about` says arm and σ in every row; neighbours are looked for in `space_MK`.
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
        for place in np.flatnonzero(np.isfinite(auc_K)):
            yield {**row, "metric": metric, "of": names[place], "value": 100 * auc_K[place]}


def ndcg(space_MK: Tensor, hierarchy: Hierarchy) -> float:
    """Return the queries' nDCG@10 among all others by cosine (Järvelin & Kekäläinen 2002; linear gains)."""
    unit_MK = normalize(space_MK, dim=-1)
    near_QM = unit_MK[::EVERY] @ unit_MK.T
    query_Q = torch.arange(len(near_QM))
    near_QM[query_Q, query_Q * EVERY] = -torch.inf
    near = near_QM.topk(NEIGHBOURS, dim=1).indices.numpy()
    got_Q = np.take_along_axis(hierarchy.gain_QM, near, axis=1) @ DISCOUNT
    has_Q = hierarchy.ideal_Q > 0
    return float((got_Q[has_Q] / hierarchy.ideal_Q[has_Q]).mean())
