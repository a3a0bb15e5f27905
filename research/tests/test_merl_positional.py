"""MERL's split tables as its code reads them."""

import pandas as pd
import pytest

from ecg_base import InputError
from marecg.evaluate.scores.metrics import macro_auc
from marecg.evaluate.tasks.label_tables import read_split_tables
from marecg_research.merl_positional import write_positional


def test_columns_are_named_after_their_places_in_the_training_table(tmp_path):
    folder = tmp_path / "splits" / "icbeb"
    folder.mkdir(parents=True)
    for part, header in (("train", "MI,NORM,CD"), ("val", "MI,NORM,CD"), ("test", "NORM,MI,CD")):
        (folder / f"icbeb_{part}.csv").write_text(f"filename,age,{header}\n{part},60,1,0,0\n")
    written = write_positional(tmp_path / "splits", tmp_path / "out")
    assert [path.name for path in written] == ["icbeb_test.csv", "icbeb_train.csv", "icbeb_val.csv"]
    table = read_split_tables(tmp_path / "out" / "icbeb", "icbeb", "filename")
    assert table.classes == ("MI", "NORM", "CD")
    assert table.y_MK.tolist() == [[1, 0, 0]] * 3
    assert pd.read_csv(written[0])["age"].tolist() == [60]


def test_a_folder_without_tables_is_one_error(tmp_path):
    with pytest.raises(InputError, match="must contain split tables, got none"):
        write_positional(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.realdata
def test_a_perfect_classifier_scores_93_37_on_the_sub_task(realdata, tmp_path):
    write_positional(realdata / "meta/splits_merl", tmp_path / "positional")
    names = ("ptbxl/sub_class", "ptbxl_sub_class", "ecg_id")
    by_name = read_split_tables(realdata / "meta/splits_merl" / names[0], *names[1:])
    by_position = read_split_tables(tmp_path / "positional" / names[0], *names[1:])
    test = by_name.split_M == "test"
    assert 100 * macro_auc(by_position.y_MK[test], by_name.y_MK[test]) == pytest.approx(93.37, abs=0.005)
