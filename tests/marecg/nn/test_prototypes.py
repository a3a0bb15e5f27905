"""eq. gscl-prototypes."""

import torch
from torch import Tensor
from torch.nn.functional import gelu, layer_norm

from marecg.nn.prototypes import PrototypeHead


def ring(n: int) -> Tensor:
    """Â of a ring with self-loops: every node has degree 3."""
    adjacency = torch.eye(n) + torch.eye(n).roll(1, 0) + torch.eye(n).roll(-1, 0)
    return adjacency / 3


def test_at_the_papers_widths_the_concept_side_has_55040_parameters_and_no_map_has_a_bias():
    head = PrototypeHead(ring(40), node_width=128, concept_width=256, dropout=0.1)
    assert sum(parameter.numel() for parameter in head.parameters()) == 55_040
    maps = {name for name, _ in head.named_parameters() if "conv" in name}
    assert maps == {"conv1.lin.weight", "conv2.lin.weight"}


def test_node_embeddings_begin_as_normal_draws_of_deviation_0_02():
    torch.manual_seed(0)
    embedding = PrototypeHead(ring(40), node_width=128, concept_width=256, dropout=0.1).embedding
    assert abs(embedding.mean()) < 1e-3
    assert 0.0195 < embedding.std() < 0.0205
    assert embedding.abs().max() > 0.06  # normal, not cut off at two deviations nor uniform


def test_the_graph_convolution_is_the_dense_product_of_the_equation():
    a_hat_NN = ring(7)
    head = PrototypeHead(a_hat_NN, node_width=5, concept_width=4, dropout=0.1)
    with torch.no_grad():
        head.norm1.weight.normal_()
        head.norm2.bias.normal_()
    propagated_NE = head.embedding + a_hat_NN @ head.embedding
    norm1, norm2 = ((each.weight, each.bias) for each in (head.norm1, head.norm2))
    h1_NE = layer_norm(gelu(propagated_NE @ head.conv1.lin.weight.T), (5,), *norm1)
    h2_NK = layer_norm((h1_NE + a_hat_NN @ h1_NE) @ head.conv2.lin.weight.T, (4,), *norm2)
    torch.testing.assert_close(head(), h2_NK / h2_NK.norm(dim=1, keepdim=True))
    weights = {name for name, _ in head.named_parameters()}
    assert set(head.state_dict()) == weights, "the edges are the ontology's and no weights"


def test_every_prototype_lies_on_the_unit_sphere_with_and_without_dropout():
    head = PrototypeHead(ring(40), node_width=16, concept_width=8, dropout=0.5)
    first, same, other = (head(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    for prototypes_NK in (head(), first):
        torch.testing.assert_close(prototypes_NK.norm(dim=1), torch.ones(40))
    assert torch.equal(first, same), "dropout follows its generator"
    assert not torch.equal(first, other)
