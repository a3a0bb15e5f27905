"""What packages offer by entry points: loaded by name, and refused in one line where it can't be."""

from dataclasses import dataclass

import pytest

import ecg_ontology
from marecg.base import offers
from marecg.base.plugins import plugin
from marecg.errors import ConfigError, UsageError
from marecg.evaluate.tasks.registry import TASKS
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.objectives import ObjectiveConfig, Parts, registry
from marecg.recipes import RECIPES


@dataclass
class Offered:
    """An entry point, as `importlib.metadata` describes one."""

    name: str
    thing: object
    group: str = "marecg.objectives"
    value: str = "somewhere:Thing"

    def load(self) -> object:
        if isinstance(self.thing, Exception):
            raise self.thing
        return self.thing


@pytest.fixture
def offer(monkeypatch):
    """What all groups offer: a list to put entry points in."""
    found: list[Offered] = []
    for module in ("marecg.base.plugins", "ecg_records.readers.entry_points"):
        monkeypatch.setattr(f"{module}.entry_points", lambda group: found)
    registry.installed.cache_clear()
    yield found
    registry.installed.cache_clear()


def test_what_a_package_offers_is_found_by_its_name(offer):
    offer.append(Offered("three", 3))
    assert plugin("three", {"two": 2}, int, "task") == 3


def test_one_that_can_not_be_loaded_is_one_clear_error(offer):
    offer.append(Offered("broken", ImportError("no module named somewhere"), "marecg.tasks"))
    with pytest.raises(UsageError, match=r"'broken' of marecg.tasks can't be loaded \(no module named"):
        plugin("broken", {}, int, "task")


def test_an_objective_of_a_package_is_installed(offer):
    class Toy(ObjectiveConfig):
        """Nothing."""

    offer.append(Offered("toy", Toy))
    assert registry.installed()["toy"] is Toy


def test_two_packages_cannot_have_an_objective_of_one_name(offer):
    offer += [Offered("toy", ObjectiveConfig), Offered("toy", ObjectiveConfig)]
    with pytest.raises(ConfigError, match="has the name of another package's objective"):
        registry.installed()


@pytest.mark.parametrize(
    ("one", "kind", "problem"),
    [
        (Offered("toy", ImportError("gone")), UsageError, "can't be loaded"),
        (Offered("toy", int), ConfigError, "isn't an ObjectiveConfig"),
    ],
)
def test_an_objective_that_can_not_be_taken_is_refused(one, kind, problem, offer):
    offer.append(one)
    with pytest.raises(kind, match=problem):
        registry.installed()


def test_an_objective_that_is_not_installed_is_refused_when_it_is_to_be_trained():
    shape = ModelConfig(width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8)
    parts = Parts(shape, MarEcg(shape), ecg_ontology.load())
    with pytest.raises(ConfigError, match=r"no objective uses these values\. Install its package"):
        registry.Elsewhere(weight=2.0).build(parts)


def test_the_names_that_are_known_without_torch_are_those_of_recipes_and_tasks():
    assert list(offers.RECIPES) == list(RECIPES)
    assert list(offers.TASKS) == list(TASKS)
