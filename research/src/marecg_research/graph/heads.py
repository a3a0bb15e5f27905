"""Train the heads of GSCL for many graphs at once on frozen features, and score them.

A head maps features to the concept space of a graph. Its prototypes are the vectors of the graph's concepts,
and q is a record's shares over the concepts. An arm is the training of a head with a certain graph. All arms
start with the same weights, and read the same records with the same dropout. So they differ only in the
graph.

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
"""Minimum number of a leaf's held-out records. Rarer leaves aren't used for choosing σ."""
ALPHAS = tuple(10.0**power for power in range(7))
"""Candidates for the penalty of each label's ridge regression."""


class Heads(nn.Module):
    """Heads W_sca and prototypes of all arms (eq. gscl-prototypes, gscl-pred).

    Args:
        propagate_ANN: propagation matrix of each arm (`GraphArm.propagation`).
        features: number of features.
        seed: seed of the initial weights, which are the same for all arms.
    """

    propagate_ANN: Tensor

    def __init__(self, propagate_ANN: Tensor, features: int, seed: int) -> None:
        super().__init__()
        count, concepts = propagate_ANN.shape[:2]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            head = PrototypeHead(torch.eye(concepts), WIDTH, WIDTH, DROPOUT)
            to_concepts = nn.Linear(features, WIDTH, bias=False)
            init_linear(to_concepts)
        first = {
            "embedding": head.embedding,
            "w1": head.conv1.lin.weight.T,
            "w2": head.conv2.lin.weight.T,
            "to_concepts": to_concepts.weight.T,
            **{
                f"{norm}_{part}": getattr(getattr(head, norm), part)[None]
                for norm in ("norm1", "norm2")
                for part in ("weight", "bias")
            },
        }
        self.stacked = nn.ParameterDict(
            {name: value.detach().expand(count, *value.shape).clone() for name, value in first.items()}
        )
        self.register_buffer("propagate_ANN", propagate_ANN)

    def prototypes(self, generator: torch.Generator | None = None) -> Tensor:
        """Return the prototypes P of each arm, [A, N, K]. Without a generator, there is no dropout."""
        part = self.stacked
        h_ANE = gelu(self.propagate_ANN @ part["embedding"] @ part["w1"])
        h_ANE = layer_norm(h_ANE, h_ANE.shape[-1:]) * part["norm1_weight"] + part["norm1_bias"]
        if generator is not None:
            h_ANE = h_ANE * dropout(torch.ones_like(h_ANE[0]), DROPOUT, generator)
        p_ANK = self.propagate_ANN @ h_ANE @ part["w2"]
        p_ANK = layer_norm(p_ANK, p_ANK.shape[-1:]) * part["norm2_weight"] + part["norm2_bias"]
        return normalize(p_ANK, dim=-1)

    def concept_vectors(self, x_BF: Tensor) -> Tensor:
        """Return the records' unit vectors in the concept space of each arm, [A, B, K]."""
        weight_AFK = self.stacked["to_concepts"]
        flat_BAK = x_BF @ weight_AFK.transpose(0, 1).flatten(1)
        return normalize(flat_BAK.unflatten(1, (len(weight_AFK), -1)).transpose(0, 1), dim=-1)

    def log_q(self, x_BF: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the log of q in each arm, [A, B, N]."""
        similarity_ABN = self.concept_vectors(x_BF) @ self.prototypes(generator).transpose(1, 2)
        return log_softmax(similarity_ABN / TAU, dim=-1)


@dataclass(frozen=True)
class ArmTargets:
    """Targets of the training records in all arms.

    Attributes:
        target_AMN: soft targets. A record whose target is zero isn't in the loss.
        weight_A: weight of the loss on families.
        member_ARN: concepts of each family.
        family_AMR: targets over families.
    """

    target_AMN: Tensor
    weight_A: Tensor
    member_ARN: Tensor
    family_AMR: Tensor

    @classmethod
    def of(
        cls, arms: Sequence[GraphArm], y_MN: NDArray[np.uint8], coarse_M: NDArray[np.int64]
    ) -> "ArmTargets":
        """Compute the targets in all arms; see `GraphArm.targets` for the arguments."""
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
    """Return the cross-entropy of each arm, [A], averaged over records with a target."""
    supervised_A = (target_ABN.sum(-1) > 0).sum(-1).clamp(min=1)
    return -(target_ABN * log_q_ABN).sum((-1, -2)) / supervised_A


def log_mass(log_q_ABN: Tensor, member_ARN: Tensor) -> Tensor:
    """Return the log of q's total on each family, [A, B, R]."""
    return log_q_ABN[:, :, None].masked_fill(~member_ARN[:, None], -torch.inf).logsumexp(-1)


def trained(
    heads: Heads, x_MF: Tensor, targets: ArmTargets, marks: Sequence[int], seed: int
) -> Iterator[int]:
    """Train all arms at once, and yield each step in `marks` when it is reached."""
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
    """Return the share of the loss that training has removed in each arm, [A].

    The share is 0 for a constant prediction of the prior, and 1 for predictions that are equal to the
    targets.
    """

    def loss(log_p_AMN: Tensor) -> Tensor:
        return -(target_AMN * log_p_AMN).sum(-1).mean(-1)

    prior_A = loss(prior_AN.clamp(min=1e-6).log()[:, None].expand_as(target_AMN))
    floor_A = loss(target_AMN.clamp(min=1e-12).log())
    return (prior_A - loss(log_q_AMN)) / (prior_A - floor_A)


@torch.no_grad()
def scored(
    heads: Heads, arms: Sequence[GraphArm], x_MF: Tensor, tested: Tested, untaught: Sequence[int]
) -> Iterator[Row]:
    """Yield the scores of trained heads on the test records.

    Two further arms use the graph only after training, on the scores of the edgeless arm. In `inference
    only`, a leaf without training records has the score of its family. In `spread`, each concept passes parts
    of its share to the concepts near it in the graph.
    """
    member_1RN = torch.from_numpy(tested.member_RN).bool()[None]
    prototypes_ANK = heads.prototypes()
    vectors_AMK = heads.concept_vectors(x_MF)
    for arm, space_MK, prototypes_NK in zip(arms, vectors_AMK, prototypes_ANK, strict=True):
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
    """Train the heads of all arms on the features of a base, and return the scores.

    The scores of plain labels, a ridge regression without a graph, are added.

    Args:
        features: features of the training, held-out and test records.
        taught: labels that may be used of the training records, and of the held-out records.
        graphs: arms.
        tested: test records.
        y_MN: all leaves of the training records. Their mean target is the prior for `closed`.
        steps: steps at which heads are scored.
        seed: seed of initial weights and draws.
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
    """Return the scores of leaves. A leaf in `untaught` gets the score of its family."""
    score_MN = score_MN.copy()
    for leaf in untaught:
        score_MN[:, leaf] = family_MR[:, member_RN[:, leaf].argmax()]
    return score_MN


def ridge_rows(
    x_MF: NDArray[np.float32], y_MN: NDArray[np.uint8], test_MF: NDArray[np.float32], tested: Tested
) -> Iterator[Row]:
    """Yield the scores of plain labels: a ridge regression for each leaf and family.

    Penalties are chosen by leave-one-out. A leaf without training records has the same score for all records.
    In `labels, inference`, it has the score of its family.
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
