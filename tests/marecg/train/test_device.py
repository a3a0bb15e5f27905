"""A step as a GPU takes it, without one: its device by tensors without values, its bf16 on the CPU."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.marecg.train.runs import ONTOLOGY, network, run
from torch import Tensor
from torch.utils._pytree import tree_map_only

from marecg.model.batch import Batch, Supervision
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.data import CorpusData

CONFIG = override(by_name("tiny-c3"), ["model.width=32", "model.depth=2", "model.heads=2"])


class OnMeta(torch.Generator):
    """A generator that says it is on the device without values, where nothing is drawn."""

    device = torch.device("meta")  # type: ignore[assignment]


def a_batch() -> Batch:
    """Four records: one has no leaf, one no beats, one is short."""
    draw = torch.Generator().manual_seed(0)
    y = ONTOLOGY.leaf_multi_hot([["164889003"], ["54329005"], [], ["426783006"]])
    rpeaks_BK = torch.arange(200, 3400, 400).repeat(4, 1)
    rpeaks_BK[3] = -1
    y_BN, target_BN = torch.from_numpy(y.astype(bool)), torch.from_numpy(ONTOLOGY.soft_targets(y)).float()
    rhythm = (torch.full((4,), 0.8), torch.rand(4, generator=draw), torch.arange(4), torch.zeros(4))
    phase_BT = torch.ones(4, CONFIG.model.context_patches, dtype=torch.int8)
    supervision = Supervision(y_BN, target_BN, rpeaks_BK, *rhythm, phase_BT, torch.zeros_like(y_BN))
    d_BCL = torch.randint(-2000, 2000, (4, 12, 4700), generator=draw, dtype=torch.int16)
    return Batch(0, torch.arange(4), d_BCL, torch.tensor([4700, 4700, 3000, 4700]), supervision)


@pytest.mark.parametrize(("device", "pinned"), [("cuda", 12), ("cpu", 0)])
def test_a_batch_is_pinned_whole_for_a_gpu_and_left_alone_for_a_cpu(monkeypatch, device, pinned):
    seen: list[Tensor] = []
    monkeypatch.setattr(Tensor, "pin_memory", lambda value: seen.append(value) or value)
    nothing: Any = None
    data, batch = CorpusData(nothing, nothing, CONFIG, steps=1), a_batch()
    trainer: Any = SimpleNamespace(strategy=SimpleNamespace(root_device=torch.device(device)))
    data.trainer = trainer
    handed = data.on_before_batch_transfer(batch, 0)
    assert len(seen) == pinned
    torch.testing.assert_close(handed.d_BCL, batch.d_BCL)
    assert handed.number == batch.number


def test_a_step_stays_on_its_device_and_never_waits_for_a_value():
    net = network(CONFIG).to("meta")
    outcome = net(tree_map_only(Tensor, lambda value: value.to("meta"), a_batch()), OnMeta(), lambda z: z, 10)
    assert {value.device.type for value in (outcome.loss, *outcome.losses.values())} == {"meta"}


def test_a_step_in_bf16_gives_the_losses_of_one_in_fp32_but_for_a_few_percent():
    net, batch = network(CONFIG), a_batch()
    full = run(net, batch).losses
    with torch.autocast("cpu", torch.bfloat16):
        outcome = run(net, batch)
        outcome.loss.backward()
    for name, value in full.items():
        assert outcome.losses[name].item() == pytest.approx(value.item(), rel=0.02), name
    gradients = [parameter.grad for parameter in net.parameters() if parameter.grad is not None]
    assert all(gradient.isfinite().all() for gradient in gradients)
