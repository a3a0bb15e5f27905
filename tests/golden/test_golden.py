"""A refactoring changes no figure: three steps of every tiny recipe are what they were."""

from pathlib import Path

import pytest
from tests.golden.golden_runs import RECIPES, corpus, differences, here, metrics, same_draws, stored, wrote


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("golden"))


@pytest.mark.skipif(not same_draws(), reason="another release of torch draws other initial weights")
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_first_steps_of_a_recipe_are_what_they_were(recipe, data, tmp_path):
    golden = stored(recipe).read_text(encoding="utf-8")
    assert not list(differences(recipe, metrics(recipe, data, tmp_path / "run"), golden, here(), wrote()))


def test_a_changed_figure_is_noticed():
    golden = stored("tiny").read_text(encoding="utf-8")
    head, row, *rest = golden.splitlines()
    values = row.split(",")
    place = head.split(",").index("loss")
    values[place] = repr(float(values[place]) * 1.01)
    changed = "\n".join([head, ",".join(values), *rest]) + "\n"
    assert list(differences("tiny", changed, golden, here(), wrote()))


@pytest.mark.parametrize(
    ("machine", "same"), [({}, False), ({"vectors": "AVX512"}, True), ({"model": "17"}, True)]
)
def test_rounding_is_no_difference_on_another_generation_of_the_same_processor(machine, same):
    golden = stored("tiny").read_text(encoding="utf-8")
    rounded = golden.replace("18.16637", "18.16638", 1)
    assert rounded != golden
    first = here() | {"vectors": "AVX2", "model": "1"}
    assert bool(list(differences("tiny", rounded, golden, first | machine, first))) is not same
