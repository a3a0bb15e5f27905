"""Embedding into a folder of parts: other embeddings, other records and what isn't a folder are refused."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.marecg.embedding.conftest import run

from ecg_records.readers.arrays.array_layout import Layout
from ecg_synth import write_corpus
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.embedding import processes
from marecg.errors import CheckpointError, InputError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256


@pytest.fixture
def other(micro, tmp_path) -> Path:
    """Another model."""
    MarEcg(micro.model).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def unreadable(tmp_path) -> Path:
    """Records without their signals."""
    write_corpus(tmp_path / "broken", 2, 0)
    for path in (tmp_path / "broken").rglob("*.mat"):
        path.unlink()
    return tmp_path / "broken"


def test_a_part_of_other_embeddings_does_not_pass_for_one_of_these(place, other, tmp_path):
    out = tmp_path / "out"
    run(place, out, model=other)
    shutil.copyfile(place / "quiet" / "part-00000.parquet", out / "part-00000.parquet")
    run(place, out, model=other)
    weights = weights_sha256(MarEcg.from_pretrained(other))
    assert set(pq.read_table(out)["weights_sha256"].to_pylist()) == {weights}


def test_an_array_in_other_units_and_a_corpus_of_other_settings_are_other_records(place, tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(0, 1, (2, 12, 4000)))
    run(place, tmp_path / "out", tmp_path / "a.npy", layout=Layout(fs=500))
    with pytest.raises(UsageError, match="already has embeddings with other array layout"):
        run(place, tmp_path / "out", tmp_path / "a.npy", layout=Layout(fs=500, units="uV"))
    corpus = tmp_path / "again" / "corpus"
    prepare([place / "wfdb"], corpus, CorpusConfig(window=4000), jobs=1)
    run(place, tmp_path / "parts", "corpus")
    with pytest.raises(UsageError, match="already has embeddings with other records"):
        run(place, tmp_path / "parts", corpus)


@pytest.mark.parametrize(
    ("inputs", "options", "problem"),
    [
        ((), {"part_records": 4}, "already has embeddings with other records per part"),
        ((), {"readout": "wide"}, "already has embeddings with other readout"),
        ((), {"patches": True}, "already has embeddings with other patches"),
        (("corpus",), {}, "already has embeddings with other number of records and records"),
    ],
)
def test_other_embeddings_in_the_folder_are_refused(place, inputs, options, problem):
    before = sorted(path.stat().st_mtime_ns for path in (place / "quiet").iterdir())
    with pytest.raises(UsageError, match=problem):
        run(place, place / "quiet", *inputs, **options)
    assert sorted(path.stat().st_mtime_ns for path in (place / "quiet").iterdir()) == before


def test_another_model_and_another_folder_are_refused(place, other, tmp_path):
    with pytest.raises(UsageError, match="already has embeddings with other weights"):
        run(place, place / "quiet", model=other)
    with pytest.raises(CheckpointError, match="its weights changed while the command was running"):
        processes._loaded(str(other), "0" * 64)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").touch()
    with pytest.raises(UsageError, match=r"is not empty \(chapter\.tex\) and has no embeddings"):
        run(place, tmp_path / "thesis")


def test_records_of_one_name_and_no_records_are_refused(place, unreadable, tmp_path):
    with pytest.raises(UsageError, match="two inputs have records with the same name, wfdb/"):
        run(place, tmp_path / "out", "wfdb", "corpus")
    with pytest.raises(InputError, match="no record could be read"):
        run(place, tmp_path / "out", unreadable)


@pytest.mark.parametrize(("name", "part"), [("out.npz", None), ("out", 3)])
def test_a_corpus_of_which_nothing_was_kept_is_one_clear_error(place, unreadable, tmp_path, name, part):
    prepare([unreadable], tmp_path / "corpus", jobs=1)
    with pytest.raises(InputError, match=r"corpus: has no records\. See report\.json"):
        run(place, tmp_path / name, tmp_path / "corpus", part_records=part)
    assert not (tmp_path / name).exists()


def test_embeddings_within_their_source_are_no_source(place, tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(0, 0.3, (3, 12, 5000)))
    for name in ("parts", "parts", "e.parquet"):  # which finds itself while it grows
        done = run(place, tmp_path / name, tmp_path, layout=Layout(fs=500), part_records=None)
        assert (done.records, done.failed) == (3, {})


def test_an_output_that_is_no_folder_is_one_clear_error(place, tmp_path):
    (tmp_path / "notes").touch()
    with pytest.raises(InputError, match=r"notes: can't be listed: Not a directory\. Give a folder"):
        run(place, tmp_path / "notes")
