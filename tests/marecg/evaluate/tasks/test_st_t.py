"""The tasks of ST and T that stand beside the published ones in research/small/summary.md."""

from benchmarks.st_t import STATEMENTS, TERRITORY
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Folds

FOLDS = Folds.of("1-5,6,7-8")


def test_a_side_is_asked_of_records_that_have_that_side_alone(ptbxl_copy):
    table = ptbxl_copy / "ptbxl_database.csv"
    text = table.read_text().replace("'NORM'", "'ASMI'").replace("'1AVB': 100.0", "'AMI': 0.0, 'ILMI': 50.0")
    table.write_text(text)
    task = TERRITORY.open(ptbxl_copy, folds=FOLDS)
    assert task.classes == ("anterior", "inferior")
    assert len(task.row_M) == 40  # of eighty; twenty have both sides, twenty neither
    assert task.y_MK.sum(axis=0).tolist() == [20, 20]


def test_statements_are_asked_of_all_records_on_the_signals_of_the_published_tasks(ptbxl_root):
    task = STATEMENTS.open(ptbxl_root, folds=FOLDS)
    published = task_named("ptbxl-super").open(ptbxl_root, folds=FOLDS)
    assert task.recordings.sha256 == published.recordings.sha256  # features are computed once
    assert len(task.row_M) == 80
    assert dict(zip(task.classes, task.y_MK.sum(axis=0).tolist(), strict=True))["NST"] == 20
    assert [(task.split_M == part).sum() for part in ("train", "val", "test")] == [40, 8, 16]
