"""Pooled views of H: H̄ and h_rhythm (§Backbone, Pooled representations).

Shapes: B batch, T patches, C leads, D width, Q queries.
"""

import torch
from torch import Tensor, nn

from marecg.nn.attention import init_linear


def lead_mean(h_BTCD: Tensor) -> Tensor:
    """Return H̄, the mean of H over leads, [B, T, D]."""
    return h_BTCD.mean(2)


class RhythmPool(nn.Module):
    """Pool that turns H into h_rhythm (eq. rhythm-pool).

    Each query attends over time, then over leads. An MLP combines the results of the queries.

    Args:
        width: D.
        queries: Q.
        eta: η, weight of the plain mean of H. The weighted mean is added to the MLP's output.
    """

    def __init__(self, width: int, queries: int, eta: float) -> None:
        super().__init__()
        self.eta = eta
        self.query = nn.Parameter(torch.empty(queries, width))
        self.lead_score = nn.Linear(width, 1, bias=False)
        self.aggregate = nn.Sequential(nn.Linear(queries * width, width), nn.GELU(), nn.Linear(width, width))
        self.apply(init_linear)
        nn.init.trunc_normal_(self.query, std=0.02)

    @property
    def trained(self) -> bool:
        """Whether a loss has trained the pool. Biases start at 0 and change in the first step."""
        return any(bool(bias.any()) for name, bias in self.named_parameters() if name.endswith("bias"))

    def forward(self, h_BTCD: Tensor, real_BT: Tensor) -> Tensor:
        """Return h_rhythm [B, D]. Patches are ignored if `real_BT` is False."""
        real_BT = real_or_all(real_BT)
        _, lead_BCQ, summary_BCQD = self._attend(h_BTCD, real_BT)
        pooled_BQD = torch.einsum("bcq,bcqd->bqd", lead_BCQ, summary_BCQD)
        real_BT1 = real_BT[..., None].to(h_BTCD.dtype)
        mean_BD = (lead_mean(h_BTCD) * real_BT1).sum(1) / real_BT1.sum(1)
        return self.aggregate(pooled_BQD.flatten(1)) + self.eta * mean_BD  # type: ignore[no-any-return]

    def weights(self, h_BTCD: Tensor, real_BT: Tensor) -> Tensor:
        """Return the weight that each query gives to each token, [B, T, C, Q].

        Weights sum to 1 over T and C. The MLP of eq. rhythm-pool receives the weighted sum of H per query.
        """
        time_BTCQ, lead_BCQ, _ = self._attend(h_BTCD, real_or_all(real_BT))
        return time_BTCQ * lead_BCQ[:, None]

    def _attend(self, h_BTCD: Tensor, real_BT: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return weights over time, weights over leads, and each lead's weighted sum of H over time."""
        score_BTCQ = h_BTCD @ self.query.T * h_BTCD.shape[-1] ** -0.5
        time_BTCQ = score_BTCQ.masked_fill(~real_BT[:, :, None, None], -torch.inf).softmax(1)
        summary_BCQD = torch.einsum("btcq,btcd->bcqd", time_BTCQ, h_BTCD)
        return time_BTCQ, self.lead_score(summary_BCQD)[..., 0].softmax(1), summary_BCQD


def real_or_all(real_BT: Tensor) -> Tensor:
    """Return the mask of pooled patches, [B, T]: patches without padding, or all patches if none is left."""
    return real_BT | ~real_BT.any(1, keepdim=True)
