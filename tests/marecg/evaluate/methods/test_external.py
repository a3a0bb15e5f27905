from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from marecg.embedding.embedding_files import FORMATS
from marecg.errors import InputError
from marecg.evaluate.methods.features import features_sha256, read_features
from marecg.evaluate.tasks.task import Recordings

RECORDINGS = Recordings("made", ("a", "b", "c"), "0" * 64, "", lambda row: np.zeros((12, 1), np.float32))


def test_features_are_matched_by_id_in_any_order_and_what_is_absent_is_named(tmp_path):
    np.savez(tmp_path / "f.npz", ids=["c", "x", "a"], features=[[3.0], [9.0], [1.0]])
    features = read_features(tmp_path / "f.npz", RECORDINGS)
    np.testing.assert_array_equal(features.x_RF, [[1], [np.nan], [3]])
    assert features.unreadable == {"b": "not in f.npz"}


def test_a_record_may_be_named_by_its_file_and_by_its_other_names(tmp_path):
    recordings = replace(RECORDINGS, other_names=lambda: {"A1": 0, "twice": -1})
    np.savez(tmp_path / "f.npz", ids=["c.hea", "A1"], features=[[3.0], [1.0]])
    np.testing.assert_array_equal(read_features(tmp_path / "f.npz", recordings).x_RF, [[1], [np.nan], [3]])
    for ids, problem in ((["A1", "a"], "got several rows for a"), (["twice"], "name of several recordings")):
        np.savez(tmp_path / "f.npz", ids=ids, features=np.zeros((len(ids), 1)))
        with pytest.raises(InputError, match=problem):
            read_features(tmp_path / "f.npz", recordings)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"ids": ["a"]}, "can't be read"),
        ({"ids": ["a"], "features": np.array([object()])}, "can't be read"),
        ({"ids": ["a", "a"], "features": np.zeros((2, 1))}, "1 different ids"),
        ({"ids": ["a"], "features": np.zeros((2, 1))}, "shape"),
        ({"ids": ["a"], "features": np.zeros(1)}, "shape"),
        ({"ids": ["a"], "features": [[np.inf]]}, "features must be finite, got inf"),
        ({"ids": ["z"], "features": [[1.0]]}, "has none of the task's 3 recordings"),
    ],
)
def test_a_file_that_does_not_fit_or_is_not_there_is_refused(arrays, problem, tmp_path):
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(InputError, match=problem):
        read_features(tmp_path / "f.npz", RECORDINGS)
    with pytest.raises(InputError, match=r"no\.npz"):
        read_features(tmp_path / "no.npz", RECORDINGS)


def parts(folder, records, sources, columns):
    """A folder of embeddings with a file for each record."""
    folder.mkdir()
    for number, (record, source) in enumerate(zip(records, sources, strict=True)):
        table = {"record": [record], "source": [source], "start": [0.0]}
        for name, vectors in columns.items():
            table[name] = pa.array([vectors[number]], pa.list_(pa.float32(), len(vectors[number])))
        pq.write_table(pa.table(table), folder / f"part-{number:05d}.parquet")
    return folder


def test_a_folder_of_embeddings_is_matched_by_source_name_and_what_the_world_calls_a_record(tmp_path):
    recordings = replace(RECORDINGS, ids=("a", "s/b", "3"), identities=(None, None, "ptbxl/00003"))
    columns = {"rhythm": [[0.0]] * 3, "wide": [[3.0, 4.0], [1.0, 2.0], [9.0, 9.0]]}
    folder = parts(tmp_path / "parts", ["HR00003", "b", "z"], ["ptb-xl", "s", "s"], columns)
    features = read_features(folder, recordings)
    np.testing.assert_array_equal(features.x_RF, [[np.nan, np.nan], [1, 2], [3, 4]])
    assert features.unreadable == {"a": "not in parts"}


@pytest.mark.parametrize(
    ("records", "values", "problem"),
    [
        (["x", "y"], [[1.0], [2.0]], "has none of the task's 3 recordings"),
        (["a", "a"], [[1.0], [2.0]], "must have each recording once, got a or another recording twice"),
        (["a", "b"], [[1.0], [np.nan]], "rhythm must be finite, got nan"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(records, values, problem, tmp_path):
    folder = parts(tmp_path / "parts", records, ["s", "s"], {"rhythm": values})
    with pytest.raises(InputError, match=problem):
        read_features(folder, RECORDINGS)


def test_another_folder_has_another_hash(tmp_path):
    folders = {"one": 1.0, "same": 1.0, "two": 2.0}
    one, same, two = (
        features_sha256(parts(tmp_path / name, ["a"], ["s"], {"rhythm": [[value]]}))
        for name, value in folders.items()
    )
    assert one == same != two


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_a_file_that_embed_wrote_is_read_as_its_folder_is(tmp_path, ending):
    columns = {"rhythm": [[0.0]] * 2, "wide": [[3.0, 4.0], [1.0, 2.0]]}
    folder = parts(tmp_path / "parts", ["a", "c"], ["s", "s"], columns)
    for number, part in enumerate(sorted(folder.iterdir())):
        pq.write_table(pq.read_table(part).append_column("id", pa.array([f"s/{number}"])), part)
    FORMATS[ending](sorted(folder.iterdir()), tmp_path / f"e{ending}")
    of_file = read_features(tmp_path / f"e{ending}", RECORDINGS)
    np.testing.assert_array_equal(of_file.x_RF, read_features(folder, RECORDINGS).x_RF)
    assert of_file.x_RF[0].tolist() == [3, 4]
