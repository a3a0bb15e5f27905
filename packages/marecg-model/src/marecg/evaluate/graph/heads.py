"""The concept side of GSCL for many graphs at once, on features that stand still.

All arms begin with the same weights and see the same records under the same dropout, so what differs between
them is the graph.

Shapes: A arms, B batch, M records, F features, N concepts, E node width (d_e), K concept width (d_c).
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, log_softmax, normalize

from marecg.nn.attention import init_linear
from marecg.nn.dropout import dropout
from marecg.nn.prototypes import PrototypeHead
from marecg.objectives.comparators.labels import labels_loss

WIDTH = 64
TAU = 0.2
DROPOUT = 0.1
BATCH = 128
LR, WEIGHT_DECAY = 3e-3, 0.05


class Heads(nn.Module):
    """W_sca and the prototypes of each arm (eq. gscl-prototypes, gscl-pred), and leaves as plain labels.

    Args:
        propagate_ANN: I + Â of each arm.
        seed: of the first weights, which all arms share.
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
    heads: Heads,
    x_MF: Tensor,
    target_AMN: Tensor,
    y_MN: Tensor,
    marks: Sequence[int],
    seed: int,
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
