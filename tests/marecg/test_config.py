"""Recipes, their sources, and `--set`."""

from operator import attrgetter

import pytest

from marecg import recipes
from marecg.errors import ConfigError
from marecg.recipes import Config
from marecg.recipes.overrides import override
from marecg.recipes.schema import TrainConfig
from marecg.settings import source_of, sources


def test_every_value_of_a_recipe_has_a_source():
    source_of_value = dict(sources(Config))
    assert len(source_of_value) > 30
    assert all(source.startswith(("paper, ", "chosen: ")) for source in source_of_value.values())


def test_a_value_that_a_size_changes_says_what_it_stands_for():
    assert source_of(recipes.c1().model, "patch") == "paper, Notation values: P_t, 100 ms"
    assert source_of(recipes.tiny().model, "patch") == "other than 50 (paper, Notation values: P_t, 100 ms)"
    assert source_of(recipes.tiny().model, "positions").startswith("paper, ")  # they follow the window


@pytest.mark.parametrize("name", recipes.RECIPES)
def test_every_recipe_is_valid_and_knows_its_name(name):
    config = recipes.by_name(name)
    assert config.name == name
    assert Config.model_validate(config.model_dump()) == config
    assert config.step_flops() > 0


def test_the_reference_window_is_187_patches_of_which_the_encoder_sees_139():
    model = recipes.c3().model
    assert (model.positions, model.context_patches) == (187, 139)
    assert model.positions - model.context_patches == 48


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("train.max_steps=200", 200),
        ("train.lr=1e-3", 1e-3),
        ("train.betas=[0.8, 0.9]", (0.8, 0.9)),
        ("name=mine", "mine"),
        ("gscl.rule=most-specific", "most-specific"),
        ("msps.weight=0.5", 0.5),
        ("gscl=null", None),
    ],
)
def test_set_changes_the_value_it_names(assignment, value):
    changed = attrgetter(assignment.partition("=")[0])
    assert changed(override(recipes.c1_gscl(), [assignment])) == value


@pytest.mark.parametrize(
    ("assignment", "problem"),
    [
        ("train.max_step=200", "Did you mean train.max_steps"),
        ("train.nothing_at_all=1", "unknown setting"),
        ("gsl.sigma=1", r"Did you mean gscl\.sigma"),
        ("lead_consistency.weight=1", "To use an objective of your own, install its package"),
        ("train.max_steps", "has no '='"),
        ("train.max_steps=many", "train.max_steps"),
        ("train.lr=-1", "train.lr"),
        ("gscl.dropout=1", r"gscl\.dropout must be less than 1"),
        ("train.devices=0", r"train\.devices must be greater than 0"),
        ("train.devices=most", "train.devices must be"),
        ("train.betas=[0.9,1]", r"train\.betas must be less than 1"),
        ("train.betas=[-0.1,0.9]", "greater than or equal to 0"),
        ("data.ptbxl_folds=[0]", "greater than or equal to 1"),
        ("data.ptbxl_folds=[8,11]", "less than or equal to 10"),
        ('sampling.shares={"ptb": -1}', "greater than or equal to 0"),
        ("model.heads=5", "must be a multiple of heads"),
        ("model.positions=150", r"at most model\.positions \(150\), got"),
        ("model.stride=60", r"stride must be at most patch \(50\), or samples are lost; got 60"),
        ("ar.heads=5", r"--set ar.heads=5: width must be a multiple of heads \(5\), got 384"),
        ("jepa.heads=5", r"width must be a multiple of heads \(5\), got 384"),
        ("train.warmup_epochs=101", r"warmup_epochs must be at most max_epochs \(100\), got 101"),
        ("data.fs=250", r"--set data.fs=250: model.fs must be the same as data.fs \(250\), got 500"),
        ("toy={}", "unknown setting 'toy'"),
        ("data.window=3000", r"more patches than the context \(139\)"),
        ("gscl.rule=loudest", "gscl.rule"),
    ],
)
def test_an_unknown_key_or_an_impossible_value_is_one_clear_error(assignment, problem):
    with pytest.raises(ConfigError, match=problem):
        override(recipes.c1_gscl(), [assignment])


