import csv
import os
import shutil

import numpy as np
import pytest

from marecg.base.errors import InputError, UsageError
from marecg.evaluate.tasks.registry import TASKS, task_named
from marecg.evaluate.tasks.task import Folds

MERL = {
    "ptbxl-super": "super_class",
    "ptbxl-sub": "sub_class",
    "ptbxl-form": "form",
    "ptbxl-rhythm": "rhythm",
}


def test_labels_follow_the_statements_at_any_likelihood_and_lose_their_underscores(ptbxl_root):
    task = task_named("ptbxl-super").open(ptbxl_root)
    assert task.classes == ("CD", "MI", "NORM", "STTC")
    by_id = {task.recordings.ids[row]: y.tolist() for row, y in zip(task.row_M, task.y_MK, strict=True)}
    assert by_id["1"] == [0, 1, 0, 1]  # IMI at 0 %, NST_ at 50 %
    assert by_id["2"] == [1, 0, 0, 0]
    assert by_id["4"] == [0, 0, 1, 0]
    assert task_named("ptbxl-sub").open(ptbxl_root).classes == ("AVB", "IMI", "NORM", "NST")
    assert task_named("ptbxl-form").open(ptbxl_root).classes == ("NST",)
    assert task_named("ptbxl-rhythm").open(ptbxl_root).classes == ("SR",)


def test_records_without_a_class_of_the_task_take_no_part_and_are_counted(ptbxl_root):
    task = task_named("ptbxl-super").open(ptbxl_root)
    assert "3" not in {task.recordings.ids[row] for row in task.row_M}
    assert task.unlabelled == 20
    assert len(task.row_M) == 60


def test_the_folds_are_the_official_ones(ptbxl_root):
    task = task_named("ptbxl-super").open(ptbxl_root)
    with (ptbxl_root / "ptbxl_database.csv").open(newline="") as file:
        fold = {row["ecg_id"]: int(row["strat_fold"]) for row in csv.DictReader(file)}
    parts = {name: set() for name in ("train", "val", "test")}
    for row, split in zip(task.row_M, task.split_M, strict=True):
        parts[split].add(fold[task.recordings.ids[row]])
    assert parts == {"train": set(range(1, 9)), "val": {9}, "test": {10}}


