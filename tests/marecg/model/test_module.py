"""`MarEcg` as a module of PyTorch: records of any length and leads, heads, layers, devices, compilers."""

import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import marecg
from ecg_records.signal.leads import LEADS
from marecg.embedding.embed import embed
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import readout_width, wide_columns

SOME = ("V1", "I", "aVF")


@pytest.fixture(scope="module")
def model(micro) -> MarEcg:
    """Overlapping patches, three beginnings, amplitudes, modulation: all that forward may read."""
    torch.manual_seed(0)
    some = {"stride": 25, "positions": 187, "phases": 3, "amplitude": True, "modulation": True}
    return MarEcg(micro.model.model_copy(update=some)).eval()


def noise(length: int, leads: int = 12) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(length).normal(0, 0.3, (2, leads, length))).float()


def same(mine: torch.Tensor, theirs: np.ndarray) -> None:
    assert tuple(mine.shape) == theirs.shape
    assert np.abs(mine.detach().numpy() - theirs).max() <= 1e-6 * np.abs(theirs).max()


@pytest.mark.parametrize("length", [50, 130, 2000, 3500, 3501, 5000, 7100])
def test_a_call_gives_what_embed_gives_of_any_length(model, length):
    x = noise(length)
    features, expected = model(x), embed(model, x.numpy(), fs=500, readout="wide")
    for name in ("rhythm", "patch", "wide"):
        same(getattr(features, name), getattr(expected, name))
    for name, columns in wide_columns(model.config).items():
        same(getattr(features, name), expected.wide[:, columns])


def test_leads_are_taken_by_name_in_any_order_and_the_others_hidden(model):
    x = noise(4000, 3)
    expected = embed(model, x.numpy(), fs=500, leads=SOME, readout="wide")
    same(model(x, leads=SOME).wide, expected.wide)
    same(model(x[:, [2, 0, 1]], leads=["avf", "v1", "i"]).wide, expected.wide)
    twelve, absent = torch.randn(2, 12, 4000), torch.ones(2, 12, dtype=torch.bool)
    for place, lead in enumerate(SOME):
        twelve[:, LEADS.index(lead)], absent[:, LEADS.index(lead)] = x[:, place], False
    same(model(twelve, absent=absent).wide, expected.wide)


def test_what_lies_behind_a_records_end_changes_nothing(model):
    x, n_valid = noise(7100), torch.tensor([7100, 3200])
    x[1, :, 3200:] = torch.nan
    features = model(x, n_valid)
    alone = embed(model, x[1:, :, :3200].numpy(), fs=500, readout="wide")
    same(features.wide[1:], alone.wide)
    patches = alone.patch.shape[1]
    same(features.patch[1:, :patches], alone.patch)
    assert not features.patch[1:, patches:].any()


def test_another_rate_is_resampled_as_embed_does_and_none_is_guessed(model):
    x = noise(1000)
    same(model(model.resample(x, fs=100)).rhythm, embed(model, x.numpy(), fs=100).rhythm)
    with pytest.raises(UsageError, match=r"^fs, the sampling rate in Hz, is required"):
        model.resample(x)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda model: model(noise(4000, 2)),
            r"x must be a tensor \[records, 12 leads, samples\], got shape \(2, 2, 4000\)",
        ),
        (lambda model: model(noise(4000).numpy()), "got type ndarray"),
        (
            lambda model: model(noise(40)),
            "x must have at least 50 samples at 500 Hz, which is one patch; got 40",
        ),
        (
            lambda model: model(noise(400), torch.tensor([400, 401])),
            r"n_valid must be 50 \(one patch\) to 400, got 400 to 401",
        ),
        (lambda model: model(noise(400), torch.tensor([400, 20])), "n_valid must be .*, got 20 to 400"),
        (lambda model: model(noise(400, 1), leads=["X"]), "unknown"),
        (lambda model: model.classifier(2, "beats"), "got beats, which needs R-peaks"),
        (lambda model: model.classifier(2, "all"), "unknown readout 'all'"),
    ],
)
def test_what_the_module_cannot_take_is_one_clear_error(model, call, problem):
    with pytest.raises(UsageError, match=problem) as error:
        call(model)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("readout", ["rhythm", "wide"])
