"""What every arm says of the test records: tidy rows, one for each figure.

Shapes: A arms, M test records, N concepts, K concept width, R resamples, Q queries, F features.
"""

from collections.abc import Iterator, Sequence
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


@torch.no_grad()
def closed(heads: Heads, x_MF: Tensor, target_AMN: Tensor, prior_AN: Tensor) -> Tensor:
    """How far each arm's loss has come from a constant prior's to the targets' own entropy, [A]; 1 is all.

    Args:
        heads: of the arms.
        x_MF: held-out records.
        target_AMN: their targets.
        prior_AN: each arm's mean target in training.
    """

    def loss(log_p_AMN: Tensor) -> Tensor:
        return -(target_AMN * log_p_AMN).sum(-1).mean(-1)

    prior_A = loss(prior_AN.clamp(min=1e-6).log()[:, None].expand_as(target_AMN))
    floor_A = loss(target_AMN.clamp(min=1e-12).log())
    return (prior_A - loss(heads.log_q(x_MF))) / (prior_A - floor_A)


@torch.no_grad()
def scored(
    heads: Heads,
    arms: Sequence[GraphArm],
    x_MF: Tensor,
    y_MN: NDArray[np.uint8],
    names: Sequence[str],
    rare: Sequence[int],
    hierarchy: Hierarchy | None,
) -> Iterator[Row]:
    """Per arm: each leaf's AUC; that of the rare ones on resamples; with a hierarchy, severity and nDCG@10.

    Args:
        heads: trained.
        arms: theirs; the labels come after them.
        x_MF: features of the test records.
        y_MN: their leaves.
        names: of the concepts.
        rare: the leaves of the primary endpoint.
        hierarchy: PTB-XL's.
    """
    prototypes_ANK = heads.prototypes()
    spaces = [*heads.places(x_MF), heads.labels(x_MF)]
    for place, space_MK in enumerate(spaces):
        arm = arms[place] if place < len(arms) else None
        logits_MN = space_MK if arm is None else (space_MK @ prototypes_ANK[place].T / TAU).log_softmax(-1)
        score_MN = logits_MN.double().numpy()
        about = {"arm": arm.name if arm else LABELS, "sigma": arm.sigma if arm else np.nan}
        auc_N = class_auc(y_MN, score_MN)
        for leaf in np.flatnonzero(np.isfinite(auc_N)):
            yield {**about, "metric": "auc", "of": names[leaf], "value": 100 * auc_N[leaf]}
        if about["arm"] in (REAL, EDGELESS) and rare:
            resampled_R = resampled_macro_auc(y_MN[:, rare], score_MN[None][..., rare], RESAMPLES)
            for number, value in enumerate(resampled_R):
                yield {**about, "metric": "resampled", "of": str(number), "value": 100 * value}
        if hierarchy is not None:
            leaf_N = y_MN.any(0)
            answer_M = np.where(leaf_N, score_MN, -np.inf).argmax(1)
            severity = hierarchy.apart_MN[np.arange(len(answer_M)), answer_M].mean()
            yield {**about, "metric": "severity", "of": "", "value": severity}
            yield {**about, "metric": "nDCG@10", "of": "", "value": 100 * ndcg(space_MK, hierarchy)}


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
