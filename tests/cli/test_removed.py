"""What was removed from the command lines names what to type instead."""

import re

import pytest
from tests.cli.calls import call, invoke
from tests.docs.options import commands, options

from marecg_cli._removed import COMMANDS, OPTIONS

NAMES = {name.split(" ", 1)[1]: (name.split()[0], command) for name, command in commands().items()}


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_a_removed_option_names_what_to_type(command, option):
    program, parsed = NAMES[command]
    assert option not in {name for _, name in options(parsed)}
    code, out, err = (call if program == "ecgonto" else invoke)(command, option, "x")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"No such option: {option}. {OPTIONS[command, option]}. See " in err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_removed_command_names_what_to_type(command):
    assert command not in NAMES
    code, _, err = call(command, "x")
    assert (code, COMMANDS[command] in err) == (2, True)


@pytest.mark.parametrize("remedy", sorted({*OPTIONS.values(), *COMMANDS.values()}))
def test_what_is_to_be_typed_is_a_command_with_its_options(remedy):
    program, command = (
        re.search(r"(ecgonto|marecg) ([a-z-]+)", remedy).groups() if "Type" in remedy else ("", "")
    )
    if command:
        assert NAMES[command][0] == program
        assert set(re.findall(r"--[a-z]+", remedy)) - {"--apply"} <= {
            name for _, name in options(NAMES[command][1])
        }


def test_an_option_that_never_was_names_no_replacement():
    assert call("perturb", "--shuffled", "3")[2].startswith("error: No such option: --shuffled")
    assert "Type" not in call("perturb", "--shuffled", "3")[2]
