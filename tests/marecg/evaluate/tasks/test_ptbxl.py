"""The tasks of PTB-XL, and CPSC2018 in whichever of its two forms it lies on disk."""

import os
import shutil

import numpy as np
import pytest
from scipy.io import savemat
from tests.made_records import make_ecg, make_record

from marecg.errors import CorpusError, InputError, UsageError
from marecg.evaluate.tasks.cpsc2018 import cpsc2018_task
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Folds


def test_labels_follow_the_statements_at_any_likelihood_and_lose_their_underscores(task, ptbxl_root):
    assert task.classes == ("CD", "MI", "NORM", "STTC")
    by_id = {task.recordings.ids[row]: y.tolist() for row, y in zip(task.row_M, task.y_MK, strict=True)}
    assert by_id["1"] == [0, 1, 0, 1]  # IMI at 0 %, NST_ at 50 %
    assert (by_id["2"], by_id["4"]) == ([1, 0, 0, 0], [0, 0, 1, 0])
    assert task_named("ptbxl-sub").open(ptbxl_root).classes == ("AVB", "IMI", "NORM", "NST")
    assert task_named("ptbxl-form").open(ptbxl_root).classes == ("NST",)
    assert task_named("ptbxl-rhythm").open(ptbxl_root).classes == ("SR",)


def test_records_without_a_class_of_the_task_are_counted_and_one_that_is_not_on_disk_is_named(task):
    assert "3" not in {task.recordings.ids[row] for row in task.row_M}
    assert (task.unlabelled, len(task.row_M), task.missing) == (20, 60, ("81",))


@pytest.mark.parametrize(
    ("folds", "parts", "text"),
    [
        (None, [set(range(1, 9)), {9}, {10}], "train 1–8, val 9, test 10"),
        (Folds.of("1-5,6,7-8"), [set(range(1, 6)), {6}, {7, 8}], "train 1–5, val 6, test 7–8"),
    ],
)
def test_the_folds_are_the_official_ones_or_those_that_are_chosen(folds, parts, text, task, ptbxl_root):
    chosen = task_named("ptbxl-super").open(ptbxl_root, folds=folds)
    fold_of = {str(ecg_id): 1 + (ecg_id - 1) // 4 % 10 for ecg_id in range(1, 81)}
    split_rows = (chosen.row_M[chosen.split_M == split] for split in ("train", "val", "test"))
    assert [{fold_of[chosen.recordings.ids[row]] for row in rows} for rows in split_rows] == parts
    assert chosen.folds == f"PTB-XL strat_fold: {text}"
    assert (chosen.sha256 != task.sha256) is (folds is not None)
    assert chosen.recordings.sha256 == task.recordings.sha256


def test_a_part_may_be_several_rows_of_folds():
    folds = Folds.of("7-8+1-3, 4, 5+6")
    assert folds.parts == ((7, 8, 1, 2, 3), (4,), (5, 6))
    assert str(folds) == "train 7–8+1–3, val 4, test 5+6"


@pytest.mark.parametrize("text", ["1-5,6", "1-5,5,7", "1-5,6,8-7", "a,b,c", "1,2,3,4", "1-2+2,3,4", "1+,2,3"])
def test_folds_that_are_no_split_are_refused(text):
    with pytest.raises(UsageError, match="folds must be three parts without common folds"):
        Folds.of(text)


def test_a_task_without_folds_has_none_to_choose(ptbxl_root):
    with pytest.raises(UsageError, match="folds of the task cpsc2018 can't be chosen"):
        task_named("cpsc2018").open(ptbxl_root, folds=Folds.of("1,2,3"))


def test_recordings_are_twelve_leads_in_mv_at_500_hz(task):
    x_CL = task.recordings.read(7)
    assert (x_CL.shape, x_CL.dtype) == ((12, 2500), np.float32)
    assert 0.5 < np.ptp(x_CL[0]) < 3


def test_a_hash_changes_with_a_signal_file_and_that_of_the_task_with_one_label(task, ptbxl_copy):
    before = task_named("ptbxl-super").open(ptbxl_copy).recordings.sha256
    assert task_named("ptbxl-sub").open(ptbxl_copy).recordings.sha256 == before
    os.utime(next(ptbxl_copy.rglob("*.dat")), ns=(1, 1))
    assert task_named("ptbxl-super").open(ptbxl_copy).recordings.sha256 != before
    before = task.sha256
    task.y_MK[0, 0] ^= 1
    assert task.sha256 != before


def test_a_python_expression_in_the_place_of_statements_is_not_run(ptbxl_copy):
    table, mark = ptbxl_copy / "ptbxl_database.csv", ptbxl_copy / "ran"
    trap = f"__import__('pathlib').Path('{mark}').touch()"
    table.write_text(table.read_text().replace("{'SR': 0.0}", trap, 1))
    with pytest.raises(InputError, match=r"row '3' can't be parsed"):
        task_named("ptbxl-super").open(ptbxl_copy)
    assert not mark.exists()


def test_paths_outside_the_folder_are_not_read(ptbxl_copy):
    shutil.copytree(ptbxl_copy / "records500", ptbxl_copy.parent / "records500")
    table = ptbxl_copy / "ptbxl_database.csv"
    table.write_text(table.read_text().replace(",records500/", ",../records500/", 1))
    with pytest.raises(InputError, match="outside"):
        task_named("ptbxl-super").open(ptbxl_copy).recordings.read(0)


def test_a_folder_without_records_is_refused(ptbxl_copy, tmp_path):
    shutil.rmtree(ptbxl_copy / "records500")
    with pytest.raises(InputError, match="must contain records of the task"):
        task_named("ptbxl-super").open(ptbxl_copy)
    with pytest.raises(CorpusError, match="CPSC2018"):
        task_named("cpsc2018").open(tmp_path)


def test_both_published_forms_give_the_same_task(tmp_path):
    ours, challenge = tmp_path / "organisers", tmp_path / "cpsc_2018"
    labels = {"A0001": ("5", "2"), "A0002": ("1",), "A0003": ("9",)}
    codes = {"1": "426783006", "2": "164889003", "5": "59118001", "9": "164931005"}
    ours.mkdir()
    rows = [f"{name},{','.join((*each, '', '')[:3])}" for name, each in labels.items()]
    (ours / "REFERENCE.csv").write_text("\n".join(["Recording,First_label,Second_label,Third_label", *rows]))
    for seed, (name, each) in enumerate(labels.items()):
        x_CL = np.round(make_ecg(seed=seed), 3)
        savemat(ours / f"{name}.mat", {"ECG": {"sex": "Male", "age": 74, "data": x_CL}})
        make_record(challenge, name, x_CL, comments=[f"Dx: {','.join(codes[label] for label in each)}"])
    first, second = (cpsc2018_task(root) for root in (ours, challenge))
    assert first.sha256 == second.sha256
    assert first.y_MK.sum() == 4
    assert first.recordings.identities == second.recordings.identities
    for row in range(3):
        np.testing.assert_allclose(first.recordings.read(row), second.recordings.read(row), atol=1e-6)