def test_other_folds_may_train_select_and_test(ptbxl_root):
    official = task_named("ptbxl-super").open(ptbxl_root)
    task = task_named("ptbxl-super").open(ptbxl_root, folds=Folds.of("1-5,6,7-8"))
    fold_of = {str(ecg_id): 1 + (ecg_id - 1) // 4 % 10 for ecg_id in range(1, 81)}
    parts = {
        split: {fold_of[task.recordings.ids[row]] for row in task.row_M[task.split_M == split]}
        for split in ("train", "val", "test")
    }
    assert parts == {"train": {1, 2, 3, 4, 5}, "val": {6}, "test": {7, 8}}
    assert task.folds == "PTB-XL strat_fold: train 1–5, val 6, test 7–8"
    assert task.sha256 != official.sha256
    assert task.recordings.sha256 == official.recordings.sha256


def test_a_part_may_be_several_rows_of_folds():
    folds = Folds.of("7-8+1-3, 4, 5+6")
    assert folds.parts == ((7, 8, 1, 2, 3), (4,), (5, 6))
    assert str(folds) == "train 7–8+1–3, val 4, test 5+6"


@pytest.mark.parametrize("text", ["1-5,6", "1-5,5,7", "1-5,6,8-7", "a,b,c", "1,2,3,4", "1-2+2,3,4", "1+,2,3"])
def test_folds_that_are_no_split_are_refused(text):
    with pytest.raises(UsageError, match="not three parts"):
        Folds.of(text)


def test_a_task_without_folds_has_none_to_choose(ptbxl_root):
    with pytest.raises(UsageError, match="folds of the task cpsc2018 can't be chosen"):
        task_named("cpsc2018").open(ptbxl_root, folds=Folds.of("1,2,3"))


def test_a_listed_record_that_is_not_on_disk_is_named(ptbxl_root):
    assert task_named("ptbxl-super").open(ptbxl_root).missing == ("81",)


def test_recordings_are_twelve_leads_in_mv_at_500_hz(ptbxl_root):
    x_CL = task_named("ptbxl-super").open(ptbxl_root).recordings.read(7)
    assert x_CL.shape == (12, 2500)
    assert x_CL.dtype == np.float32
    assert 0.5 < np.ptp(x_CL[0]) < 3


def test_the_data_hash_changes_when_a_signal_file_does(ptbxl_root, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(ptbxl_root, root)
    before = task_named("ptbxl-super").open(root).recordings.sha256
    assert task_named("ptbxl-sub").open(root).recordings.sha256 == before
    os.utime(next(root.rglob("*.dat")), ns=(1, 1))
    assert task_named("ptbxl-super").open(root).recordings.sha256 != before


def test_the_task_hash_changes_with_one_label(ptbxl_root):
    task = task_named("ptbxl-super").open(ptbxl_root)
    before = task.sha256
    task.y_MK[0, 0] ^= 1
    assert task.sha256 != before


def test_a_python_expression_in_the_place_of_statements_is_not_run(ptbxl_root, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(ptbxl_root, root)
    table = (root / "ptbxl_database.csv").read_text()
    trap = f"__import__('pathlib').Path('{tmp_path}/ran').touch()"
    (root / "ptbxl_database.csv").write_text(table.replace("{'SR': 0.0}", trap, 1))
    with pytest.raises(InputError, match=r"row '3' can't be understood"):
        task_named("ptbxl-super").open(root)
    assert not (tmp_path / "ran").exists()


def test_an_unknown_task_is_answered_with_the_known_ones(ptbxl_root):
    with pytest.raises(UsageError, match=r"ptbxl-super.*corpus"):
        task_named("ptbxl-all").open(ptbxl_root)


def test_a_folder_without_records_is_refused(ptbxl_root, tmp_path):
    for name in ("ptbxl_database.csv", "scp_statements.csv"):
        shutil.copy(ptbxl_root / name, tmp_path)
    with pytest.raises(InputError, match="holds no record of the task"):
        task_named("ptbxl-super").open(tmp_path)


@pytest.mark.realdata
@pytest.mark.parametrize("name", MERL)
def test_labels_folds_and_classes_are_those_of_merls_tables(name, realdata):
    theirs: dict[str, tuple[set[str], str]] = {}
    for part in ("train", "val", "test"):
        path = realdata / f"meta/splits_merl/ptbxl/{MERL[name]}/ptbxl_{MERL[name]}_{part}.csv"
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                classes = set(list(row)[6:])
                theirs[row["ecg_id"]] = ({column for column in classes if row[column] == "1"}, part)
    task = task_named(name).open(realdata / "ptbxl")
    ours = {
        task.recordings.ids[row]: ({task.classes[k] for k in np.flatnonzero(y_K)}, split)
        for row, y_K, split in zip(task.row_M, task.y_MK, task.split_M, strict=True)
    }
    assert set(task.classes) == classes
    assert ours == {record: theirs[record] for record in theirs if record in set(task.recordings.ids)}
    assert set(ours) <= set(theirs)


def test_every_task_has_a_builder():
    assert set(MERL) < set(TASKS)


def test_paths_outside_the_folder_are_not_read(ptbxl_root, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(ptbxl_root, root)
    shutil.copytree(ptbxl_root / "records500", tmp_path / "records500")
    table = (root / "ptbxl_database.csv").read_text()
    (root / "ptbxl_database.csv").write_text(table.replace(",records500/", ",../records500/", 1))
    with pytest.raises(InputError, match="outside"):
        task_named("ptbxl-super").open(root).recordings.read(0)
