"""Embedding into a folder of parts: other embeddings, other records and what isn't a folder are refused."""

import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.marecg.use.parted import PART, run

from marecg.base.config import CorpusConfig
from marecg.base.errors import CheckpointError, InputError, UsageError
from marecg.corpus.prepare import prepare
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.read.array_layout import Layout
from marecg.synth import write_corpus
from marecg.use import processes
from marecg.use.embed_records import Shard, embed_records


def test_a_part_of_other_embeddings_does_not_pass_for_one_of_these(place, micro, tmp_path):
    MarEcg(micro.model).save_pretrained(tmp_path / "model")
    embed_records(tmp_path / "model", [place / "wfdb"], tmp_path / "out", part_records=PART)
    shutil.copyfile(place / "quiet" / "part-00000.parquet", tmp_path / "out" / "part-00000.parquet")
    embed_records(tmp_path / "model", [place / "wfdb"], tmp_path / "out", part_records=PART)
    kept = set(pq.read_table(tmp_path / "out")["weights_sha256"].to_pylist())
    assert kept == {weights_sha256(MarEcg.from_pretrained(tmp_path / "model"))}


def test_an_array_in_other_units_and_a_corpus_of_other_settings_are_other_records(place, tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(0, 1, (2, 12, 4000)))
    embed_records(place / "model", [tmp_path / "a.npy"], tmp_path / "out", layout=Layout(fs=500))
    with pytest.raises(UsageError, match="holds embeddings of other array layout"):
        embed_records(
            place / "model", [tmp_path / "a.npy"], tmp_path / "out", layout=Layout(fs=500, units="uV")
        )
    other = tmp_path / "again" / "corpus"
    prepare([place / "wfdb"], other, CorpusConfig(window=4000), jobs=1)
    run(place, tmp_path / "parts", "corpus")
    with pytest.raises(UsageError, match="holds embeddings of other records"):
        embed_records(place / "model", [other], tmp_path / "parts", part_records=PART)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"part_records": 4}, "holds embeddings of other records per part"),
        ({"readout": "wide"}, "holds embeddings of other readout"),
        ({"patches": True}, "holds embeddings of other patches"),
        ({"inputs": ("corpus",)}, "holds embeddings of other number of records and records"),
    ],
)
def test_other_embeddings_in_the_folder_are_refused(place, change, problem):
    before = sorted(path.stat().st_mtime_ns for path in (place / "quiet").iterdir())
    inputs = change.pop("inputs", ())
    with pytest.raises(UsageError, match=problem):
        run(place, place / "quiet", *inputs, **change)
    assert sorted(path.stat().st_mtime_ns for path in (place / "quiet").iterdir()) == before


def test_another_model_and_another_folder_are_refused(place, micro, tmp_path):
    MarEcg(micro.model).save_pretrained(tmp_path / "model")
    with pytest.raises(UsageError, match="holds embeddings of other weights"):
        embed_records(tmp_path / "model", [place / "wfdb"], place / "quiet", part_records=PART)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").touch()
    with pytest.raises(UsageError, match=r"is not empty \(chapter\.tex\) and holds no embeddings"):
        run(place, tmp_path / "thesis")


def test_a_model_that_is_replaced_meanwhile_is_refused(place, micro, tmp_path):
    MarEcg(micro.model).save_pretrained(tmp_path / "model")
    with pytest.raises(CheckpointError, match="has other weights than when the command began"):
        processes._loaded(str(tmp_path / "model"), "0" * 64)


def test_records_of_one_name_and_no_records_are_refused(place, tmp_path):
    with pytest.raises(UsageError, match="records of two inputs would be called wfdb/"):
        run(place, tmp_path / "out", "wfdb", "corpus")
    write_corpus(tmp_path / "broken", 2, 0)
    for path in (tmp_path / "broken").rglob("*.mat"):
        path.unlink()
    with pytest.raises(InputError, match="not one record could be read"):
        embed_records(place / "model", [tmp_path / "broken"], tmp_path / "out")


def test_a_corpus_of_which_nothing_was_kept_is_one_clear_error(place, tmp_path):
    write_corpus(tmp_path / "broken", 2, 0)
    for path in (tmp_path / "broken").rglob("*.mat"):
        path.unlink()
    prepare([tmp_path / "broken"], tmp_path / "corpus", jobs=1)
    for out in (tmp_path / "out.npz", tmp_path / "out"):
        with pytest.raises(InputError, match=r"corpus: holds no records\. report\.json says why"):
            embed_records(place / "model", [tmp_path / "corpus"], out)
        assert not out.exists()


def test_embeddings_within_their_source_are_no_source(place, tmp_path):
    layout = Layout(fs=500)
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(0, 0.3, (3, 12, 5000)))
    for _ in range(2):
        done = embed_records(place / "model", [tmp_path], tmp_path / "parts", layout=layout)
        assert (done.records, done.failed) == (3, {})
    alone = embed_records(place / "model", [tmp_path], tmp_path / "e.parquet", layout=layout)
    assert alone.failed == {}, "its own file while it grows"


def test_an_output_that_is_no_folder_is_one_clear_error(place, tmp_path):
    (tmp_path / "notes").touch()
    with pytest.raises(InputError, match=r"notes: can't be listed: Not a directory\. Name a folder"):
        run(place, tmp_path / "notes")


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(UsageError, match="isn't a shard"):
        Shard.named(text)