def test_a_classifier_learns_by_plain_pytorch_and_moves_only_what_is_not_frozen(micro, readout):
    torch.manual_seed(0)
    model = MarEcg(micro.model.model_copy(update={"depth": 2}))
    net = model.freeze(1).classifier(3, readout)
    label = torch.arange(12) % 3
    waves = torch.sin((1 + 2 * label)[:, None] * torch.arange(4000) / 80)
    x = waves[:, None] + 0.1 * torch.randn(12, 3, 4000)
    assert net.head.in_features == model.num_features(readout) == readout_width(model.config, readout)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    optimizer = torch.optim.AdamW(net.standardise(x, leads=SOME).param_groups(lr=1e-4, head=100))
    losses = []
    for _ in range(12):
        loss = torch.nn.functional.cross_entropy(net(x, leads=SOME), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    moved = {name for name, value in net.state_dict().items() if not value.equal(before[name])}
    assert "head.weight" in moved
    assert not any(re.match(r"model\.(tokens|encoder\.blocks\.0|to_concepts)", name) for name in moved)
    assert any(name.startswith("model.encoder.blocks.1") for name in moved)


def test_a_layer_learns_slower_than_the_one_above_it(micro):
    model = MarEcg(micro.model.model_copy(update={"depth": 2}))
    rates = [group["lr"] for group in model.classifier(2).param_groups(1.0, decay=0.5, head=4.0)]
    assert sorted(set(rates), reverse=True) == [4.0, 1.0, 0.5, 0.25, 0.125]
    assert all(
        (group["weight_decay"] > 0) == all(one.ndim > 1 for one in group["params"])
        for group in model.param_groups(1.0)
    )
    grouped = [one for group in model.param_groups(1.0) for one in group["params"]]
    learning = {id(one) for one in model.parameters() if one.requires_grad}
    assert len(grouped) == len(learning)
    assert {id(one) for one in grouped} == learning
    assert model.freeze().param_groups(1.0) == []


@torch.no_grad()
def assert_says_the_same(program: Any, model: MarEcg, x: torch.Tensor) -> None:
    for mine, theirs in zip(program(x), model(x), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_an_exported_program_says_what_the_module_says(model):
    x = noise(5000)
    assert_says_the_same(torch.export.export(model, (x,)).module(), model, x)


def test_a_traced_program_says_what_the_module_says(model):
    x = noise(5000)
    with warnings.catch_warnings():  # that the length of the records is now a constant
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        traced = torch.jit.trace(model, (x,))
    assert_says_the_same(traced, model, x)


@pytest.mark.slow
def test_a_compiled_program_says_what_the_module_says_of_any_number_of_records(model):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager")
    for x in (noise(5000), noise(5000)[:1]):
        assert_says_the_same(compiled, model, x)


def test_a_device_is_named_and_one_that_is_not_here_is_said(saved):
    assert MarEcg.from_pretrained(saved, device="cpu").prototypes.device.type == "cpu"
    for device in ("cuda:99", "gpu"):
        with pytest.raises(UsageError, match=f"device '{device}' isn't available. Use "):
            MarEcg.from_pretrained(saved, device=device)
        with pytest.raises(UsageError, match="isn't available"):
            embed(saved, noise(500).numpy(), fs=500, device=device)


@pytest.mark.parametrize(
    ("argument", "remedy"),
    [
        ("num_labels", r"model\.classifier\(n_classes\)"),
        ("device_map", "device='cuda'"),
        ("width", "config.json"),
    ],
)
def test_arguments_of_other_libraries_are_answered_by_what_stands_here_for_them(saved, argument, remedy):
    with pytest.raises(UsageError, match=f"unknown arguments {argument}.*{remedy}"):
        MarEcg.from_pretrained(saved, **{argument: 3})


def test_concepts_have_labels_and_installed_models_are_listed(model):
    assert model.id2label[model.ontology.nodes[5].index] == model.ontology.nodes[5].label
    assert len(model.id2label) == 40
    pytest.importorskip("marecg_small")
    assert set(marecg.list_models()) == {"marecg-small", "marecg-small-codes"}
