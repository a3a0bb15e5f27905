"""Start a training from the weights of another model."""

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
"""Model setting that the graph of the corpus determines, instead of the recipe or the weights."""


@dataclass(frozen=True)
class Start:
    """Starting weights.

    Attributes:
        model: Model with these weights.
        origin: Description of the weights.
        run: Folder that may contain the list of their training records.
    """

    model: MarEcg
    origin: BeganFrom
    run: Path

    def weights(self, config: Config) -> Mapping[str, Tensor]:
        """Return the initial parameters and buffers of the model, for a run with a recipe.

        If the recipe lacks the objective GSCL, which trains the concept prototypes, the prototypes are set to
        zero, because they would no longer fit the encoder. Raises `ConfigError` if the recipe has other model
        settings than the weights.
        """
        for name in ModelConfig.model_fields:
            of_recipe, of_weights = getattr(config.model, name), getattr(self.model.config, name)
            if of_recipe != of_weights:
                problem = f"model.{name} must be {of_weights}, as in the weights, got {of_recipe}"
                remedy = "Omit model.*, which `marecg train --from` takes from the weights"
                raise ConfigError(problem, where=f"the recipe and {self.origin.name}", remedy=remedy)
        weights = self.model.state_dict()
        if "gscl" not in config.objectives:
            weights["prototypes"] = weights["prototypes"].new_zeros(weights["prototypes"].shape)
        return weights

    def warn(self, config: Config) -> None:
        """Log a warning if the run discards the prototypes, or if earlier training records are unknown."""
        if self.model.prototypes.any() and "gscl" not in config.objectives:
            logger.warning(
                "%s has concept prototypes, but the recipe has no gscl to train them. The new model will not "
                "have prototypes",
                self.origin.name,
            )
        if not trained_on.lists_all(self.run):
            logger.warning(
                "%s does not list all records that it was trained on, so probes of this run can't exclude "
                "leaks",
                self.origin.name,
            )


def load_start(weights: str | Path, ontology: Ontology) -> Start:
    """Load starting weights.

    Args:
        weights: Weights, in any form accepted by `MarEcg.from_pretrained`.
        ontology: Ontology of the corpus.

    Raises:
        CheckpointError: If the weights can't be loaded, or have prototypes of other concepts.
    """
    folder = folder_of(weights)
    model = MarEcg.from_pretrained(folder)
    if model.prototypes.any():
        model = MarEcg.from_pretrained(folder, ontology=ontology)
    elif model.ontology.sha256 != ontology.sha256:  # without prototypes, only N depends on the graph
        moved = MarEcg(model.config.model_copy(update={FOLLOWS: len(ontology)}), ontology).eval()
        moved.load_state_dict({**model.state_dict(), "prototypes": moved.prototypes})
        moved.provenance, model = model.provenance, moved
    origin = BeganFrom(name=public_name(weights), sha256=weights_sha256(model), provenance=model.provenance)
    return Start(model, origin, trained_on.folder_beside(folder))


def recipe_for(weights: str | Path, recipe: str | None = None, assignments: Iterable[str] = ()) -> Config:
    """Return a recipe for training from given weights, with the model settings of the weights.

    If `recipe` is a TOML file, the model settings in the file are kept. If it is `FILE.py:NAME`, all its
    model settings are kept.

    Args:
        weights: Weights, in any form accepted by `MarEcg.from_pretrained`.
        recipe: Name of the recipe, as for `by_name`. If None, the recipe with which the weights were trained.
        assignments: Changes of settings, as for `override`.

    Raises:
        UsageError: If `recipe` is None, and the recipe of the weights isn't recorded or isn't known here.
    """
    description, _ = read(folder_of(weights))
    trained_with = description.provenance.recipe if description.provenance else None
    recipe = recipe or _known_recipe(trained_with, weights)
    shape = description.model.model_dump(exclude={FOLLOWS, *_of_file(recipe)})
    changes = [Change(f"model.{key}", value, f"--from {weights}") for key, value in shape.items()]
    return by_name(recipe, [*changes, *assignments])


def _known_recipe(recipe: str | None, weights: str | Path) -> str:
    if recipe and not _is_file(recipe):  # a model must not cause a file to be executed
        try:
            by_name(recipe)
        except UsageError:
            pass
        else:
            return recipe
    unknown = f"was trained with recipe {recipe!r}, which isn't known here"
    problem = unknown if recipe else "doesn't state the recipe with which it was trained"
    raise UsageError(problem, where=weights, remedy="Choose a recipe with --recipe")


def _of_file(recipe: str) -> set[str]:
    """Return the names of the model settings that a recipe's file sets. The file's values have precedence."""
    if recipe.endswith(".toml"):
        _, changes = read_recipe(Path(recipe))
        return {change.key.removeprefix("model.") for change in changes}
    return set(ModelConfig.model_fields) if _is_file(recipe) else set()


def _is_file(recipe: str) -> bool:
    return recipe.endswith(".toml") or ".py:" in recipe
