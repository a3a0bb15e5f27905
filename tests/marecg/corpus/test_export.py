"""An exported corpus is the corpus, read by h5py or pandas alone."""

import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import ecg_ontology
from marecg.base.config import LEADS, CorpusConfig
from marecg.base.errors import CorpusError, OutputError, UsageError
from marecg.corpus import export as module
from marecg.corpus.export import export
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.read.array_layout import Layout


@pytest.fixture
def corpus(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Five records in four shards of two, one of them empty."""
    monkeypatch.setattr(module, "PIECE", 1)
    prepare([source], tmp_path / "corpus", CorpusConfig(shard=2), jobs=1)
    return Corpus.open(tmp_path / "corpus")


def in_millivolts(d: np.ndarray) -> np.ndarray:
    return np.float32(1e-3) * d


def test_hdf5_holds_the_signals_bit_for_bit_and_all_that_the_index_knows(corpus, tmp_path):
    assert export(corpus.folder, tmp_path / "out.h5") == 5
    index = pq.read_table(corpus.folder / "index.parquet").to_pylist()
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["signal_uv"].dtype == np.int16
        np.testing.assert_array_equal(in_millivolts(file["signal_uv"][:]), corpus.signals(range(5)))
        np.testing.assert_array_equal(file["y"][:], corpus.y)
        np.testing.assert_array_equal(file["primary"][:], corpus.primary)
        assert file["id"].asstr()[:].tolist() == corpus.ids
        assert [each.tolist() for each in file["rpeaks"]] == [each.tolist() for each in corpus.rpeaks]
        assert [json.loads(each) for each in file["codes"].asstr()] == [row["codes"] for row in index]
        np.testing.assert_array_equal(file["age"][:], [63, 63, 63, np.nan, np.nan])
        assert file["sex"].asstr()[:].tolist() == ["F", "F", "F", "", ""]
        assert list(file.attrs["leads"]) == list(LEADS)
        assert list(file.attrs["nodes"]) == [node.abbr for node in ecg_ontology.load().nodes]
        assert (file.attrs["fs"], file.attrs["unit"], file.attrs["mv_per_unit"]) == (
            500,
            "µV",
            np.float32(1e-3),
        )


@pytest.mark.parametrize("name", ["out.parquet", "folder"])
def test_parquet_holds_one_row_per_record(corpus, tmp_path, name):
    assert export(corpus.folder, tmp_path / name) == 5
    table = pd.read_parquet(tmp_path / name)
    signals = np.stack([np.stack(list(cell)) for cell in table["signal_uv"]])
    np.testing.assert_array_equal(in_millivolts(signals), corpus.signals(range(5)))
    assert table["id"].tolist() == corpus.ids
    assert table["primary"].tolist() == corpus.primary.tolist()
    index = pd.read_parquet(corpus.folder / "index.parquet").drop(columns=["shard", "row"])
    pd.testing.assert_frame_equal(table.drop(columns="signal_uv"), index)


def test_a_folder_of_other_parquet_files_is_left_alone(corpus, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "results.parquet").touch()
    with pytest.raises(UsageError, match=r"holds results\.parquet, which would be lost"):
        export(corpus.folder, tmp_path / "mine")


def test_a_parquet_file_says_what_holds_for_all_its_records(corpus, tmp_path):
    export(corpus.folder, tmp_path / "out.parquet")
    file = pq.ParquetFile(tmp_path / "out.parquet")
    about = json.loads(file.schema_arrow.metadata[b"marecg"])
    assert (about["fs"], about["leads"]) == (500, list(LEADS))
    assert about["ontology_sha256"] == corpus.ontology_sha256
    assert file.num_row_groups == 5, "written piece by piece"


@pytest.mark.parametrize("name", ["out.h5", "out.parquet", "out"])
def test_nobody_but_the_owner_and_the_group_may_read_it(corpus, tmp_path, name):
    export(corpus.folder, tmp_path / name)
    assert not (tmp_path / name).stat().st_mode & 0o007


@pytest.mark.parametrize("name", ["out.h5", "out.parquet"])
def test_what_was_exported_can_be_prepared_again_but_for_padded_records(corpus, tmp_path, name):
    export(corpus.folder, tmp_path / name)
    layout = Layout(500, units="uV", key="signal_uv")
    report = prepare([tmp_path / name], tmp_path / "again", jobs=1, layout=layout)
    assert (report.kept, report.quarantined) == (4, {"zero-fraction": 1})
    again = Corpus.open(tmp_path / "again")
    np.testing.assert_array_equal(again.signals(range(4)), corpus.signals(range(4)))


def test_only_a_few_records_are_in_memory(source, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 2)
    prepare([source], tmp_path / "corpus", jobs=1)
    sizes = [(len(rows), len(d_nCL)) for rows, d_nCL in module.pieces(Corpus.open(tmp_path / "corpus"))]
    assert sizes == [(2, 2), (2, 2), (1, 1)]


def test_bad_requests_are_one_clear_error_and_leave_nothing(corpus, tmp_path):
    with pytest.raises(UsageError, match=r"can't write \.csv"):
        export(corpus.folder, tmp_path / "out.csv")
    with pytest.raises(CorpusError, match="not a prepared corpus"):
        export(tmp_path, tmp_path / "out.h5")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        export(corpus.folder, tmp_path / "file" / "out.parquet")
    assert not list(tmp_path.glob("*out*"))
