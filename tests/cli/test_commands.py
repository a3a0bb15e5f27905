"""What every command has, and what one table of all options shows: one meaning per name."""

import logging
import os
import re
import shlex
from typing import Any

import pytest
from tests.docs.options import APPS, MIXED, OF_ALL, commands, kind, kinds, options

from marecg.base.progress import PATIENCE, PAUSE, Tenths
from marecg_cli._commands import tree

TREES = {name: tree(module.app()) for name, module in APPS.items()}


COMMANDS = commands()
MOST_COMMANDS, MOST_OPTIONS = 45, 215
"""How much there is to learn in both programs together; lower these with every one that is folded."""
EVERY = pytest.mark.parametrize("name", COMMANDS)


def said(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    program, *argv = shlex.split(line)
    with pytest.raises(SystemExit) as ended:
        APPS[program].main(argv)
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def examples(command: Any) -> list[str]:
    paragraphs = (" ".join(part.split()) for part in command.help.split("\n\n"))
    return [part.removeprefix("Example: ") for part in paragraphs if part.startswith("Example: ")]


@EVERY
def test_every_command_has_an_example_and_it_is_understood(name):
    found = examples(COMMANDS[name])
    assert found, f"{name} has no example"
    for line in found:
        program, *argv = shlex.split(line)
        context = TREES[program].make_context(program, list(argv))
        while getattr(context.command, "commands", None):
            rest = [*context._protected_args, *context.args]
            called, command, rest = context.command.resolve_command(context, rest)
            context = command.make_context(called, rest, parent=context)
        assert context.command_path == name


@EVERY
def test_every_command_takes_q_and_v_says_by_out_where_something_goes_and_knows_an_option_by_one_name(name):
    params = COMMANDS[name].params
    assert {"--quiet", "-q", "--verbose", "-v"} <= {option for each in params for option in each.opts}
    arguments = {each.name for each in params if each.param_type_name == "argument"}
    assert not arguments & {"out", "output", "target"}, f"{name}: an argument says where"
    for each, _ in options(COMMANDS[name]):
        assert sum(option.startswith("--") for option in each.opts) == 1


def test_a_new_command_or_option_takes_the_place_of_another():
    assert len(COMMANDS) <= MOST_COMMANDS
    named = [name for each in COMMANDS.values() for _, name in options(each) if name not in OF_ALL]
    assert len(named) <= MOST_OPTIONS


def test_an_option_takes_the_same_kind_of_value_in_every_command():
    mixed = {option: dict(found) for option, found in kinds().items() if len(found) > 1}
    assert set(mixed) == set(MIXED), f"one name, two kinds of value: {mixed}"


def test_whatever_can_be_printed_in_several_formats_can_be_printed_as_json():
    for name, command in COMMANDS.items():
        for each, option in options(command):
            if option == "--format":
                assert "json" in kind(each), name


@pytest.mark.parametrize("program", APPS)
def test_a_command_is_built_alone_where_it_is_named(program):
    for name in TREES[program].commands:
        assert list(tree(APPS[program].app([name, "--help"])).commands) == [name]
    for argv in (["--help", *TREES[program].commands], ["-q"], ["nonsense"], []):
        assert list(tree(APPS[program].app(argv)).commands) == list(TREES[program].commands)


@pytest.mark.parametrize("program", APPS)
def test_the_help_page_lists_the_panels_in_order_within_eighty_columns(program, capsys):
    code, long, _ = said(capsys, f"{program} --help")
    assert (code, said(capsys, f"{program} -h")[1]) == (0, long)
    assert re.findall(r"^╭─ (\w+) ", long, re.MULTILINE) == ["Options", *APPS[program].PANELS]
    assert max(map(len, long.splitlines())) <= 80
    assert "--show-completion" in long


@pytest.mark.parametrize("program", APPS)
def test_the_version_names_every_package(program, capsys):
    code, out, _ = said(capsys, f"{program} --version")
    assert code == 0
    assert re.search(r"marecg-cli \d+\.\d+", out)
    assert re.search(r"ecg-ontology \d+\.\d+.*, marecg-model \d.*, torch \d.*, Python 3\.", out)


@pytest.mark.parametrize("line", ["ecgonto route nonsense -q", "ecgonto -q route nonsense"])
def test_q_leaves_messages_out_and_keeps_results_and_failures(line, capsys):
    code, out, err = said(capsys, line)
    assert (code, "unknown or malformed" in err, "invalid" in out) == (1, True, True)
    assert not logging.getLogger("marecg_cli").isEnabledFor(logging.INFO)
    said(capsys, "ecgonto route 164889003")
    assert logging.getLogger("marecg_cli").isEnabledFor(logging.INFO), "the next command is told anew"


def test_twice_v_shows_where_an_error_came_from(capsys):
    assert "Traceback" not in said(capsys, "ecgonto show nothing -v")[2]
    err = said(capsys, "ecgonto show nothing -vv")[2]
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize("line", ["ecgonto export", "ecgonto draw", "marecg synth"])
def test_an_out_that_is_missing_is_named(line, capsys):
    code, _, err = said(capsys, line)
    assert code == 2
    assert "--out" in err


def test_a_log_gets_a_line_per_tenth_and_one_when_nothing_was_said_for_long(monkeypatch):
    monkeypatch.setattr("marecg.base.progress.PAUSE", PAUSE)
    lines: list[str] = []
    now = 0.0
    tell = Tenths("records", lines.append, lambda: now)
    for done in range(1, 1001):
        now = done * PAUSE / 10
        tell(done, 1000, "3 kept")
    assert len(lines) == 10
    assert lines[0] == "records: 100 of 1,000 (10 %), 3 kept, 2/s, 7:30 left"
    assert lines[-1] == "records: 1,000 of 1,000 (100 %), 3 kept, 2/s"
    now += PATIENCE
    tell(1000, None, "")
    assert lines[-1].startswith("records: 1,000, ")


def test_what_is_done_at_once_leaves_no_line_in_a_log_and_a_resumed_run_counts_from_where_it_was(monkeypatch):
    monkeypatch.setattr("marecg.base.progress.PAUSE", PAUSE)
    lines: list[str] = []
    now = 0.0
    tell = Tenths("steps", lines.append, lambda: now)
    for done in range(1, 101):
        tell(done, 100, "")
    assert lines == []
    now = 0.0
    resumed = Tenths("steps", lines.append, lambda: now)
    for done in range(501, 601):
        now += 1.0
        resumed(done, 1000, "")
    assert lines == ["steps: 600 of 1,000 (60 %), 1/s, 6:40 left"]


@pytest.mark.parametrize(("set_before", "then"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_sleep_so_that_a_busy_machine_is_not_busier_for_them(
    set_before, then, monkeypatch, capsys
):
    """Two threads that spin took forty times as long as two that sleep, where one core was free for them."""
    monkeypatch.setenv("OMP_WAIT_POLICY", set_before or "")
    if set_before is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    assert said(capsys, "marecg recipes --help")[0] == 0
    assert os.environ["OMP_WAIT_POLICY"] == then
