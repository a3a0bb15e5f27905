"""Continued pretraining: what a run begins with when it is given weights, and which weights it refuses."""

import shutil

import pytest
import torch
from tests.marecg.own_graphs import without_edges
from tests.marecg.train.runs import ONTOLOGY, small
from torch.nn.functional import layer_norm, normalize
from torch.nn.modules.module import register_module_forward_pre_hook

from marecg.corpus.derived import relabelled
from marecg.corpus.prepared import Corpus
from marecg.errors import CheckpointError, InputError, UsageError
from marecg.model.card import Provenance
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import RECIPES, Config
from marecg.recipes.overrides import override
from marecg.train.lightning_module import Pretraining
from marecg.train.network import Network
from marecg.train.run import train
from marecg.train.warm_start import recipe_for

FOLLOWING = [name for name in RECIPES if name.startswith("tiny-")]


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def seeded(config: Config, weights: dict[str, torch.Tensor] | None = None) -> Network:
    torch.manual_seed(0)
    return Network(config, ONTOLOGY, weights=weights)


def test_the_first_step_sees_the_given_weights(archive, micro, given, tmp_path):
    seen: list[dict[str, torch.Tensor]] = []

    def note(module: torch.nn.Module, _: object) -> None:
        if isinstance(module, Network):
            seen.append({name: value.clone() for name, value in module.model.state_dict().items()})

    with register_module_forward_pre_hook(note):
        train(micro, archive, tmp_path / "run", start=given)
    assert same(seen[0], MarEcg.from_pretrained(given).state_dict())
    assert not same(seen[-1], seen[0])


@pytest.mark.parametrize("recipe", FOLLOWING)
def test_slow_encoders_and_the_average_begin_with_them_and_the_heads_with_the_seed(recipe):
    assert_followed(recipe, {"jepa"})


def assert_followed(recipe: str, slow: set[str]) -> None:
    """Slow encoders, the average and the model begin with given weights, heads with the seed."""
    config = small(recipe)
    torch.manual_seed(1)
    weights = MarEcg(config.model, ONTOLOGY).state_dict()
    begun, random = seeded(config, weights), seeded(config)
    of_encoder = {name: value for name, value in weights.items() if name.startswith("encoder.")}
    average = Pretraining(override(config, ["train.average=0.9"]), begun, 10).average
    assert same(average.module.model.state_dict(), weights)
    assert same(begun.model.state_dict(), weights)
    followers: set[str] = set()
    for name, objective in begun.objectives.items():
        for encoder in objective.encoders():
            assert same({f"encoder.{key}": value for key, value in encoder.state_dict().items()}, of_encoder)
            followers.add(name)
    assert followers == slow & begun.objectives.keys()
    for name, value in begun.objectives.state_dict().items():
        if ".slow." not in name and ".ema." not in name:
            assert torch.equal(value, random.objectives.state_dict()[name]), name


@pytest.mark.parametrize(("node_width", "alike"), [(64, 0.999), (16, 0.4)])
def test_concepts_begin_where_they_were_and_other_heads_where_the_seed_puts_them(micro, node_width, alike):
    """40 concepts: a narrower graph convolution can only come near."""
    config = override(micro, [f"gscl.node_width={node_width}", "model.concept_width=64"])
    weights = MarEcg(config.model, ONTOLOGY).state_dict()
    random_NK = torch.randn(40, 64, generator=torch.Generator().manual_seed(2))
    made_NK = normalize(layer_norm(random_NK, (64,)))
    networks = (seeded(config), seeded(config, {**weights, "prototypes": made_NK}))
    cosine_N = (networks[1].export().prototypes * made_NK).sum(1)
    assert cosine_N.mean() > alike
    assert cosine_N.min() > 0
    random, begun = (network.objectives.state_dict() for network in networks)
    weight = "gscl.prototypes.conv2.lin.weight"
    assert {name for name, value in random.items() if not torch.equal(value, begun[name])} == {weight}
    assert begun[weight].norm().item() == pytest.approx(random[weight].norm().item(), rel=1e-5)


def test_without_gscl_a_model_knows_no_concepts_and_the_run_says_so(archive, micro, given, tmp_path, caplog):
    config = override(micro, ["gscl=null", "train.max_steps=1"])
    train(config, archive, tmp_path / "run", start=given)
    assert "earlier has concept prototypes, but the recipe has no gscl" in caplog.text
    assert MarEcg.from_pretrained(given).prototypes.any()
    assert not MarEcg.from_pretrained(tmp_path / "run").prototypes.any()


def test_weights_without_prototypes_go_on_under_another_graph(archive, micro, given, tmp_path):
    other = relabelled(Corpus.open(archive), without_edges(ONTOLOGY), tmp_path / "other").folder
    train(override(micro, ["gscl=null", "train.max_steps=1"]), archive, tmp_path / "c1")
    train(override(micro, ["train.max_steps=1"]), other, tmp_path / "branch", start=tmp_path / "c1")
    assert MarEcg.from_pretrained(tmp_path / "branch").ontology.sha256 == without_edges(ONTOLOGY).sha256
    with pytest.raises(CheckpointError, match="enumeration"):
        train(micro, other, tmp_path / "refused", start=given)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("model/model.safetensors", r"model\b"),
        ("model/config.json", r"model\b"),
        ("trained_on.parquet", r"trained_on\.parquet"),
    ],
)
def test_damaged_weights_are_named(archive, micro, given, tmp_path, damage, named):
    shutil.copytree(given, tmp_path / "damaged")
    (tmp_path / "damaged" / damage).write_bytes(b"PAR1")
    with pytest.raises((CheckpointError, InputError), match=f"damaged/{named}"):
        train(micro, archive, tmp_path / "run", start=tmp_path / "damaged")
    with pytest.raises(CheckpointError, match=r"has no config\.json\. Give a run"):
        train(micro, archive, tmp_path / "run", start=archive)
    assert not (tmp_path / "run" / "config.json").exists()


def test_the_recipe_and_model_of_the_weights_are_taken_where_nothing_is_asked(given, micro, tmp_path):
    with pytest.raises(UsageError, match="was trained with recipe 'micro', which isn't known here"):
        recipe_for(given)
    assert recipe_for(given, "tiny-c3").model == micro.model
    assert recipe_for(given, "tiny", ["model.width=32"]).model.width == 32
    assert recipe_for(given, "tiny", ["data.window=4000"]).model.positions == micro.model.positions
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "tiny"\n[model]\nwidth = 8\nheads = 2\n[gscl]\nsigma = 0.5\n')
    taken = recipe_for(given, str(mine))
    assert (taken.model.width, taken.model.depth) == (8, micro.model.depth)
    model = MarEcg.from_pretrained(given)
    for folder, recipe in (("named", "tiny-c2"), ("evil", f"{tmp_path}/evil.py:recipe")):
        model.provenance = Provenance(recipe=recipe, steps=1, records=1, sources={})
        model.save_pretrained(tmp_path / folder)
    assert recipe_for(tmp_path / "named").name == "tiny-c2"
    with pytest.raises(UsageError, match="which isn't known here"):
        recipe_for(tmp_path / "evil")