@pytest.mark.parametrize(
    "weight", ["lambda_rhythm", "lambda_pos", "alpha_alt", "alpha_rate", "alpha_mrr", "alpha_cv"]
)
def test_a_weight_in_the_loss_of_msps_may_be_zero_and_not_negative(weight):
    assert attrgetter(f"msps.{weight}")(override(recipes.c3(), [f"msps.{weight}=0"])) == 0
    with pytest.raises(ConfigError, match=rf"msps\.{weight} must be greater than or equal to 0"):
        override(recipes.c3(), [f"msps.{weight}=-0.1"])


@pytest.mark.parametrize(
    ("assignment", "positions"),
    [("model.patch=25", 188), ("data.window=5000", 199), ("model.positions=200", 200)],
)
def test_there_are_as_many_positions_as_the_window_has_patches_unless_given(assignment, positions):
    assert override(recipes.c1(), [assignment]).model.positions == positions


def test_the_papers_step_reads_64_records_on_any_number_of_devices():
    train = recipes.c3().train
    assert train.micro_batches(2) == (8, 4), "as in the paper"
    for devices in (1, 2, 4, 8, 16, 32, 64):
        size, per_device = train.micro_batches(devices)
        assert size * per_device * devices == train.records_per_step(devices) == 64
        assert size == min(8, 64 // devices)


@pytest.mark.parametrize(
    ("assignments", "on_one", "on_four"),
    [
        (["train.accumulate=2"], 16, 64),
        (["train.batch_size=16", "train.accumulate=1"], 16, 64),
        (["train.accumulate=2", "train.global_batch_size=96"], None, None),
        (["train.global_batch_size=96"], 96, 96),
    ],
)
def test_micro_batches_per_device_can_be_given_instead_of_the_records_of_a_step(assignments, on_one, on_four):
    if on_one is None:
        with pytest.raises(ConfigError, match=r"either global_batch_size or accumulate .* got both"):
            override(recipes.c1(), assignments)
        return
    train = override(recipes.c1(), assignments).train
    assert (train.records_per_step(1), train.records_per_step(4)) == (on_one, on_four)
    back = override(override(recipes.c1(), assignments), ["train.global_batch_size=64"]).train
    assert (back.records_per_step(1), back.accumulate) == (64, None)
    without = {key: value for key, value in train.model_dump().items() if key != "global_batch_size"}
    if train.accumulate:
        assert TrainConfig.model_validate(without).records_per_step(4) == on_four, (
            "as before there was the key"
        )


def test_without_an_objective_there_is_nothing_to_train_for():
    with pytest.raises(
        ConfigError, match=r"--set gscl=null --set ar=null: a recipe must have at least one objective"
    ):
        override(recipes.c1_gscl(), ["gscl=null", "ar=null"])
    assert list(override(recipes.c2p(), ["ar=null"]).objectives) == ["jepa", "view", "mpct"]


def test_where_beats_are_read_no_augmentation_moves_them():
    moved = ["clean.supervised=true", "clean.augmentation=unconstrained"]
    for recipe in (recipes.c3(), recipes.c2p()):
        with pytest.raises(ConfigError, match="moves the beats that msps and mpct read"):
            override(recipe, moved)
        override(recipe, ["clean.supervised=true", "clean.augmentation=rhythm-safe"])
    override(recipes.c1_gscl(), moved)


def test_a_context_has_a_patch_that_the_decoder_may_read():
    small = ["model.patch=50", "model.context=50", "data.window=200"]
    with pytest.raises(
        ConfigError, match="a patch that ends before the first patch after the context begins"
    ):
        override(recipes.c1_gscl(), [*small, "model.stride=25"])
    assert override(recipes.c1_gscl(), [*small, "model.stride=50"]).model.context_patches == 1
    assert override(recipes.c1_gscl(), [*small, "model.stride=25", "ar=null"]).window_patches == 7


def test_beats_are_sought_in_all_leads_by_every_recipe_and_in_lead_i_alone_on_request():
    leads = {recipes.by_name(name).data.rpeaks_lead for name in ("c1", "c3", "tiny", "small", "base")}
    assert leads == {"best"}
    assert override(recipes.c1_gscl(), ["data.rpeaks_lead=I"]).data.rpeaks_lead == "I"
