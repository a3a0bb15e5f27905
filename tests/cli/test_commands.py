"""What every command has."""

import logging
import os
import re
import shlex
import sys
from typing import Any, get_args

import numpy as np
import pytest
import wfdb
from tests.cli.calls import APPS, commands, invoke, run
from tests.made_records import make_ecg, make_record

import ecg_records
from marecg.base.progress import LONGEST_PAUSE_S, PAUSE, Tenths
from marecg_cli._commands import tree

TREES = {name: tree(module.app()) for name, module in APPS.items()}
COMMANDS = commands()
EVERY = pytest.mark.parametrize("name", COMMANDS)


def answer(line: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command of either program."""
    program, *argv = shlex.split(line)
    return invoke(*argv, program=APPS[program])


def examples(command: Any) -> list[str]:
    paragraphs = (" ".join(part.split()) for part in command.help.split("\n\n"))
    return [part.removeprefix("Example: ") for part in paragraphs if part.startswith("Example: ")]


@EVERY
def test_every_command_has_an_example_and_it_is_understood(name):
    lines = examples(COMMANDS[name])
    assert lines, f"{name} has no example"
    for line in lines:
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
    if name != "ecgonto export":  # all it does is write its argument
        assert not arguments & {"out", "output", "target"}, f"{name}: an argument says where"
    options = [each for each in params if each.param_type_name == "option"]
    assert all(sum(name.startswith("--") for name in each.opts) == 1 for each in options)


@EVERY
def test_whatever_can_be_printed_in_several_formats_can_be_printed_as_json(name):
    formats = [each for each in COMMANDS[name].params if "--format" in each.opts]
    assert all("json" in get_args(each.type_descriptor.annotation) for each in formats)


@pytest.mark.parametrize("program", APPS)
def test_a_command_is_built_alone_where_it_is_named(program):
    for name in TREES[program].commands:
        assert list(tree(APPS[program].app([name, "--help"])).commands) == [name]
    for argv in (["--help", *TREES[program].commands], ["-q"], ["nonsense"], []):
        assert list(tree(APPS[program].app(argv)).commands) == list(TREES[program].commands)


@pytest.mark.parametrize("program", APPS)
def test_the_help_page_lists_the_panels_in_order_within_eighty_columns(program):
    code, long, _ = answer(f"{program} --help")
    assert (code, answer(f"{program} -h")[1]) == (0, long)
    assert re.findall(r"^╭─ (\w+) ", long, re.MULTILINE) == ["Options", *APPS[program].PANELS]
    assert max(map(len, long.splitlines())) <= 80
    assert "--show-completion" in long


@pytest.mark.parametrize("program", APPS)
def test_the_version_names_every_package(program):
    code, out, _ = answer(f"{program} --version")
    assert code == 0
    assert re.search(r"marecg-cli \d+\.\d+", out)
    assert re.search(r"ecg-ontology \d+\.\d+.*, marecg \d.*, torch \d.*, Python 3\.", out)


@pytest.mark.parametrize("line", ["ecgonto route nonsense -q", "ecgonto -q route nonsense"])
def test_q_leaves_messages_out_and_keeps_results_and_failures(line):
    code, out, err = answer(line)
    assert (code, "unknown or malformed" in err, "invalid" in out) == (1, True, True)
    assert not logging.getLogger("marecg_cli").isEnabledFor(logging.INFO)
    answer("ecgonto route 164889003")
    assert logging.getLogger("marecg_cli").isEnabledFor(logging.INFO), "the next command is told anew"


def test_twice_v_shows_where_an_error_came_from():
    assert "Traceback" not in answer("ecgonto show nothing -v")[2]
    err = answer("ecgonto show nothing -vv")[2]
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(("line", "missing"), [("ecgonto export", "OUT"), ("marecg synth", "--OUT")])
def test_an_out_that_is_missing_is_named(line, missing):
    code, _, err = answer(line)
    assert (code, missing in err.upper()) == (2, True)


@pytest.fixture
def log(monkeypatch):
    """A function that lets each of these numbers be done after so many seconds, and returns the lines."""
    monkeypatch.setattr("marecg.base.progress.PAUSE", PAUSE)

    def lines_of(steps: range, seconds: float, whole: int, *last: object) -> list[str]:
        lines: list[str] = []
        now = 0.0
        show = Tenths("records", lines.append, lambda: now)
        for done in steps:
            now += seconds
            show(done, whole, "3 kept")
        if last:
            now += LONGEST_PAUSE_S
            show(*last)
        return lines

    return lines_of


def test_a_log_gets_a_line_per_tenth_and_one_when_nothing_came_for_long(log):
    lines = log(range(1, 1001), PAUSE / 10, 1000, 1000, None, "")
    assert [line.split()[1] for line in lines[:5]] == ["10", "20", "40", "80", "100"], (
        "it is seen to be alive early"
    )
    assert len(lines) == 15
    assert lines[4] == "records: 100 of 1,000 (10 %), 3 kept, 2/s, 7:30 left"
    assert lines[-2] == "records: 1,000 of 1,000 (100 %), 3 kept, 2/s"
    assert lines[-1].startswith("records: 1,000, ")


def test_what_is_done_at_once_leaves_no_line_in_a_log_and_a_resumed_run_counts_from_where_it_was(log):
    assert log(range(1, 101), 0.0, 100) == []
    assert log(range(501, 601), 1.0, 1000)[-1] == "records: 600 of 1,000 (60 %), 3 kept, 1/s, 6:40 left"


@pytest.mark.usefixtures("log")
def test_a_line_names_step_and_items():
    lines: list[str] = []
    times = iter((0.0, 2 * PAUSE))
    Tenths("features: records", lines.append, lambda: next(times))(154, 326)
    assert lines == [f"features: 154 of 326 records (47 %), {1 / (2 * PAUSE):.3g}/s, 28:40 left"]


def test_a_task_of_unknown_length_says_what_it_is_at_ever_more_seldom(log):
    lines = log(range(1, 2001), 1.0, None)
    assert [line.split()[1] for line in lines] == [
        f"{at:,}," for at in (5, 10, 20, 40, 80, 160, 320, 640, 1240, 1840)
    ]


def test_waiting_threads_sleep_so_that_a_busy_machine_is_not_busier_for_them(monkeypatch):
    """Two threads that spin took forty times as long as two that sleep, where one core was free for them."""
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert answer("marecg recipes --help")[0] == 0
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE", "what somebody set stays"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    assert answer("marecg recipes --help")[0] == 0
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_a_command_of_other_tools_is_led_to_the_one_that_does_it(capsys):
    for word, here in (("finetune", "classify fit"), ("version", "--version"), ("list-models", "predict")):
        assert run(word, "x") == 2
        assert f"Did you mean marecg {here}" in capsys.readouterr().err


def test_an_unknown_task_suggests_one_and_names_the_table_of_labels(capsys):
    assert run("probe", "marecg-small", "--task", "ptbxl", "--root", ".") == 2
    assert "Did you mean ptbxl-super?" in capsys.readouterr().err
    assert run("probe", "marecg-small", "--task", "AF", "--root", ".") == 2
    assert "a table of labels as FILE.csv" in capsys.readouterr().err


def test_an_installed_model_has_no_run_page(capsys):
    assert run("report", "marecg-small-codes") == 2
    assert "is an installed model and has no run page. Give a record after it" in capsys.readouterr().err


def test_a_report_writes_the_beats_of_a_record_beside_its_page(tmp_path, monkeypatch):
    record = make_record(tmp_path, x_CL=make_ecg())
    monkeypatch.setattr("marecg.report.record_page.write_record", lambda *_, **__: tmp_path / "x.html")
    words = ("report", "marecg-small-codes", record, "--beats", tmp_path / "beats.csv")
    assert run(*words) == 2
    assert run(*words, "--out", tmp_path / "x.html") == 0
    header, *rows = (tmp_path / "beats.csv").read_text().splitlines()
    assert header == "r,p_on,p_off,qrs_on,qrs_off,t_off,rr,shape,p_safe"
    assert len(rows) == len(ecg_records.delineate(ecg_records.read(record)))
    assert rows
    assert run(*words[:-1], tmp_path / "beats.txt", "--out", tmp_path / "x.html") == 2


def test_the_beats_of_a_record_come_back_from_wfdb_annotations(tmp_path, monkeypatch):
    record = make_record(tmp_path, x_CL=make_ecg(fs=257), fs=257)
    monkeypatch.setattr("marecg.report.record_page.write_record", lambda *_, **__: tmp_path / "x.html")
    words = ("report", "marecg-small-codes", record, "--out", tmp_path / "x.html")
    assert run(*words, "--beats", tmp_path / "A0001.ecgann") == 0
    marks, table = (
        wfdb.rdann(str(tmp_path / "A0001"), "ecgann"),
        ecg_records.delineate(ecg_records.read(record)),
    )
    symbols = np.array(marks.symbol)
    for is_beat, times in (
        (symbols == "N", table.r[table["shape"] == "usual"]),
        (symbols == "Q", table.r[table["shape"] != "usual"]),
    ):
        np.testing.assert_allclose(marks.sample[is_beat], times * 0.257, atol=1)
    for column, symbol, wave in (("qrs_on", "(", 1), ("qrs_off", ")", 1), ("t_off", ")", 2)):
        found = marks.sample[(symbols == symbol) & (marks.num == wave)]
        np.testing.assert_allclose(found, table[column].dropna() * 0.257, atol=1)
    assert marks.fs == 257


def test_a_command_without_the_model_installed_prints_the_line_to_type(capsys, monkeypatch, tmp_path):
    class Absent:
        def find_spec(self, name, *_):
            if name.partition(".")[0] == "marecg":
                raise ModuleNotFoundError("No module named 'marecg'", name="marecg")

    for name in [name for name in sys.modules if name.partition(".")[0] == "marecg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    assert run("train", "--recipe", "tiny", "--data", tmp_path, "--out", tmp_path / "run") == 3
    assert "error: this command needs the package marecg. Run pip install marecg." in capsys.readouterr().err
