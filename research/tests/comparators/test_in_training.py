"""Comparators in runs of the product: devices, weights to begin with, FLOPs, and corpora without labels."""

import pytest
from tests.marecg.model.test_flops import assert_counted
from tests.marecg.train.runs import SMALL, relabelled
from tests.marecg.train.test_distributed import losses, same_view_everywhere, train_in_two  # noqa: F401
from tests.marecg.train.test_warm_start import assert_followed

from marecg.errors import CorpusError
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.run import train


@pytest.mark.slow
@pytest.mark.usefixtures("same_view_everywhere")
def test_what_reads_the_batch_s_statistics_reads_those_of_all_ranks(corpus_folder, tmp_path):
    others = {name: getattr(by_name(f"tiny-{name}"), name) for name in ("barlow", "simsiam", "moco", "astcl")}
    every = by_name("tiny-byol").derived(**others)
    sizes = [
        "model.width=16",
        "model.depth=1",
        "model.heads=2",
        "train.max_steps=3",
        "train.global_batch_size=4",
    ]
    config = override(every, [*sizes, "train.precision=32-true"])
    train(override(config, ["train.batch_size=4"]), corpus_folder, tmp_path / "one")
    train_in_two(override(config, ["train.batch_size=2"]), corpus_folder, tmp_path / "two")
    for loss in config.captions:
        assert losses(tmp_path / "two", loss) == pytest.approx(losses(tmp_path / "one", loss), rel=2e-3), loss


@pytest.mark.parametrize("name", ["byol", "moco", "dino"])
def test_slow_encoders_begin_with_the_weights_that_are_given(name):
    assert_followed(f"tiny-{name}", {name})


@pytest.mark.parametrize("recipe", ["tiny-supervised", "tiny-labels"])
def test_labels_are_not_taught_where_no_record_has_one(corpus_folder, tmp_path, recipe):
    data = relabelled(corpus_folder, tmp_path / "corpus", leaves=[], primary=-1)
    with pytest.raises(CorpusError, match=r"no record has a code of a leaf concept, as required by labels"):
        train(override(by_name(recipe), SMALL), data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_step_of_labels_costs_what_torch_counts():
    assert_counted("supervised")


def test_labels_on_a_clean_pass_cost_what_gscl_does_there():
    configs = (override(by_name(name), ["clean.supervised=true"]) for name in ("c1", "c1-labels", "c1-gscl"))
    plain, labels, gscl = (config.step_flops() for config in configs)
    assert labels == gscl > plain
