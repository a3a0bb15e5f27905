from pathlib import Path
from types import SimpleNamespace

import pytest

from marecg.errors import InputError, UsageError
from marecg.evaluate import probes
from marecg.evaluate.tasks.registry import roots

A, B, DATA = Path("a"), Path("b"), Path("data")
PTBXL = ("ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm")


def went_through(
    monkeypatch: pytest.MonkeyPatch, runs: list[Path], names: list[str], **options
) -> tuple[list[tuple], list[str]]:
    """What was asked in turn, and what was refused; the task `poor` can't be asked."""
    asked: list[tuple] = []

    def evaluate(run, task, request, *, features, out, features_in, cache):
        (name,) = task
        asked.append((run, name, out, features_in))
        if name == "poor":
            raise InputError("too few records")
        return name

    monkeypatch.setattr(probes, "evaluate", evaluate)
    request = SimpleNamespace(open=lambda task, root: (task,))
    reports = list(probes.probe_many(runs, dict.fromkeys(names, DATA), request, **options))
    measured = [(place, report) for place, report in reports if not isinstance(report, InputError)]
    assert measured == [(home or run, task) for run, task, home, _ in asked if task != "poor"]
    return asked, [report.problem for _, report in reports if isinstance(report, InputError)]


@pytest.mark.parametrize(
    ("runs", "tasks", "options", "places"),
    [
        ([A, B], ["x", "y"], {}, (None, Path("a/features"))),
        ([A, B], ["x"], {"features_in": DATA}, (None, DATA)),
        ([A], ["x"], {"out": DATA}, (DATA, None)),
        ([], ["x"], {"out": B}, (B, None)),
    ],
    ids=["with the first run", "where they are asked for", "one run", "features alone"],
)
def test_every_run_is_asked_every_task_and_features_are_kept_in_one_place(
    monkeypatch, runs, tasks, options, places
):
    asked, _ = went_through(monkeypatch, runs, tasks, **options)
    assert asked == [(run, task, *places) for run in runs or [None] for task in tasks]


def test_one_task_of_several_that_cannot_be_asked_is_passed_over_and_the_only_one_is_an_error(monkeypatch):
    asked, refused = went_through(monkeypatch, [A], ["poor", "x"])
    assert [task for _, task, _, _ in asked] == ["poor", "x"]
    assert refused == ["too few records"]
    with pytest.raises(InputError, match="too few records"):
        went_through(monkeypatch, [A], ["poor"])


def test_each_of_several_runs_has_a_folder_of_its_name_for_reports(monkeypatch):
    asked, _ = went_through(monkeypatch, [A, B], ["x"], out=DATA)
    assert asked == [(run, "x", DATA / run.name, DATA / "a/features") for run in (A, B)]
    with pytest.raises(UsageError, match="runs must have different names, got a, a"):
        went_through(monkeypatch, [A, B / "a"], ["x"], out=DATA)


def test_an_installed_model_beside_a_run_asks_for_a_folder_before_anything_is_measured(monkeypatch):
    with pytest.raises(UsageError, match="marecg-small isn't a run"):
        went_through(monkeypatch, [A, Path("marecg-small")], ["x"])


@pytest.mark.parametrize(
    ("names", "folders", "expected"),
    [
        (["all"], [A, f"cpsc2018={B}"], dict.fromkeys(PTBXL, A) | {"cpsc2018": B}),
        (["cpsc2018"], [A], {"cpsc2018": A}),
        (["corpus", "ptbxl-sub"], [A, B], {"corpus": A, "ptbxl-sub": B}),
        (["ptbxl-sub", "ptbxl-super"], ["ptbxl=a", "ptbxl-sub=b"], {"ptbxl-sub": B, "ptbxl-super": A}),
        (["ptbxl-sub"], ["c=d"], {"ptbxl-sub": Path("c=d")}),
    ],
    ids=["the five published tasks", "one folder", "a folder for each", "one of its own", "a path with ="],
)
def test_every_task_has_the_folder_that_is_named_for_it(names, folders, expected):
    assert {task.name: root for task, root in roots(names, folders).items()} == expected


@pytest.mark.parametrize(
    ("names", "folders", "words"),
    [
        (["all"], [A], "--root cpsc2018=PATH"),
        (["all"], ["cpsc2018=b"], "--root ptbxl=PATH"),
        (["ptbxl-sub"], [A, B], "none of the tasks reads b"),
        (["ptbxl-all"], [A], "ptbxl-super"),
    ],
)
def test_a_task_without_data_and_one_that_does_not_exist_are_refused(names, folders, words):
    with pytest.raises(UsageError, match=words):
        roots(names, folders)
