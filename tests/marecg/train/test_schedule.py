"""The learning rate and the parameter groups."""

import pytest
import torch
from tests.marecg.train.runs import ONTOLOGY, small

from marecg.nn.schedule import cosine
from marecg.recipes import Config
from marecg.recipes.overrides import override
from marecg.recipes.schema import TrainConfig
from marecg.train.lightning_module import Pretraining, lr_factor, parameter_groups
from marecg.train.network import Network
from marecg.train.run import total_steps

TRAIN = TrainConfig(max_epochs=100, warmup_epochs=10, lr=1e-4, final_lr=1e-6)


def test_the_rate_rises_linearly_over_a_tenth_of_the_run_and_falls_along_a_cosine():
    factors = [lr_factor(step, 1001, TRAIN) for step in range(1001)]
    assert factors[100] == pytest.approx(1.0, abs=1e-2)
    assert max(factors) <= 1.0
    rise = torch.tensor(factors[:100]).diff()
    torch.testing.assert_close(rise, rise[:1].expand(99), atol=1e-6, rtol=1e-3)
    assert factors[101:] == sorted(factors[101:], reverse=True)
    assert factors[(100 + 1000) // 2] == pytest.approx((1 + 0.01) / 2, abs=1e-3)


def test_the_last_step_is_taken_at_the_final_rate():
    for steps in (6, 100, 1001):
        assert lr_factor(steps - 1, steps, TRAIN) * TRAIN.lr == pytest.approx(TRAIN.final_lr)
    assert (cosine(0, 0, 1), cosine(1, 0, 1)) == (1, 0)


def test_matrices_are_decayed_and_embeddings_norms_and_biases_are_not(micro):
    network = Network(micro, ONTOLOGY)
    decayed, rest = parameter_groups([network], 0.05)
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    assert (decayed["weight_decay"], rest["weight_decay"]) == (0.05, 0.0)
    assert all(parameter.ndim == 2 for parameter in decayed["params"])
    undecayed = {names[id(parameter)] for parameter in rest["params"]}
    of_model = ("tokens.lead", "tokens.position", "tokens.mask", "pool.query", "encoder.norm.weight")
    of_graph = "objectives.gscl.prototypes.embedding"
    assert {of_graph, *(f"model.{name}" for name in of_model)} <= undecayed
    assert len(decayed["params"]) + len(rest["params"]) == len(names)
    assert parameter_groups([network.requires_grad_(False)], 0.05) == [], "what takes no gradient is in none"


def test_a_last_share_of_an_epoch_is_a_step_too():
    for records, steps in ((32, 11), (64, 6)):
        config = Config(train=TrainConfig(max_epochs=10, batch_size=8, global_batch_size=records))
        assert total_steps(config, records=33) == steps


def test_every_head_has_groups_of_its_own_beside_the_encoders_at_the_same_rate():
    values = ["lr=1e-4", "final_lr=1e-6", "betas=[0.5, 0.25]", "weight_decay=0.125"]
    config = override(small("tiny-c3"), [f"train.{value}" for value in values])
    network = Network(config, ONTOLOGY)
    configured = Pretraining(config, network, total_steps=20).configure_optimizers()
    optimizer, schedule = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
    assert type(optimizer) is torch.optim.AdamW
    group_of = {id(p): place for place, group in enumerate(optimizer.param_groups) for p in group["params"]}
    modules = (network.model, *network.objectives.values())
    groups = [{group_of[id(p)] for p in each.parameters() if p.requires_grad} for each in modules]
    assert len(set().union(*groups)) == sum(map(len, groups))
    rates = []
    for _ in range(20):
        rates += {group["lr"] for group in optimizer.param_groups}
        optimizer.step()
        schedule.step()
    assert len(rates) == 20, "one for all"
    assert max(rates) == pytest.approx(1e-4)
    assert rates[-1] == pytest.approx(1e-6)
    assert {group["betas"] for group in optimizer.param_groups} == {(0.5, 0.25)}
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.0, 0.125}
