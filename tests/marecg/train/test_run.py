"""A training run: what its folder and its exported model hold, and what its seed decides."""

import json
from itertools import pairwise

import pytest
import torch
from tests.marecg.train.runs import rows
from torch.optim.optimizer import register_optimizer_step_post_hook

import ecg_ontology
from marecg.model.mar_ecg import MarEcg
from marecg.objectives.jepa import Jepa
from marecg.recipes import Config
from marecg.recipes.overrides import override
from marecg.train.run import _network, train


def test_a_run_folder_holds_what_the_contract_names(unbroken, micro):
    tables = {"metrics.csv", "monitors.csv", "trained_on.parquet"}
    folders = {"checkpoints", "checkpoints.sha256", "model"}
    assert {path.name for path in unbroken.iterdir()} == {"config.json", "ontology.json"} | tables | folders
    config = json.loads((unbroken / "config.json").read_text())["config"]
    assert Config.model_validate(config) == micro.of_ontology(ecg_ontology.load())
    checkpoints = sorted(path.stem for path in (unbroken / "checkpoints").iterdir())
    assert checkpoints == ["step-00000004", "step-00000006"]
    assert list(rows(unbroken)[0]) == ["step", "epoch", "loss", "lr", "recon", "mask", "gscl"]
    assert [int(row["step"]) for row in rows(unbroken)] == [1, 2, 3, 4, 5, 6]
    model = MarEcg.from_pretrained(unbroken / "model")
    torch.testing.assert_close(model.prototypes.norm(dim=1), torch.ones(40))


def test_the_same_seed_gives_the_same_run_and_another_seed_another(pretrain, unbroken, tmp_path):
    """Recomputed activations change no loss either."""
    pretrain(tmp_path / "same", "train.checkpoint_activations=true")
    pretrain(tmp_path / "other", "train.seed=1")
    assert rows(tmp_path / "same") == rows(unbroken)
    assert rows(tmp_path / "other") != rows(unbroken)


def test_over_a_run_msps_rises_and_the_slow_encoder_follows_step_by_step(
    corpus_folder, micro, tmp_path, monkeypatch
):
    followed: list[tuple[int, int]] = []
    weights = [torch.ones(16)]  # at first
    after_step = Jepa.after_step

    def spy(self: Jepa, model: MarEcg, *steps: int) -> None:
        followed.append(steps)
        weights.append(model.encoder.norm.weight.detach().clone())
        after_step(self, model, *steps)

    monkeypatch.setattr(Jepa, "after_step", spy)
    sizes = ["jepa.width=8", "jepa.depth=1", "jepa.heads=1", "msps.hidden=8", "gscl=null"]
    config = override(micro, [*sizes, "train.max_steps=8", "train.max_epochs=8", "train.warmup_epochs=1"])
    train(config, corpus_folder, tmp_path)
    assert followed == [(step, 8) for step in range(8)]
    assert not any(torch.equal(one, other) for one, other in pairwise(weights))
    for step, row in enumerate(rows(tmp_path)):  # a step is an epoch here
        loss = {name: float(value) for name, value in row.items()}
        msps = 0.2 * (loss["alt"] + loss["rate"] + 0.5 * loss["mrr"] + 0.5 * loss["cv"])
        msps += 0.1 * (loss["seq"] + loss["phase"])
        rest = loss["recon"] + loss["mask"] + 0.15 * loss["jepa"]
        assert loss["loss"] == pytest.approx(rest + min(1, step / 5) * msps, rel=1e-6)


def test_what_is_exported_is_the_average_of_the_weights_where_one_is_kept(micro, corpus_folder, tmp_path):
    """After one step it is the weights themselves, whatever its momentum will be: it forgets their start."""
    for steps in (1, 6):
        exported = []
        for average in (0.0, 0.9):
            folder = tmp_path / f"{steps}-{average}"
            config = override(micro, [f"train.average={average}", f"train.max_steps={steps}"])
            train(config, corpus_folder, folder)
            exported.append(MarEcg.from_pretrained(folder).encoder.norm.weight - 1)
        last, averaged = exported
        assert last.any()
        assert torch.equal(last, averaged) == (steps == 1)
        assert rows(tmp_path / f"{steps}-0.0") == rows(tmp_path / f"{steps}-0.9")
    assert averaged.norm() < last.norm()


def test_a_network_comes_from_its_seed_and_leaves_torch_s_own_draws_alone(micro, tmp_path):
    states = []
    for seed in (5, 6):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        network = _network(micro, ecg_ontology.load(), tmp_path, None)
        assert torch.equal(torch.get_rng_state(), before)
        states.append(network.state_dict())
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


def test_the_gradients_norm_is_clipped(pretrain, tmp_path):
    norms: list[float] = []

    def note(optimizer: torch.optim.Optimizer, *_: object) -> None:
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norms.append(float(torch.linalg.vector_norm(torch.stack([grad.norm() for grad in grads]))))

    hook = register_optimizer_step_post_hook(note)
    pretrain(tmp_path, "train.clip=0.01", "train.max_steps=2")
    hook.remove()
    assert norms == pytest.approx([0.01, 0.01], rel=1e-3)
