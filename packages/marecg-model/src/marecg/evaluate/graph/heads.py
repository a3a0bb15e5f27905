"""The concept side of GSCL for many graphs at once, on features that stand still, and what each arm says.

All arms begin with the same weights and see the same records under the same dropout, so what differs between
them is the graph. A figure on the test records is a tidy row.

Shapes: A arms, B batch, M records, F features, N concepts, E node width (d_e), K concept width (d_c), Q
queries.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, log_softmax, normalize

from marecg.evaluate.graph.records import (
    DISCOUNT,
    EDGELESS,
    EVERY,
    LABELS,
    NEIGHBOURS,
    REAL,
    GraphArm,
    Hierarchy,
)
from marecg.evaluate.scores.metrics import class_auc, resampled_macro_auc
from marecg.nn.attention import init_linear
from marecg.nn.dropout import dropout
from marecg.nn.prototypes import PrototypeHead
from marecg.objectives.comparators.labels import labels_loss

WIDTH = 64
TAU = 0.2
DROPOUT = 0.1
BATCH = 128
LR, WEIGHT_DECAY = 3e-3, 0.05
Row = dict[str, Any]
RESAMPLES = 200


class Heads(nn.Module):
    """W_sca and the prototypes of each arm (eq. gscl-prototypes, gscl-pred), and leaves as plain labels.

    `propagate_ANN` is I + Â of each arm; `seed` is of the first weights, which all arms share.
    """

    propagate_ANN: Tensor

    def __init__(self, propagate_ANN: Tensor, features: int, seed: int) -> None:
        super().__init__()
        count, concepts = propagate_ANN.shape[:2]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            one = PrototypeHead(torch.eye(concepts), WIDTH, WIDTH, DROPOUT)
            to_concepts, self.labels = nn.Linear(features, WIDTH, bias=False), nn.Linear(features, concepts)
            init_linear(to_concepts)
            init_linear(self.labels)
        first = {
            "embedding": one.embedding,
            "w1": one.conv1.lin.weight.T,
            "w2": one.conv2.lin.weight.T,
            "to_concepts": to_concepts.weight.T,
            **{
                f"{norm}_{part}": getattr(getattr(one, norm), part)[None]
                for norm in ("norm1", "norm2")
                for part in ("weight", "bias")
            },
        }
        self.stacked = nn.ParameterDict(
            {name: value.detach().expand(count, *value.shape).clone() for name, value in first.items()}
        )
        self.register_buffer("propagate_ANN", propagate_ANN)

    def prototypes(self, generator: torch.Generator | None = None) -> Tensor:
        """P of each arm, [A, N, K]; without a generator nothing is dropped."""
        part = self.stacked
        h_ANE = gelu(self.propagate_ANN @ part["embedding"] @ part["w1"])
        h_ANE = layer_norm(h_ANE, h_ANE.shape[-1:]) * part["norm1_weight"] + part["norm1_bias"]
        if generator is not None:
            h_ANE = h_ANE * dropout(torch.ones_like(h_ANE[0]), DROPOUT, generator)
        p_ANK = self.propagate_ANN @ h_ANE @ part["w2"]
        p_ANK = layer_norm(p_ANK, p_ANK.shape[-1:]) * part["norm2_weight"] + part["norm2_bias"]
        return normalize(p_ANK, dim=-1)

    def places(self, x_BF: Tensor) -> Tensor:
        """Where records stand in the concept space of each arm, unit rows, [A, B, K]."""
        weight_AFK = self.stacked["to_concepts"]
        flat_BAK = x_BF @ weight_AFK.transpose(0, 1).flatten(1)
        return normalize(flat_BAK.unflatten(1, (len(weight_AFK), -1)).transpose(0, 1), dim=-1)

    def log_q(self, x_BF: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Log q of each arm, [A, B, N]."""
        return log_softmax(self.places(x_BF) @ self.prototypes(generator).transpose(1, 2) / TAU, dim=-1)


def trained(
    heads: Heads, x_MF: Tensor, target_AMN: Tensor, y_MN: Tensor, marks: Sequence[int], seed: int
) -> Iterator[int]:
    """Train all arms side by side; yields each of the marks, in steps, once it is reached."""
    optimiser = torch.optim.AdamW(heads.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, marks[-1] + 1):
        rows_B = torch.randint(len(x_MF), (min(BATCH, len(x_MF)),), generator=generator)
        log_q_ABN = heads.log_q(x_MF[rows_B], generator)
        arm_A = -(target_AMN[:, rows_B] * log_q_ABN).sum(-1).mean(-1)
        loss = arm_A.sum() + labels_loss(heads.labels(x_MF[rows_B]), y_MN[rows_B])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step in marks:
            yield step


def closed(log_q_AMN: Tensor, target_AMN: Tensor, prior_AN: Tensor) -> Tensor:
    """How far each arm's loss has come from a constant prior's to the targets' own entropy, [A]; 1 is all."""

    def loss(log_p_AMN: Tensor) -> Tensor:
        return -(target_AMN * log_p_AMN).sum(-1).mean(-1)

    prior_A = loss(prior_AN.clamp(min=1e-6).log()[:, None].expand_as(target_AMN))
    floor_A = loss(target_AMN.clamp(min=1e-12).log())
    return (prior_A - loss(log_q_AMN)) / (prior_A - floor_A)


@dataclass(frozen=True)
class Tested:
    """The test records, which judge every arm: `rare` are the leaves of the primary endpoint."""

    y_MN: NDArray[np.uint8]
    names: Sequence[str]
    rare: Sequence[int]
    hierarchy: Hierarchy | None

    def rows(self, about: Row, score_MN: NDArray[np.float64], space_MK: Tensor) -> Iterator[Row]:
        """Of an arm each leaf's AUC; that of the rare ones on resamples; severity and nDCG@10.

        `about` says arm and σ in every row; neighbours are looked for in `space_MK`.
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
