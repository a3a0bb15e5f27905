"""How much there is to learn: the commands and options of both programs together."""

from tests.docs.options import OF_ALL, commands, options

COMMANDS, OPTIONS = 45, 215
"""No more than these; lower them with every one that is folded into another."""


def test_a_new_command_or_option_takes_the_place_of_another():
    found = commands()
    assert len(found) <= COMMANDS
    assert sum(name not in OF_ALL for each in found.values() for _, name in options(each)) <= OPTIONS
