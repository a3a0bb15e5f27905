"""eq. gscl-pred and eq. gscl-loss."""

import math
from types import SimpleNamespace

import torch

import ecg_ontology
from marecg.model.mar_ecg import MarEcg
from marecg.nn.concepts import concept_logits
from marecg.objectives import Parts
from marecg.objectives.gscl import GsclConfig, family_loss, gscl_loss
from marecg.recipes import by_name
from marecg.recipes.overrides import override


def test_q_is_the_softmax_of_cosines_over_tau():
    h = torch.tensor([[3.0, 4.0]])
    prototypes = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    torch.testing.assert_close(concept_logits(h, prototypes, tau=0.5), torch.tensor([[1.2, 1.6]]))


def test_records_with_roots_only_leave_the_loss_and_a_batch_of_them_pulls_nowhere():
    logits, target = torch.randn(3, 5, requires_grad=True), torch.rand(3, 5).softmax(-1)
    target[1] = 0
    torch.testing.assert_close(gscl_loss(logits, target), gscl_loss(logits[[0, 2]], target[[0, 2]]))
    loss = gscl_loss(logits, torch.zeros(3, 5))
    loss.backward()
    assert loss == 0
    assert not logits.grad.any()


def test_the_loss_is_the_mean_cross_entropy_of_the_equation():
    logits, target = torch.randn(4, 6), torch.randn(4, 6).softmax(-1)
    q = logits.exp() / logits.exp().sum(1, keepdim=True)
    torch.testing.assert_close(gscl_loss(logits, target), -(target * q.log()).sum() / 4)


def test_a_familys_mass_is_that_of_its_concepts_and_a_record_teaches_its_own_families():
    q_BN = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])
    y_BN = torch.tensor([[0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    loss = family_loss(q_BN.log(), y_BN, torch.tensor([0, 1, 0, 1]))  # two roots with a leaf each
    expected = (-math.log(0.4) - (math.log(0.4) + math.log(0.6)) / 2) / 2  # the third record has no leaf
    torch.testing.assert_close(loss, torch.tensor(expected))


def test_small_graph_takes_leaves_and_families_in_place_of_hops():
    gscl = by_name("small-graph").gscl
    assert (gscl.sigma, gscl.a_hat, gscl.families) == (0.01, "identity", 0.5)


def test_the_families_loss_is_added_by_its_share():
    shape = override(by_name("tiny-c1"), ["model.width=12", "model.depth=1"]).model
    parts = Parts(shape, MarEcg(shape), ecg_ontology.load())
    y_BN, root_BN = torch.zeros(2, 3, 40, dtype=torch.bool)
    y_BN[range(2), [5, 34]] = True
    root_BN[range(3), [1, 0, 2]] = True  # of the third record only the family is known
    losses = {}
    for share in (0.0, 0.5):
        torch.manual_seed(0)
        objective = GsclConfig(families=share, node_width=8).build(parts)
        supervision = SimpleNamespace(target_BN=y_BN.float(), root_BN=root_BN)
        seen = SimpleNamespace(concept_BK=torch.randn(3, shape.concept_width), supervision=supervision)
        views = SimpleNamespace(supervised=seen, generator=torch.Generator().manual_seed(0), logits_BN=None)
        losses[share] = objective.losses(views)["gscl"][1]
    families = family_loss(views.logits_BN, root_BN, objective.family_N)
    assert families != family_loss(views.logits_BN, y_BN, objective.family_N), "the third record teaches"
    torch.testing.assert_close(losses[0.5], losses[0.0] + 0.5 * families)
