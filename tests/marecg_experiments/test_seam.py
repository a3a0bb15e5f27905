"""The package of experiments comes through its entry points; without it, errors say what to install."""

from importlib.metadata import EntryPoint, entry_points

import pytest
from tests.cli.calls import invoke

from marecg.base import plugins
from marecg.base.errors import ConfigError, UsageError
from marecg.evaluate.request import baseline_named, protocol_named
from marecg.objectives import registry
from marecg.recipes import RECIPES, by_name
from marecg.recipes.schema import Config

INSTALL = r"marecg\[experiments\]"


@pytest.fixture
def without_experiments(monkeypatch):
    """The entry points of an environment that lacks the package."""

    def others(group: str) -> list[EntryPoint]:
        return [each for each in entry_points(group=group) if not each.value.startswith("marecg_research")]

    monkeypatch.setattr(plugins, "entry_points", others)
    monkeypatch.setattr("importlib.metadata.entry_points", others)
    registry.installed.cache_clear()
    yield
    registry.installed.cache_clear()


def test_the_core_names_what_the_package_offers():
    kinds = ("recipe", "protocol", "baseline", "command")
    offered = {name for kind in kinds for name in dict(plugins.offered(f"marecg.{kind}s"))}
    offered |= set(registry.installed())
    sizes = ("tiny-", "small-", "c1-")
    bare = {
        next((name.removeprefix(size) for size in sizes if name.startswith(size)), name) for name in offered
    }
    assert bare == set(plugins.EXPERIMENTS.split())


def test_no_recipe_of_ours_has_a_name_of_the_package():
    assert not set(RECIPES) & set(plugins.offered_names("recipe"))


@pytest.mark.parametrize("name", ["simclr", "tiny-simclr", "small-labels", "c1-random", "supervised"])
def test_a_recipe_of_the_package_says_what_to_install(name, without_experiments):
    with pytest.raises(UsageError, match=INSTALL):
        by_name(name)


def test_an_objective_of_the_package_in_a_recipe_says_what_to_install(without_experiments):
    with pytest.raises((ConfigError, ValueError), match=INSTALL):
        Config.model_validate({"name": "mine", "simclr": {}})


def test_a_protocol_and_a_baseline_of_the_package_say_what_to_install(without_experiments):
    with pytest.raises(UsageError, match=INSTALL):
        protocol_named("merl")
    with pytest.raises(UsageError, match=INSTALL):
        baseline_named("minirocket")


@pytest.mark.parametrize("command", ["ablate", "ablate-graph"])
def test_a_command_of_the_package_says_what_to_install(command, without_experiments):
    code, _, err = invoke(command, "--help")
    assert code == 2
    assert "marecg[experiments]" in err


def test_an_unknown_name_still_lists_the_choice(without_experiments):
    with pytest.raises(UsageError, match=r"unknown recipe 'tinny'.*Did you mean tiny"):
        by_name("tinny")
