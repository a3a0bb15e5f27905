"""Concept prototypes P from a two-layer graph convolution over Â (eq. gscl-prototypes).

Only training builds this module. An exported model stores P as a buffer.

Shapes: N concepts, E node width (d_e), K concept width (d_c).
"""

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, normalize

from marecg.nn.dropout import dropout

SMALLEST = 1e-3
"""Smallest singular value used to fit P, relative to the largest. Dropout perturbs smaller directions."""


class PrototypeHead(nn.Module):
    """Graph convolution that computes the prototypes P from node embeddings E.

    Each of the two layers computes (E + ÂE)W. The head has 55,040 parameters at the paper's sizes. GCNConv's
    own normalisation would compute ÂEW, which isn't the paper's equation. Normalisation is therefore off, and
    GCNConv uses the weighted edges of I + Â.

    Args:
        a_hat_NN: Â, float [N, N], the symmetrically normalised adjacency with self-loops.
        node_width: d_e.
        concept_width: d_c.
        dropout: rate of Drop.
    """

    edge_index: Tensor
    edge_weight: Tensor

    def __init__(self, a_hat_NN: Tensor, node_width: int, concept_width: int, dropout: float) -> None:
        from torch_geometric.nn import GCNConv  # noqa: PLC0415 (half a second that a run without GSCL saves)

        super().__init__()
        propagate_NN = torch.eye(len(a_hat_NN), dtype=a_hat_NN.dtype) + a_hat_NN
        edge_index = propagate_NN.nonzero().T.contiguous()
        self.register_buffer("edge_index", edge_index, persistent=False)
        self.register_buffer("edge_weight", propagate_NN[tuple(edge_index)].float(), persistent=False)
        self.embedding = nn.Parameter(torch.randn(len(a_hat_NN), node_width) * 0.02)
        self.conv1 = GCNConv(node_width, node_width, normalize=False, bias=False)
        self.norm1 = nn.LayerNorm(node_width)
        self.conv2 = GCNConv(node_width, concept_width, normalize=False, bias=False)
        self.norm2 = nn.LayerNorm(concept_width)
        self.dropout = dropout
        _remove_source(GCNConv.propagate)

    @torch.no_grad()
    def begin_at(self, p_NK: Tensor) -> None:
        """Fit the second layer by least squares, so that the head starts with the given prototypes.

        If N < d_e, as in all recipes except `tiny`, the head reproduces P except for the mean of each row,
        which LayerNorm removes. W keeps its initial norm, so that an optimiser step changes W as little as in
        a new head. The norm has no effect on P, because LayerNorm follows.

        Args:
            p_NK: prototypes P of the weights that training starts from.
        """
        h_NE = self._hidden().double()
        propagate_NN = torch.zeros(len(p_NK), len(p_NK), dtype=h_NE.dtype)
        propagate_NN[tuple(self.edge_index)] = self.edge_weight.double()
        w_EK = torch.linalg.pinv(propagate_NN @ h_NE, rtol=SMALLEST) @ p_NK.double()
        weight_KE = self.conv2.lin.weight
        weight_KE.copy_(w_EK.T * (weight_KE.norm() / w_EK.norm()))

    def forward(self, generator: torch.Generator | None = None) -> Tensor:
        """Return P [N, d_c] with rows of unit length. Dropout is used only if there is a generator."""
        h_NE = self._hidden()
        if generator is not None:
            h_NE = dropout(h_NE, self.dropout, generator)
        return normalize(self.norm2(self.conv2(h_NE, self.edge_index, self.edge_weight)), dim=-1)

    def _hidden(self) -> Tensor:
        """Return the first layer's output for E, [N, d_e]."""
        return self.norm1(gelu(self.conv1(self.embedding, self.edge_index, self.edge_weight)))  # type: ignore[no-any-return]


def _remove_source(function: Any) -> None:
    """Delete the source file that PyG writes to the temporary folder in every process."""
    source = Path(function.__code__.co_filename)
    if source.parent == Path(tempfile.gettempdir()):
        source.unlink(missing_ok=True)
