"""Opening a prepared corpus and fetching from it."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import psutil
import pytest

from marecg.corpus import index
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus, open_shard
from marecg.corpus.statistics import statistics
from marecg.embedding.inputs import Inputs
from marecg.errors import CorpusError, RecordError


@pytest.fixture(scope="module")
def prepared(collections, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("prepared") / "corpus"
    prepare([collections], folder, CorpusConfig(shard=2), jobs=1)
    return folder


@pytest.fixture
def folder(prepared, tmp_path) -> Path:
    """A corpus of five records in four shards, one of them empty."""
    return shutil.copytree(prepared, tmp_path / "corpus")


def test_an_opened_corpus_has_one_entry_of_everything_per_record(folder):
    corpus = Corpus.open(folder)
    assert len(corpus) == len(corpus.ids) == len(corpus.sources) == len(corpus.rpeaks) == 5
    assert (corpus.y.shape, corpus.y.dtype) == ((5, 40), np.uint8)
    assert corpus.sources == ["georgia"] * 3 + ["ptb"] * 2
    assert corpus.n_valid.tolist() == [4700, 4700, 4700, 4700, 3000]
    assert all(peaks.dtype == np.int64 and len(peaks) > 5 for peaks in corpus.rpeaks)
    assert np.flatnonzero(corpus.y[4]).tolist() == [19, 25]
    assert corpus.primary[4] == 25
    assert corpus.profile == "paper"
    assert not corpus.y[:, :5].any(), "columns of roots are always zero"


def test_the_index_is_read_from_a_path_as_text(folder):
    assert index.of(str(folder), ["id"]).equals(index.of(folder, ["id"]))
    assert index.schema(str(folder)) == index.schema(folder)


def test_a_batch_comes_in_the_order_asked_for_in_millivolts(folder):
    corpus = Corpus.open(folder)
    whole = corpus.signals(np.arange(5))
    assert (whole.shape, whole.dtype) == ((5, 12, 4700), np.float32)
    order = np.array([4, 0, 3, 0])
    np.testing.assert_array_equal(corpus.signals(order), whole[order])
    assert 0.9 < whole[0, 0].max() < 1.1
    assert not whole[4, :, 3000:].any()
    whole[:] = 99  # it is written to without changing the corpus
    assert corpus.signals([0]).max() < 2
    assert corpus.signals(np.array([], np.int64)).shape == (0, 12, 4700)


def test_signals_that_were_read_are_no_memory_of_the_process_once_they_are_released(folder):
    corpus = Corpus.open(folder)

    def mapped() -> int:
        maps = psutil.Process().memory_maps()
        return sum(each.rss for each in maps if each.path.startswith(str(folder / "shards")))

    before = corpus.stored(np.arange(5))
    assert mapped() > before.nbytes / 2
    corpus.release()
    assert mapped() == 0
    np.testing.assert_array_equal(corpus.stored(np.arange(5)), before)


def test_as_a_record_it_is_the_window_without_its_padding(folder):
    corpus, rows = Corpus.open(folder), Inputs([folder])
    read = [read() for *_, read in rows]
    assert [record.x_CL.shape for record in read] == [(12, length) for length in corpus.n_valid]
    assert [record.length for record in read] == corpus.n_valid.tolist()
    np.testing.assert_array_equal(read[4].x_CL, corpus.signals([4])[0, :, :3000])
    ((*_, last),) = rows.part(4, 9)
    assert last().id == corpus.ids[4]


def test_a_folder_that_is_no_corpus_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="isn't a prepared corpus"):
        Corpus.open(tmp_path)
    with pytest.raises(CorpusError, match=r"no corpus at .*missing"):
        Corpus.open(tmp_path / "missing")
    (tmp_path / "building").mkdir()
    with pytest.raises(CorpusError, match="a finished corpus"):
        Corpus.open(tmp_path)


@pytest.mark.parametrize(
    ("group", "change", "problem"),
    [
        (None, {"format": 99}, "format 99"),
        ("config", {"wiggle": 3}, r"settings that this version doesn't have \(wiggle\)"),
    ],
)
def test_a_corpus_of_another_format_or_version_is_refused(folder, group, change, problem):
    about = json.loads((folder / "corpus.json").read_text())
    (about[group] if group else about).update(change)
    (folder / "corpus.json").write_text(json.dumps(about))
    with pytest.raises(CorpusError, match=problem):
        Corpus.open(folder)


@pytest.mark.parametrize("file", ["corpus.json", "index.parquet", "shards/00000.npy"])
@pytest.mark.parametrize("damage", [None, b"", "cut", b"x" * 500])
def test_a_damaged_corpus_is_refused_in_one_clear_line(folder, file, damage):
    content = (folder / file).read_bytes()
    (folder / file).unlink()
    if damage is not None:
        (folder / file).write_bytes(content[: len(content) // 2] if damage == "cut" else damage)
    with pytest.raises(CorpusError, match="corpus") as caught:
        Corpus.open(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [(kind, (2, 12, 9)) for kind in ("float32", "uint16")]
    + [("int16", shape) for shape in ((3, 12, 9), (2, 11, 9), (2, 12, 8))],
)
def test_a_shard_of_other_numbers_or_another_shape_is_damaged(tmp_path, kind, shape):
    np.save(tmp_path / "00000.npy", np.zeros((2, 12, 9), np.int16))
    assert open_shard(tmp_path / "00000.npy", 2, 9).shape == (2, 12, 9)
    np.save(tmp_path / "00000.npy", np.zeros(shape, kind))
    with pytest.raises(CorpusError, match=re.escape(f"it has type {kind} and shape {shape}")):
        open_shard(tmp_path / "00000.npy", 2, 9)


INDEX = ("corpus.json", "index.parquet", "ontology.json")


@pytest.mark.parametrize(
    ("file", "ask"),
    [
        *((file, Corpus.open) for file in (*INDEX, "shards/00000.npy")),
        *((file, statistics) for file in (*INDEX, "report.json")),
        ("corpus.json", lambda folder: Inputs([folder])),  # which isn't taken for a folder of records
    ],
)
def test_a_pipe_in_a_corpus_is_named_and_not_waited_for(folder, file, ask):
    (folder / file).unlink()
    os.mkfifo(folder / file)
    with pytest.raises(CorpusError, match=r"isn't a file\. Remove the corpus and prepare it again") as caught:
        ask(folder)
    assert caught.value.where == str(folder / file)


def test_a_shard_that_is_cut_short_while_it_is_open_is_one_line_and_no_end_by_signal(folder):
    """Record 0 is still there: a reader that does not look would go on until it came to record 1."""
    corpus, ((*_, read),) = Corpus.open(folder), Inputs([folder]).part(0, 1)
    corpus.signals([0])
    read()
    shard = folder / "shards" / "00000.npy"
    os.truncate(shard, shard.stat().st_size - 50_000)
    with pytest.raises(CorpusError, match=r"00000\.npy: was truncated after it was opened"):
        corpus.signals([0])
    with pytest.raises(RecordError, match="was truncated"):
        read()
    with pytest.raises(CorpusError, match=r"00000\.npy: is damaged \("):
        Corpus.open(folder)
    corpus.signals([2])


def test_a_shard_that_another_takes_the_place_of_is_read_on(folder):
    corpus = Corpus.open(folder)
    whole = corpus.signals([0, 1])
    (folder / "new.npy").write_bytes(b"")
    (folder / "new.npy").replace(folder / "shards" / "00000.npy")
    np.testing.assert_array_equal(corpus.signals([0, 1]), whole)
