"""What packages offer by entry points: loaded by name, and refused in one line where it can't be."""

import pytest
from tests.installed import install

import ecg_ontology
from marecg.base import offers
from marecg.base.plugins import plugin
from marecg.errors import ConfigError, UsageError
from marecg.evaluate.tasks.registry import TASKS
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.objectives import Parts, registry
from marecg.recipes import RECIPES

MODULE = """
from marecg.objectives import ObjectiveConfig

three = 3


class Toy(ObjectiveConfig):
    \"\"\"Nothing.\"\"\"
"""


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """A function that installs a package with these entry points."""
    registry.installed.cache_clear()

    def offer(module: str, entry_points: str) -> None:
        install(tmp_path / module, monkeypatch, entry_points, module=module, text=MODULE)

    yield offer
    monkeypatch.undo()
    registry.installed.cache_clear()


def test_what_a_package_offers_is_found_by_its_name(offer):
    offer("offered_task", "[marecg.tasks]\nthree = offered_task:three\n")
    assert plugin("three", {"two": 2}, int, "task") == 3


def test_one_that_can_not_be_loaded_is_one_clear_error(offer):
    offer("offered_gone", "[marecg.tasks]\nbroken = nowhere_at_all:Thing\n")
    with pytest.raises(UsageError, match=r"'broken' of marecg.tasks can't be loaded \(No module named"):
        plugin("broken", {}, int, "task")


def test_an_objective_of_a_package_is_installed(offer):
    offer("offered_toy", "[marecg.objectives]\ntoy = offered_toy:Toy\n")
    assert registry.installed()["toy"].__module__ == "offered_toy"


def test_two_packages_cannot_have_an_objective_of_one_name(offer):
    for module in ("offered_first", "offered_second"):
        offer(module, f"[marecg.objectives]\ntoy = {module}:Toy\n")
    with pytest.raises(ConfigError, match="two packages register an objective with this name"):
        registry.installed()


@pytest.mark.parametrize(
    ("thing", "kind", "problem"),
    [
        ("nowhere_at_all:Toy", UsageError, "can't be loaded"),
        ("offered_wrong:three", ConfigError, "must be a subclass of ObjectiveConfig, got"),
    ],
)
def test_an_objective_that_can_not_be_taken_is_refused(thing, kind, problem, offer):
    offer("offered_wrong", f"[marecg.objectives]\ntoy = {thing}\n")
    with pytest.raises(kind, match=problem):
        registry.installed()


def test_an_objective_that_is_not_installed_is_refused_when_it_is_to_be_trained():
    shape = ModelConfig(stride=50, positions=94, width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8)
    parts = Parts(shape, MarEcg(shape), ecg_ontology.load())
    with pytest.raises(ConfigError, match=r"no objective uses these settings\. Install its package"):
        registry.NotInstalled(weight=2.0).build(parts)


def test_the_names_that_are_known_without_torch_are_those_of_recipes_and_tasks():
    assert list(offers.RECIPES) == list(RECIPES)
    assert list(offers.TASKS) == list(TASKS)
