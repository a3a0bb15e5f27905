"""Every setting of `--set` has a type, a description, and a line of `--help-settings`."""

import pytest
from tests.cli.calls import commands, invoke

from ecg_base import UsageError
from marecg_cli._settings import OF_COMMAND, Arrays, Probe, Training, described, read

WITH_SETTINGS = {
    name.rpartition(" ")[2]
    for name, command in commands().items()
    if any(each.name == "set_" for each in command.params)
}


def test_every_command_that_takes_settings_describes_them():
    assert set(OF_COMMAND) == WITH_SETTINGS


@pytest.mark.parametrize("command", sorted(OF_COMMAND))
def test_a_setting_has_a_meaning(command):
    lines = list(described(command))
    assert lines
    assert [key for key, _, about in lines if not about] == []


def test_the_settings_of_a_command_are_listed_with_their_defaults():
    code, out, _ = invoke("classify", "fit", "--help-settings")
    assert code == 0
    assert next(line.split() for line in out.splitlines() if line.startswith("steps"))[:2] == [
        "steps",
        "[1500]",
    ]


def test_settings_are_read_with_their_types():
    assert read(Training, ["steps=7", "balanced=true", "lr=1e-3"]).given() == {
        "steps": 7,
        "balanced": True,
        "lr": 1e-3,
    }
    assert read(Arrays, ["array.leads=I, II"], "array.").given() == {"leads": ("I", "II")}
    assert read(Probe, ["without=a;b, c"]).given() == {"without": ("a", "b, c")}


@pytest.mark.parametrize(
    ("key", "commands"),
    [("zero_limit", "prepare"), ("train.lr", "train")],
)
def test_a_setting_of_a_corpus_or_a_recipe_names_its_command(key, commands):
    code, _, err = invoke("probe", "--root", "x", "--set", f"{key}=3")
    assert (code, err.endswith(f" It is a setting of {commands}.\n")) == (2, True)


@pytest.mark.parametrize("command", ["prepare x --out y", "train --data . --out y", "probe --root x"])
def test_every_command_answers_a_setting_of_another_with_its_name(command):
    code, _, err = invoke(*command.split(), "--set", "patience=3")
    assert (code, err.count("It is a setting of fit."), err.count("\n")) == (2, 1, 1)


def test_an_unknown_setting_names_the_known_ones():
    with pytest.raises(UsageError, match=r"unknown setting 'patience'.*feature_cache"):
        read(Probe, ["patience=3"])


@pytest.mark.parametrize("text", ["steps=many", "balanced=perhaps", "batch_size=1.5"])
def test_a_value_of_another_type_is_refused(text):
    with pytest.raises(UsageError, match=r"must be"):
        read(Training, [text])


def test_a_setting_without_a_value_is_refused():
    with pytest.raises(UsageError, match=r"has no '='"):
        read(Training, ["steps"])
