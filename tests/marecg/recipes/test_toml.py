"""A recipe as a TOML file: every one survives it, and whatever is wrong in one is named with file and key."""

import pytest

from marecg.errors import ConfigError, InputError
from marecg.recipes import RECIPES, by_name, c3
from marecg.recipes.overrides import as_toml, override

CHANGES = ['sampling.shares={"synth": 0.25}', "train.max_steps=7", "data.window=5000", "view=null", "mae={}"]


@pytest.mark.parametrize(("name", "changes"), [*((name, []) for name in RECIPES), ("small", CHANGES)])
def test_a_recipe_survives_its_file_with_objectives_from_outside_the_paper_too(name, changes, tmp_path):
    config = override(RECIPES[name](), changes)
    file = tmp_path / "mine.toml"
    file.write_text(as_toml(config), encoding="utf-8")
    assert by_name(str(file)) == config


def test_a_file_says_only_what_is_other_than_in_its_base(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('base = "c3"\njepa = false\n[gscl]\nsigma = 2\n[train]\nbetas = [0.9, 0.95]\n')
    config = by_name(str(file))
    assert config.name == "mine"
    assert config.jepa is None
    assert (config.gscl.sigma, config.train.betas) == (2, (0.9, 0.95))
    assert config == override(c3(), ["name=mine", "jepa=null", "gscl.sigma=2", "train.betas=[0.9,0.95]"])


def test_a_value_that_was_changed_says_what_it_replaces():
    (width,) = [line for line in as_toml(by_name("tiny")).splitlines() if line.startswith("width = 64")]
    assert width == "width = 64 # other than 768 (paper, Notation values: d)"


@pytest.mark.parametrize(
    ("text", "key", "complaint"),
    [
        ("[gscl]\nsigam = 1", ", gscl.sigam", "Did you mean gscl.sigma"),
        ('[gscl]\nsigma = "2"', ", gscl.sigma", "must be a number"),
        ("[train]\nlr = inf", ", train.lr", "must be a number"),
        ("[train]\nbetas = [0.9]", ", train.betas", "required"),
        ('[mae]\nweight = "1"', ", mae.weight", "must be a number"),
        ("seed = 1", ", seed", "unknown setting"),
        ("gscl = 3", ", gscl", "must be a group of values"),
        ("model = false", ", model", "must be a group of values"),
        ("[model]\nwidth = 7", ", model.width", "must be a multiple"),
        ('base = "c9"', ", base", "unknown recipe 'c9'"),
        ('base = "other.py:recipe"', ", base", "unknown recipe"),
        ('base = "other.toml"', ", base", "unknown recipe"),
        ("[model\n", "", "isn't TOML"),
        ("[model]\nwidth = 768\nwidth = 768", "", "isn't TOML"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_its_key(tmp_path, text, key, complaint):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=complaint) as caught:
        by_name(str(file))
    assert str(caught.value).startswith(f"{file}{key}: ")


def test_a_file_that_is_not_there_or_no_text_is_one_error(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff")
    for name, complaint in (("none.toml", "is missing"), ("binary.toml", "UTF-8")):
        with pytest.raises(InputError, match=complaint):
            by_name(str(tmp_path / name))
