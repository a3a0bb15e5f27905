"""Heads side by side: each arm is the paper's prototype head, and arms differ in nothing but their graph."""

import math

import numpy as np
import pytest
import torch

import ecg_ontology
from marecg.nn.concepts import concept_logits
from marecg.nn.prototypes import PrototypeHead
from marecg_research import perturb
from marecg_research.graph.arms import GraphArm, arms, matched_sigma, mean_entropy, members
from marecg_research.graph.heads import ArmTargets, Heads, by_family, trained

ONTO = ecg_ontology.load()
REAL = GraphArm("real", ONTO, 0.5)
EDGELESS = GraphArm("edgeless", ONTO, math.nan, propagates=False)
NOTHING = np.full(1, -1)


def leaves(*abbreviations: str) -> np.ndarray:
    y_1N = np.zeros((1, len(ONTO)), np.uint8)
    y_1N[0, [ONTO.node(each).index for each in abbreviations]] = 1
    return y_1N


def heads_of(*arms: GraphArm, seed: int = 3) -> Heads:
    return Heads(torch.from_numpy(np.stack([arm.propagation() for arm in arms])), 6, seed)


def test_each_arm_has_the_prototypes_that_the_papers_head_makes_of_the_same_weights():
    heads = heads_of(EDGELESS, REAL)
    one = PrototypeHead(torch.tensor(ONTO.a_hat), 64, 64, 0.1)
    part = {name: value[1].detach() for name, value in heads.stacked.items()}
    with torch.no_grad():
        one.embedding.copy_(part["embedding"])
        one.conv1.lin.weight.copy_(part["w1"].T)
        one.conv2.lin.weight.copy_(part["w2"].T)
    torch.testing.assert_close(heads.prototypes()[1], one())
    x_BF = torch.randn(5, 6)
    q_BN = concept_logits(x_BF @ part["to_concepts"], one(), 0.2).log_softmax(-1)
    torch.testing.assert_close(heads.log_q(x_BF)[1], q_BN)


def test_two_arms_of_one_graph_draw_alike_and_stay_equal():
    torch.manual_seed(0)
    x_MF, y_MN = torch.randn(30, 6), torch.zeros(30, len(ONTO), dtype=torch.bool)
    y_MN[torch.arange(30), torch.arange(30) % 35 + 5] = True
    arms = (REAL, EDGELESS, REAL)
    targets = ArmTargets.of(arms, y_MN.numpy().astype(np.uint8), np.full(30, -1))
    heads = heads_of(*arms)
    assert list(trained(heads, x_MF, targets, (1, 4), 7)) == [1, 4]
    before, after = (each.log_q(x_MF)[0][y_MN].mean() for each in (heads_of(*arms), heads))
    assert after > before + 0.01, "they have learnt"
    first_BN, other_BN, again_BN = heads.log_q(x_MF)
    torch.testing.assert_close(first_BN, again_BN)  # to the bit only where the product is laid out alike
    assert not torch.allclose(first_BN, other_BN)


def test_targets_are_those_of_the_ontology_and_without_a_graph_the_active_leaves_alone():
    y_1N = leaves("AntMI", "STD")
    expected = ONTO.soft_targets(y_1N, sigma=0.5, rule="max-index")
    assert REAL.targets(y_1N, NOTHING) == pytest.approx(expected)
    assert EDGELESS.targets(y_1N, NOTHING) == pytest.approx(0.5 * y_1N)


@pytest.mark.parametrize("arm", [REAL, EDGELESS])
def test_a_record_of_a_family_alone_has_a_target_around_its_root(arm):
    root = ONTO.roots[3]
    t_N = arm.targets(np.zeros((1, len(ONTO)), np.uint8), np.array([root]))[0]
    assert t_N.argmax() == root
    assert t_N.sum() == pytest.approx(1)
    assert (t_N > 0).sum() == (len(ONTO) if arm is REAL else 1)


def test_only_the_real_arm_passes_prototypes_over_the_edges():
    assert REAL.propagation() == pytest.approx(np.eye(len(ONTO)) + ONTO.a_hat)
    assert EDGELESS.propagation() == pytest.approx(2 * np.eye(len(ONTO)))


def test_of_a_record_of_a_family_alone_the_family_loss_teaches_the_mass_and_nothing_else():
    families = GraphArm("families", ONTO, math.nan, propagates=False, families=0.5)
    y_2N, coarse_2 = np.concatenate([leaves("LBBB"), np.zeros((1, len(ONTO)), np.uint8)]), np.array([-1, 13])
    conduction = ONTO.roots.index(ONTO.families[13])
    targets = ArmTargets.of([families, EDGELESS], y_2N, coarse_2)
    assert not targets.target_AMN[0, 1].any()
    assert targets.target_AMN[1, 1].argmax() == ONTO.roots[conduction]
    assert targets.family_AMR[0].argmax(-1).tolist() == [conduction, conduction]
    log_q_2BN = torch.randn(2, 2, len(ONTO)).log_softmax(-1)
    mass = log_q_2BN[0, :, np.array(ONTO.families) == ONTO.roots[conduction]].exp().sum(-1)
    of_families = -log_q_2BN[0, 0, 13] - 0.5 * mass.log().mean()
    edgeless = -(log_q_2BN[1, 0, 13] + log_q_2BN[1, 1, ONTO.roots[conduction]]) / 2
    torch.testing.assert_close(targets.loss(log_q_2BN, torch.arange(2)), of_families + edgeless)


def test_a_shuffle_is_matched_to_the_real_targets_entropy():
    y_4N = np.concatenate([leaves("SBrad"), leaves("AntMI"), leaves("STD", "LVH"), leaves("NSR")])
    every = arms(ONTO, {"shuffle 0": perturb.shuffled(ONTO, 0)}, [0.5], y_4N, 1)
    real, shuffle = (
        next(arm for arm in every if arm.name == name).targets(y_4N, np.full(4, -1))
        for name in ("real", "shuffle 0")
    )
    assert mean_entropy(shuffle) == pytest.approx(mean_entropy(real), abs=1e-4)
    assert matched_sigma(ONTO, y_4N, mean_entropy(real)) == pytest.approx(0.5, abs=1e-4)
    random = next(arm for arm in every if arm.name == "random families 0")
    assert (members(random.graph) != members(ONTO)).any()


def test_a_leaf_that_nothing_taught_has_the_score_of_its_family():
    score_1N, family_1R = np.arange(40.0)[None], np.array([[-1.0, -2.0, -3.0, -4.0, -5.0]])
    untaught = [ONTO.node("LBBB").index, ONTO.node("NSR").index]
    scores = by_family(score_1N, family_1R, members(ONTO), untaught)
    assert scores[0, untaught].tolist() == [-3.0, -1.0]
    assert np.delete(scores[0], untaught).tolist() == np.delete(score_1N[0], untaught).tolist()
