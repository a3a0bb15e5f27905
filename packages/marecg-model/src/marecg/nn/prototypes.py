"""Concept prototypes P, a vector per concept, from a graph convolution (eq. gscl-prototypes).

Each concept of the ontology is a node of a graph, and Â is the graph's normalised adjacency matrix. Only
training builds this module. An exported model stores P as a buffer.

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
"""Smallest singular value used to fit the prototypes, relative to the largest.

Dropout would strongly change prototypes that were fitted with smaller singular values.
"""


class PrototypeHead(nn.Module):
    """Graph convolution that computes the prototypes P from node embeddings E.

    Each of the two layers computes (X + ÂX)W from its input X with its own weight matrix W. The input is E in
    the first layer, and the first layer's result in the second layer. The head has 55,040 parameters at the
    paper's sizes. With its own normalisation, PyG's GCNConv would compute ÂXW, which isn't the paper's
    equation. Normalisation is therefore off, and GCNConv uses the weighted edges of I + Â.

    Args:
        a_hat_NN: Â, float [N, N], the symmetrically normalised adjacency with self-loops.
        node_width: d_e, the width of the node embeddings.
        concept_width: d_c, the width of the prototypes.
        dropout: dropout rate between the two layers.
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

        If N < d_e, as in all recipes except `tiny`, the head reproduces the given prototypes except for the
        mean of each row, which LayerNorm removes. The layer's matrix W keeps its initial norm, so that the
        relative change per optimiser step is as small as in a new head. The norm has no effect on P, because
        LayerNorm follows.

        Args:
            p_NK: prototypes of the model from whose weights training starts.
        """
        h_NE = self._hidden().double()
        propagate_NN = torch.zeros(len(p_NK), len(p_NK), dtype=h_NE.dtype)
        propagate_NN[tuple(self.edge_index)] = self.edge_weight.double()
        w_EK = torch.linalg.pinv(propagate_NN @ h_NE, rtol=SMALLEST) @ p_NK.double()
        weight_KE = self.conv2.lin.weight
        weight_KE.copy_(w_EK.T * (weight_KE.norm() / w_EK.norm()))

    def forward(self, generator: torch.Generator | None = None) -> Tensor:
        """Return P, [N, d_c], with rows of unit length. Dropout is applied only if a generator is given."""
        h_NE = self._hidden()
        if generator is not None:
            h_NE = dropout(h_NE, self.dropout, generator)
        return normalize(self.norm2(self.conv2(h_NE, self.edge_index, self.edge_weight)), dim=-1)

    def _hidden(self) -> Tensor:
        """Return the first layer's output for the node embeddings E, [N, d_e]."""
        return self.norm1(gelu(self.conv1(self.embedding, self.edge_index, self.edge_weight)))  # type: ignore[no-any-return]


def _remove_source(function: Any) -> None:
    """Delete the generated source file that PyG leaves in the temporary folder in every process."""
    source = Path(function.__code__.co_filename)
    if source.parent == Path(tempfile.gettempdir()):
        source.unlink(missing_ok=True)
