"""What every arm says of the test records: tidy rows, one for each figure.

Shapes: A arms, M test records, N concepts, K concept width, Q queries, F features.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from marecg.evaluate.graph.arms import EDGELESS, LABELS, REAL, GraphArm
from marecg.evaluate.graph.heads import TAU, Heads
from marecg.evaluate.graph.records import DISCOUNT, EVERY, NEIGHBOURS, Hierarchy
from marecg.evaluate.scores.metrics import class_auc, resampled_macro_auc

Row = dict[str, Any]
RESAMPLES = 200


def closed(log_q_AMN: Tensor, target_AMN: Tensor, prior_AN: Tensor) -> Tensor:
    """How far each arm's loss has come from a constant prior's to the targets' own entropy, [A]; 1 is all.

    Args:
        prior_AN: each arm's mean target in training.
    """

    def loss(log_p_AMN: Tensor) -> Tensor:
        return -(target_AMN * log_p_AMN).sum(-1).mean(-1)

    prior_A = loss(prior_AN.clamp(min=1e-6).log()[:, None].expand_as(target_AMN))
    floor_A = loss(target_AMN.clamp(min=1e-12).log())
    return (prior_A - loss(log_q_AMN)) / (prior_A - floor_A)


@dataclass(frozen=True)
class Tested:
    """The test records, which judge every arm.

    Attributes:
        rare: the leaves of the primary endpoint.
        hierarchy: PTB-XL's; without it there is neither severity nor nDCG@10.
    """

    y_MN: NDArray[np.uint8]
    names: Sequence[str]
    rare: Sequence[int]
    hierarchy: Hierarchy | None

    def rows(self, about: Row, score_MN: NDArray[np.float64], space_MK: Tensor) -> Iterator[Row]:
        """Of an arm each leaf's AUC; that of the rare ones on resamples; severity and nDCG@10.

        Args:
            about: arm and σ, which every row repeats.
            space_MK: where neighbours are looked for.
        """
        auc_N = class_auc(self.y_MN, score_MN)
        for leaf in np.flatnonzero(np.isfinite(auc_N)):
            yield {**about, "metric": "auc", "of": self.names[leaf], "value": 100 * auc_N[leaf]}
        if about["arm"] in (REAL, EDGELESS) and self.rare:
            drawn = resampled_macro_auc(self.y_MN[:, self.rare], score_MN[None][..., self.rare], RESAMPLES)
            for number, value in enumerate(drawn):
                yield {**about, "metric": "resampled", "of": str(number), "value": 100 * value}
        if self.hierarchy is not None:
            answer_M = np.where(self.y_MN.any(0), score_MN, -np.inf).argmax(1)
            severity = self.hierarchy.apart_MN[np.arange(len(answer_M)), answer_M].mean()
            yield {**about, "metric": "severity", "of": "", "value": severity}
            yield {**about, "metric": "nDCG@10", "of": "", "value": 100 * ndcg(space_MK, self.hierarchy)}


@torch.no_grad()
def scored(heads: Heads, arms: Sequence[GraphArm], x_MF: Tensor, tested: Tested) -> Iterator[Row]:
    """All rows of trained heads on the features of the test records; the labels come after the arms."""
    prototypes_ANK = heads.prototypes()
    for arm, space_MK, prototypes_NK in zip(arms, heads.places(x_MF), prototypes_ANK, strict=True):
        log_q_MN = (space_MK @ prototypes_NK.T / TAU).log_softmax(-1).double().numpy()
        yield from tested.rows({"arm": arm.name, "sigma": arm.sigma}, log_q_MN, space_MK)
    logits_MN = heads.labels(x_MF)
    yield from tested.rows({"arm": LABELS, "sigma": np.nan}, logits_MN.double().numpy(), logits_MN)


def ndcg(space_MK: Tensor, hierarchy: Hierarchy) -> float:
    """nDCG@10 of the queries among all others, by cosine (Järvelin & Kekäläinen 2002; linear gains)."""
    unit_MK = normalize(space_MK, dim=-1)
    near_QM = unit_MK[::EVERY] @ unit_MK.T
    query_Q = torch.arange(len(near_QM))
    near_QM[query_Q, query_Q * EVERY] = -torch.inf
    near = near_QM.topk(NEIGHBOURS, dim=1).indices.numpy()
    got_Q = np.take_along_axis(hierarchy.gain_QM, near, axis=1) @ DISCOUNT
    has_Q = hierarchy.ideal_Q > 0
    return float((got_Q[has_Q] / hierarchy.ideal_Q[has_Q]).mean())
