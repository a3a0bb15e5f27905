"""What the experiments offer by entry points: the names by which saved runs find their objectives."""

import pytest

from marecg.base.plugins import offered_names
from marecg.evaluate.request import baseline_named, protocol_named
from marecg.objectives import registry
from marecg.recipes import RECIPES, by_name
from marecg_research.comparators import COMPARATORS


def test_comparators_are_installed_by_the_names_that_runs_have_saved():
    saved = "simclr byol barlow simsiam moco dino mae stmem clocs tstcc astcl crt cpc labels"
    assert {name for name in registry.installed() if name in COMPARATORS} == set(saved.split())


def test_no_recipe_of_the_product_has_a_name_of_the_experiments():
    assert not set(RECIPES) & set(offered_names("recipe"))


@pytest.mark.parametrize("name", ["simclr", "tiny-simclr", "small-labels", "c1-random", "supervised"])
def test_a_recipe_is_found_by_its_name(name):
    assert by_name(name).name == name


def test_protocols_and_baselines_are_found_by_their_names():
    assert protocol_named("attention").name == "attention"
    assert all(callable(baseline_named(name)) for name in ("minirocket", "s4"))
