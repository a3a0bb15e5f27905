"""Heads of GSCL for many graphs at once on frozen features, and their scores.

All arms begin with the same weights and see the same records under the same dropout, so what differs between
them is the graph.

Shapes: A arms, B batch, M records, F features, N concepts, R families, E node width (d_e), K concept width
(d_c).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, log_softmax, normalize

from marecg.evaluate.scores.metrics import class_auc
from marecg.nn.attention import init_linear
from marecg.nn.dropout import dropout
from marecg.nn.prototypes import PrototypeHead
from marecg_research.graph.arms import (
    EDGELESS,
    INFERENCE_ONLY,
    LABELS,
    LABELS_INFERENCE,
    SPREAD,
    GraphArm,
    members,
)
from marecg_research.graph.records import Taught
from marecg_research.graph.tested import Row, Tested

WIDTH = 64
TAU = 0.2
DROPOUT = 0.1
STEP_RECORDS = 128
LR, WEIGHT_DECAY = 3e-3, 0.05
CHOOSING = 3
"""Held-out source records that a leaf needs to have a say in the choice of σ."""
ALPHAS = tuple(10.0**power for power in range(7))
"""Strengths that each label's ridge chooses from."""


class Heads(nn.Module):
    """Heads W_sca and prototypes of all arms (eq. gscl-prototypes, gscl-pred).

    `propagate_ANN` is I + Â of each arm; `seed` is of the first weights, which all arms share.
    """

    propagate_ANN: Tensor

    def __init__(self, propagate_ANN: Tensor, features: int, seed: int) -> None:
        super().__init__()
        count, concepts = propagate_ANN.shape[:2]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            one = PrototypeHead(torch.eye(concepts), WIDTH, WIDTH, DROPOUT)
            to_concepts = nn.Linear(features, WIDTH, bias=False)
            init_linear(to_concepts)
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
        """Return P of each arm, [A, N, K]; without a generator nothing is dropped."""
        part = self.stacked
        h_ANE = gelu(self.propagate_ANN @ part["embedding"] @ part["w1"])
        h_ANE = layer_norm(h_ANE, h_ANE.shape[-1:]) * part["norm1_weight"] + part["norm1_bias"]
        if generator is not None:
            h_ANE = h_ANE * dropout(torch.ones_like(h_ANE[0]), DROPOUT, generator)
        p_ANK = self.propagate_ANN @ h_ANE @ part["w2"]
        p_ANK = layer_norm(p_ANK, p_ANK.shape[-1:]) * part["norm2_weight"] + part["norm2_bias"]
        return normalize(p_ANK, dim=-1)

    def places(self, x_BF: Tensor) -> Tensor:
        """Return record embeddings in each arm's concept space, unit rows, [A, B, K]."""
        weight_AFK = self.stacked["to_concepts"]
        flat_BAK = x_BF @ weight_AFK.transpose(0, 1).flatten(1)
        return normalize(flat_BAK.unflatten(1, (len(weight_AFK), -1)).transpose(0, 1), dim=-1)

    def log_q(self, x_BF: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the log of q in each arm, [A, B, N]."""
        return log_softmax(self.places(x_BF) @ self.prototypes(generator).transpose(1, 2) / TAU, dim=-1)


@dataclass(frozen=True)
class ArmTargets:
    """Targets of the teaching records in all arms.

    `target_AMN` are the soft targets; a record without one leaves its arm's loss. `weight_A` is what the mass
    of the families counts, `member_ARN` which concepts each arm's families have, `family_AMR` their targets.
    """

    target_AMN: Tensor
    weight_A: Tensor
    member_ARN: Tensor
    family_AMR: Tensor

    @classmethod
    def of(
        cls, arms: Sequence[GraphArm], y_MN: NDArray[np.uint8], coarse_M: NDArray[np.int64]
    ) -> "ArmTargets":
        """Compute the targets in all arms, from leaves or from families that alone are known."""
        return cls(
            torch.from_numpy(np.stack([arm.targets(y_MN, coarse_M) for arm in arms])),
            torch.tensor([arm.families for arm in arms]),
            torch.from_numpy(np.stack([members(arm.graph) for arm in arms])).bool(),
            torch.from_numpy(np.stack([arm.family_targets(y_MN, coarse_M) for arm in arms])),
        )

    def loss(self, log_q_ABN: Tensor, rows_B: Tensor) -> Tensor:
        """Return the sum of all arms' losses on a batch."""
        loss_A = cross_entropy(log_q_ABN, self.target_AMN[:, rows_B])
        of = self.weight_A.nonzero()[:, 0]
        if len(of):
            log_mass_ABR = log_mass(log_q_ABN[of], self.member_ARN[of])
            family_A = cross_entropy(log_mass_ABR, self.family_AMR[of][:, rows_B])
            loss_A = loss_A.index_add(0, of, self.weight_A[of] * family_A)
        return loss_A.sum()


def cross_entropy(log_q_ABN: Tensor, target_ABN: Tensor) -> Tensor:
    """Return each arm's cross-entropy over records with a target, [A]."""
    supervised_A = (target_ABN.sum(-1) > 0).sum(-1).clamp(min=1)
    return -(target_ABN * log_q_ABN).sum((-1, -2)) / supervised_A


def log_mass(log_q_ABN: Tensor, member_ARN: Tensor) -> Tensor:
    """Return the log of q's mass on every family, [A, B, R]."""
    return log_q_ABN[:, :, None].masked_fill(~member_ARN[:, None], -torch.inf).logsumexp(-1)


def trained(
    heads: Heads, x_MF: Tensor, targets: ArmTargets, marks: Sequence[int], seed: int
) -> Iterator[int]:
    """Train all arms side by side, and yield the number of each step in `marks`."""
    optimiser = torch.optim.AdamW(heads.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, marks[-1] + 1):
        rows_B = torch.randint(len(x_MF), (min(STEP_RECORDS, len(x_MF)),), generator=generator)
        loss = targets.loss(heads.log_q(x_MF[rows_B], generator), rows_B)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step in marks:
            yield step


def closed(log_q_AMN: Tensor, target_AMN: Tensor, prior_AN: Tensor) -> Tensor:
    """Return the share of the loss that training removed: 0 for a constant prior, 1 for the targets, [A]."""

    def loss(log_p_AMN: Tensor) -> Tensor:
        return -(target_AMN * log_p_AMN).sum(-1).mean(-1)

    prior_A = loss(prior_AN.clamp(min=1e-6).log()[:, None].expand_as(target_AMN))
    floor_A = loss(target_AMN.clamp(min=1e-12).log())
    return (prior_A - loss(log_q_AMN)) / (prior_A - floor_A)


@torch.no_grad()
def scored(
    heads: Heads, arms: Sequence[GraphArm], x_MF: Tensor, tested: Tested, untaught: Sequence[int]
) -> Iterator[Row]:
    """Yield the scores of trained heads on test features.

    After the arms comes `inference only`: edgeless, and leaves without a record by the mass of their family.
    """
    member_1RN = torch.from_numpy(tested.member_RN).bool()[None]
    prototypes_ANK = heads.prototypes()
    for arm, space_MK, prototypes_NK in zip(arms, heads.places(x_MF), prototypes_ANK, strict=True):
        log_q_MN = (space_MK @ prototypes_NK.T / TAU).log_softmax(-1).double()
        family_MR = log_mass(log_q_MN[None], member_1RN)[0].numpy()
        row = {"arm": arm.name, "sigma": arm.sigma}
        yield from tested.rows(row, log_q_MN.numpy(), family_MR, space_MK)
        if arm.name == EDGELESS:
            by_family_MN = by_family(log_q_MN.numpy(), family_MR, tested.member_RN, untaught)
            yield from tested.rows({**row, "arm": INFERENCE_ONLY}, by_family_MN, family_MR, None)
            if tested.kernel_NN is not None:
                spread_MN = np.log(np.exp(log_q_MN.numpy()) @ tested.kernel_NN)
                yield from tested.rows({**row, "arm": SPREAD}, spread_MN, family_MR, None)


def unit(
    features: Sequence[NDArray[np.float32]],
    taught: tuple[Taught, Taught],
    graphs: Sequence[GraphArm],
    tested: Tested,
    y_MN: NDArray[np.uint8],
    steps: Sequence[int],
    seed: int,
) -> list[Row]:
    """Return the scores of one base, draw and seed: heads of all arms, and plain labels.

    `features` are of the records that teach, are held out, and test; `taught` says what supervises the first
    two. `closed` compares with a constant prior, that of all codes of the teaching records (`y_MN`).
    """
    teach_MF, held_MF, test_MF = map(torch.from_numpy, features)
    source, held = taught
    x_MF, held_x_MF = teach_MF[source.row_M], held_MF[held.row_M]
    targets = ArmTargets.of(graphs, source.y_MN, source.coarse_M)
    nothing_M = np.full(len(y_MN), -1)
    prior_AN = torch.from_numpy(np.stack([arm.targets(y_MN, nothing_M).mean(0) for arm in graphs]))
    held_AMN = ArmTargets.of(graphs, held.y_MN, held.coarse_M).target_AMN
    untaught = np.flatnonzero(~source.y_MN.any(0))
    choosing = np.flatnonzero(held.y_MN.sum(0, dtype=int) >= CHOOSING)
    propagate_ANN = torch.from_numpy(np.stack([arm.propagation() for arm in graphs]))
    heads = Heads(propagate_ANN, teach_MF.shape[1], seed)
    rows: list[Row] = []
    for mark in trained(heads, x_MF, targets, steps, seed):
        figures = list(scored(heads, graphs, test_MF, tested, untaught.tolist()))
        with torch.no_grad():
            held_q_AMN = heads.log_q(held_x_MF)
        closed_A = closed(held_q_AMN, held_AMN, prior_AN)
        for arm, share, log_q_MN in zip(graphs, closed_A, held_q_AMN.double().numpy(), strict=True):
            auc = np.nanmean(class_auc(held.y_MN[:, choosing], log_q_MN[:, choosing]))
            head = {"arm": arm.name, "sigma": arm.sigma, "of": ""}
            figures += [
                {**head, "metric": "closed", "value": float(share)},
                {**head, "metric": "choosing", "value": 100 * float(auc)},
            ]
        rows += [{"step": mark, **row} for row in figures]
    labels = ridge_rows(features[0][source.row_M], source.y_MN, features[2], tested)
    return rows + [{"step": steps[-1], **row} for row in labels]


def by_family(
    score_MN: NDArray[np.float64],
    family_MR: NDArray[np.float64],
    member_RN: NDArray[np.uint8],
    untaught: Sequence[int],
) -> NDArray[np.float64]:
    """Return the leaves' scores, with an untaught leaf's replaced by its family's."""
    score_MN = score_MN.copy()
    for leaf in untaught:
        score_MN[:, leaf] = family_MR[:, member_RN[:, leaf].argmax()]
    return score_MN


def ridge_rows(
    x_MF: NDArray[np.float32], y_MN: NDArray[np.uint8], test_MF: NDArray[np.float32], tested: Tested
) -> Iterator[Row]:
    """Yield the scores of plain labels: a ridge regression per leaf and family, chosen by leave-one-out.

    A leaf that nothing taught ranks all records alike, or in `labels, inference` by its family.
    """
    y_MR = (y_MN @ tested.member_RN.T > 0).astype(float)
    ridge = RidgeCV(ALPHAS, alpha_per_target=True).fit(x_MF, np.c_[y_MN.astype(float), y_MR])
    leaf_MN, family_MR = np.split(ridge.predict(test_MF).astype(float), [y_MN.shape[1]], axis=1)
    untaught = np.flatnonzero(~y_MN.any(0)).tolist()
    leaf_MN[:, untaught] = 0
    row = {"arm": LABELS, "sigma": np.nan}
    yield from tested.rows(row, leaf_MN, family_MR, torch.from_numpy(leaf_MN).float())
    by_family_MN = by_family(leaf_MN, family_MR, tested.member_RN, untaught)
    yield from tested.rows({**row, "arm": LABELS_INFERENCE}, by_family_MN, family_MR, None)
