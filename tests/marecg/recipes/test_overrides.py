"""`--set` for the preparation."""

import pytest

from marecg.base.config import CorpusConfig
from marecg.base.errors import ConfigError
from marecg.recipes.overrides import with_settings


def test_nothing_set_is_the_default():
    assert with_settings(CorpusConfig, []) == CorpusConfig()


def test_a_value_is_changed_by_its_name():
    config = with_settings(CorpusConfig, ["zero_limit=0.5", "rpeaks=neurokit", "zero_limit=0.4"])
    assert (config.zero_limit, config.rpeaks) == (0.4, "neurokit")


@pytest.mark.parametrize(
    ("assignment", "complaint"),
    [
        ("zero_limit", "has no '='"),
        ("zero=1", "no value named 'zero'"),
        ("zero_limit=much", "valid number"),
        ("window=-1", "greater than 0"),
        ("rpeaks=mine", "pantompkins1985"),
    ],
)
def test_an_impossible_setting_is_one_clear_error(assignment, complaint):
    with pytest.raises(ConfigError, match=complaint):
        with_settings(CorpusConfig, [assignment])
