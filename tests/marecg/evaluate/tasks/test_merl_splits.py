from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from marecg.errors import CorpusError, UsageError
from marecg.evaluate.tasks.label_tables import read_split_tables
from marecg.evaluate.tasks.registry import task_named


def write(folder: Path, part: str, header: str, *rows: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"ptbxl_super_class_{part}.csv").write_text("\n".join([header, *rows]) + "\n")


@pytest.fixture
def splits(tmp_path) -> Path:
    """Three tables; the test table has two columns in another order."""
    folder = tmp_path / "ptbxl/super_class"
    write(folder, "train", "ecg_id,strat_fold,MI,NORM,CD", "5,3,1,0,0", "2,1,0,0,1", "4,1,0,1,0")
    write(folder, "val", "ecg_id,strat_fold,MI,NORM,CD", "34,9,0,0,1", "99,9,1,0,0")
    write(folder, "test", "ecg_id,strat_fold,NORM,MI,CD", "40,10,1,0,0", "37,10,0,1,0")
    return tmp_path


def test_labels_are_read_by_name_and_records_keep_the_order_of_the_tables(splits):
    tables = (splits / "ptbxl/super_class", "ptbxl_super_class", "ecg_id")
    table = read_split_tables(*tables)
    assert table.classes == ("MI", "NORM", "CD")
    assert table.ids == ("5", "2", "4", "34", "99", "40", "37")
    assert table.y_MK[-2:].tolist() == [[0, 1, 0], [1, 0, 0]]
    assert table.split_M.tolist() == ["train"] * 3 + ["val"] * 2 + ["test"] * 2


def test_a_task_takes_labels_and_split_from_the_tables_and_names_what_is_missing(splits, task, ptbxl_root):
    of_tables = task_named("ptbxl-super").open(ptbxl_root, splits)
    assert [task.recordings.ids[row] for row in of_tables.row_M] == ["5", "2", "4", "34", "40", "37"]
    assert of_tables.missing == ("99",)
    assert of_tables.folds == "the tables ptbxl_super_class_*.csv, labels by name"
    assert of_tables.recordings.sha256 == task.recordings.sha256


def test_tables_with_different_classes_are_refused(splits, ptbxl_root):
    write(splits / "ptbxl/super_class", "val", "ecg_id,MI,NORM,HYP", "34,0,0,1")
    with pytest.raises(CorpusError, match="CD, HYP"):
        task_named("ptbxl-super").open(ptbxl_root, splits)


@pytest.mark.parametrize("damage", ["", "no,such,column\n1,2,3\n", "ecg_id,MI,NORM,CD\n1,0\n"])
def test_a_damaged_table_is_named(damage, splits, ptbxl_root):
    (splits / "ptbxl/super_class/ptbxl_super_class_test.csv").write_text(damage)
    with pytest.raises(CorpusError, match=r"ptbxl_super_class_test\.csv"):
        task_named("ptbxl-super").open(ptbxl_root, splits)


@pytest.mark.parametrize(
    ("name", "error", "problem"),
    [
        ("ptbxl-super", CorpusError, "Give the folder of MERL's split tables"),
        ("corpus", UsageError, "Leave out --set splits"),
    ],
)
def test_a_folder_without_tables_and_one_for_a_corpus_are_refused(name, error, problem, ptbxl_root, tmp_path):
    with pytest.raises(error, match=problem):
        task_named(name).open(ptbxl_root, tmp_path)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("folder", "stem", "key", "classes", "counts"),
    [
        ("ptbxl/super_class", "ptbxl_super_class", "ecg_id", 5, (17084, 2146, 2158)),
        ("ptbxl/sub_class", "ptbxl_sub_class", "ecg_id", 23, (17084, 2146, 2158)),
        ("ptbxl/form", "ptbxl_form", "ecg_id", 19, (7197, 901, 880)),
        ("ptbxl/rhythm", "ptbxl_rhythm", "ecg_id", 12, (16832, 2100, 2098)),
        ("icbeb", "icbeb", "filename", 9, (4950, 551, 1376)),
    ],
)
def test_merls_tables_have_the_published_numbers_of_records(folder, stem, key, classes, counts, realdata):
    table = read_split_tables(realdata / "meta/splits_merl" / folder, stem, key)
    assert tuple((table.split_M == part).sum() for part in ("train", "val", "test")) == counts
    assert len(set(table.ids)) == len(table.ids)
    assert len(table.classes) == classes


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm"])
def test_built_from_the_database_or_read_from_the_tables_a_task_is_the_same(name, realdata):
    def labels(splits: Path | None) -> tuple[set[str], dict[str, tuple[str, set[str]]]]:
        task = task_named(name).open(realdata / "ptbxl", splits)
        records = zip(task.row_M, task.split_M, np.array(task.y_MK, bool), strict=True)
        classes = np.array(task.classes)
        return set(classes), {task.recordings.ids[row]: (split, {*classes[y]}) for row, split, y in records}

    assert labels(None) == labels(realdata / "meta/splits_merl")


@pytest.mark.realdata
def test_cpsc2018_labels_from_the_headers_are_those_of_the_tables(realdata):
    root = realdata / "cinc2021/cpsc_2018"
    task = task_named("cpsc2018").open(root)
    tables = (realdata / f"meta/splits_merl/icbeb/icbeb_{part}.csv" for part in ("train", "val", "test"))
    listed = pd.concat(map(pd.read_csv, tables)).set_index("filename")
    assert len(task.row_M) == 91
    ids = [task.recordings.ids[row] for row in task.row_M]
    np.testing.assert_array_equal(task.y_MK, listed.loc[ids, list(task.classes)])
    assert task.recordings.read(0).shape[0] == 12
    assert len(task_named("cpsc2018").open(root, realdata / "meta/splits_merl").row_M) == 91
