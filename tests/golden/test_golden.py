"""A refactoring changes no figure: three steps of every tiny recipe are what they were."""

from pathlib import Path

import pytest
from tests.golden.golden_runs import (
    RECIPES,
    corpus,
    differences,
    metrics,
    same_draws,
    stored,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("golden"))


@pytest.mark.skipif(not same_draws(), reason="another release of torch draws other initial weights")
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_first_steps_of_a_recipe_are_what_they_were(recipe, data, tmp_path):
    found = metrics(recipe, data, tmp_path / "run")
    golden = stored(recipe).read_text(encoding="utf-8")
    assert not list(differences(recipe, found, golden))


def test_a_changed_figure_is_noticed():
    golden = stored("tiny").read_text(encoding="utf-8")
    lines = golden.splitlines()
    head, row = lines[0].split(","), lines[1].split(",")
    place = head.index("loss")
    row[place] = repr(float(row[place]) * 1.01)
    changed = "\n".join([lines[0], ",".join(row), *lines[2:]]) + "\n"
    assert list(differences("tiny", changed, golden))
