"""Warm start: continued pretraining from given weights."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from ecg_ontology import Ontology
from marecg.corpus import trained_on
from marecg.errors import ConfigError, UsageError
from marecg.model.card import BeganFrom
from marecg.model.config import ModelConfig
from marecg.model.folder import read
from marecg.model.mar_ecg import MarEcg
from marecg.model.names import public_name
from marecg.model.pretrained import folder_of, weights_sha256
from marecg.recipes import Config, by_name
from marecg.recipes.overrides import Change, read_recipe

logger = logging.getLogger(__name__)

FOLLOWS = "concepts"
"""Setting of the model that always follows the corpus' graph, not the recipe or the weights."""


@dataclass(frozen=True)
class Start:
    """Starting weights, their description, and the folder that may list their training records."""

    model: MarEcg
    origin: BeganFrom
    run: Path

    def weights(self, config: Config) -> Mapping[str, Tensor]:
        """Return the initial parameters and buffers by name for a run of this recipe.

        Without GSCL, the prototypes are zero, because nothing would train them to fit the encoder. Raises
        `ConfigError` if the recipe has another model.
        """
        theirs, ours = self.model.config, config.model
        for name in ModelConfig.model_fields:
            here, there = getattr(ours, name), getattr(theirs, name)
            if here != there:
                problem = f"model.{name} is {here}, that of the weights {there}"
                remedy = "Leave model.* out: `marecg train --from` takes it from the weights"
                raise ConfigError(problem, where=f"the recipe and {self.origin.name}", remedy=remedy)
        weights = self.model.state_dict()
        if "gscl" not in config.objectives:
            weights["prototypes"] = weights["prototypes"].new_zeros(weights["prototypes"].shape)
        return weights

    def warn(self, config: Config) -> None:
        """Warn if the new run drops concepts, or if the weights don't list all their training records."""
        if self.model.prototypes.any() and "gscl" not in config.objectives:
            logger.warning(
                "%s knows concepts and the recipe has no gscl: they would not fit the encoder any more, so "
                "the new model knows none",
                self.origin.name,
            )
        if not trained_on.lists_all(self.run):
            logger.warning(
                "%s does not list all records that it was trained on, as a run folder does: probes of this "
                "run can't exclude a leak",
                self.origin.name,
            )


def load_start(given: str | Path, ontology: Ontology) -> Start:
    """Load starting weights for a corpus' ontology, in any form accepted by `MarEcg.from_pretrained`.

    Raises `CheckpointError` if they can't be loaded, or have prototypes of another enumeration.
    """
    folder = folder_of(given)
    model = MarEcg.from_pretrained(folder)
    if model.prototypes.any():
        model = MarEcg.from_pretrained(folder, ontology=ontology)
    elif model.ontology.sha256 != ontology.sha256:  # without prototypes, only N depends on the graph
        moved = MarEcg(model.config.model_copy(update={FOLLOWS: len(ontology)}), ontology).eval()
        moved.load_state_dict({**model.state_dict(), "prototypes": moved.prototypes})
        moved.provenance, model = model.provenance, moved
    origin = BeganFrom(name=public_name(given), sha256=weights_sha256(model), provenance=model.provenance)
    return Start(model, origin, trained_on.folder_beside(folder))


def recipe_for(given: str | Path, recipe: str | None = None, assignments: Iterable[str] = ()) -> Config:
    """Return the recipe of a warm start, with the model shape of the weights.

    If `recipe` is None, the recipe of the weights is used. Raises `UsageError` if the weights name no recipe,
    or a recipe that isn't known here.
    """
    description, _ = read(folder_of(given))
    made = description.provenance.recipe if description.provenance else None
    recipe = recipe or _made_by(made, given)
    shape = description.model.model_dump(exclude={FOLLOWS, *_of_file(recipe)})
    changes = [Change(f"model.{key}", value, f"--from {given}") for key, value in shape.items()]
    return by_name(recipe, [*changes, *assignments])


def _made_by(recipe: str | None, given: str | Path) -> str:
    if recipe and not _is_file(recipe):  # a model must not cause a file to be executed
        try:
            by_name(recipe)
        except UsageError:
            pass
        else:
            return recipe
    problem = f"was made by recipe {recipe!r}, which has no such name here" if recipe else "names no recipe"
    raise UsageError(problem, where=given, remedy="Name one with --recipe")


def _of_file(recipe: str) -> set[str]:
    """Return the model settings that a recipe's file sets. They keep the values of the file."""
    if recipe.endswith(".toml"):
        _, changes = read_recipe(Path(recipe))
        return {change.key.removeprefix("model.") for change in changes}
    return set(ModelConfig.model_fields) if _is_file(recipe) else set()


def _is_file(recipe: str) -> bool:
    return recipe.endswith(".toml") or ".py:" in recipe
