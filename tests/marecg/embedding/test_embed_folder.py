"""Embedding into a folder of parts: whatever happens on the way, the bytes are those of one quiet process."""

import errno
import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import fsspec
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from tests.marecg.corpus.test_killers import OutOfMemory
from tests.marecg.embedding.conftest import run, same_files
from tests.marecg.told import Told

from ecg_records.readers.discovery import EMBEDDINGS
from ecg_records.readers.inputs import find_inputs
from ecg_records.record import Candidate
from marecg.corpus.prepared import Corpus
from marecg.embedding import inputs, processes
from marecg.embedding.embed import embed
from marecg.embedding.embedding_store import METADATA_KEY
from marecg.errors import CorpusError, SourceGoneError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256


def test_parts_hold_each_record_with_what_is_known_of_it(place):
    names = sorted(path.name for path in (place / "quiet").iterdir())
    assert names == [EMBEDDINGS, *(f"part-{number:05d}.parquet" for number in range(4))]
    rows = pq.read_table(place / "quiet").to_pylist()
    model = MarEcg.from_pretrained(place / "model")
    corpus = Corpus.open(place / "corpus")
    assert [row["record"] for row in rows] == corpus.ids
    assert [row["id"] for row in rows] == [f"wfdb/{record}" for record in corpus.ids]
    assert {row["source"] for row in rows} == set(corpus.sources)
    assert {row["weights_sha256"] for row in rows} == {weights_sha256(model)}
    assert {row["ontology_sha256"] for row in rows} == {corpus.ontology_sha256}
    assert all(row["codes"] for row in rows)
    assert len(json.loads(pq.read_metadata(place / "quiet" / names[2]).metadata[b"marecg"])["failed"]) == 1


def test_a_prepared_corpus_gives_what_embed_gives_of_its_windows(place, tmp_path):
    done = run(place, tmp_path / "out", "corpus", readout="wide", patches=True)
    assert (done.records, done.failed) == (9, {})
    rows = pq.read_table(tmp_path / "out").to_pylist()
    corpus = Corpus.open(place / "corpus")
    for number, row in enumerate(rows):
        x_1CL = corpus.signals([number])[..., : corpus.n_valid[number]]
        alone = embed(place / "model", x_1CL, fs=500, readout="wide")
        for column in ("rhythm", "wide", "patch"):
            np.testing.assert_allclose(row[column], getattr(alone, column)[0], atol=1e-5)
    assert [row["id"] for row in rows] == pq.read_table(place / "quiet")["id"].to_pylist()


def test_the_same_command_goes_on_with_the_parts_that_are_missing(place, tmp_path):
    shutil.copytree(place / "quiet", tmp_path / "out")
    for number in (1, 3):
        (tmp_path / f"out/part-0000{number}.parquet").unlink()
    progress = Told()
    done = run(place, tmp_path / "out", progress=progress)
    assert (done.records, len(done.failed)) == (9, 1)
    assert (progress.counts[0], progress.counts[-1]) == ((6, 10), (10, 10))
    same_files(tmp_path / "out", place / "quiet")


def test_what_was_finished_is_kept_and_what_was_not_is_made_again(place, tmp_path):
    out = tmp_path / "out"
    run(place, out)
    gone, cut, flipped = (out / f"part-0000{number}.parquet" for number in (1, 2, 3))
    gone.unlink()
    (out / ".part-00001-0123abcd.unfinished").mkdir()
    (out / ".part-00001-0123abcd.unfinished/part-00001.parquet").write_bytes(b"killed while it wrote")
    os.utime(out / ".part-00001-0123abcd.unfinished", (0, 0))
    os.truncate(cut, cut.stat().st_size // 2)
    content = bytearray(flipped.read_bytes())
    content[60] ^= 1
    flipped.write_bytes(content)
    kept = (out / "part-00000.parquet").stat().st_mtime_ns
    done = run(place, out)
    assert (out / "part-00000.parquet").stat().st_mtime_ns == kept
    assert (done.records, len(done.failed)) == (9, 1)
    same_files(out, place / "quiet")


def test_nobody_but_owner_and_group_may_read_the_vectors_of_patients(place):
    assert {path.stat().st_mode & 0o007 for path in (place / "quiet").glob("part-*")} == {0}


@pytest.mark.slow
def test_two_processes_write_the_bytes_of_one(place, tmp_path):
    """That begin as a user's do; in `test_embed_files` they are copies of this one."""
    progress = Told()
    run(place, tmp_path / "out", jobs=2, progress=progress)
    assert progress.counts == [(3, 10), (6, 10), (9, 10), (10, 10)]
    same_files(tmp_path / "out", place / "quiet")


def read_by(reader: OutOfMemory, monkeypatch) -> None:
    """Have two records of one part read by it."""

    def find_deadly(*args):
        candidates = find_inputs(*args)
        deadly = [name for name, each in candidates.items() if each.file.stem in {"S00004", "S00006"}]
        return candidates | {name: replace(candidates[name], reader=reader) for name in deadly}

    monkeypatch.setattr(inputs, "find_inputs", find_deadly)


@pytest.mark.usefixtures("forked_workers")
def test_the_error_for_a_killed_worker_names_the_records_that_were_being_read(place, tmp_path, monkeypatch):
    read_by(OutOfMemory(), monkeypatch)
    with pytest.raises(
        CorpusError, match=r"a worker process was killed.*while reading .*S0000[46]\.hea.*fewer"
    ):
        run(place, tmp_path / "out", jobs=2)
    monkeypatch.undo()
    run(place, tmp_path / "out", jobs=1)  # the same command goes on
    same_files(tmp_path / "out", place / "quiet")


def test_the_same_command_may_run_twice_at_once(place, tmp_path):
    """The second run finishes while the first embeds its first part, and tidies up."""
    out, runs = tmp_path / "out", []

    @contextmanager
    def beside(_what):
        def tell(*_):
            if not runs:
                runs.append(1)
                run(place, out)

        yield tell

    assert run(place, out, progress=beside).records == 9
    same_files(out, place / "quiet")


def test_a_part_of_another_program_is_made_again(place, tmp_path):
    out = tmp_path / "out"
    run(place, out)
    part = pq.read_table(out / "part-00001.parquet")
    pq.write_table(part.replace_schema_metadata({METADATA_KEY: b'{"leads": 12}'}), out / "part-00001.parquet")
    run(place, out)
    same_files(out, place / "quiet")


def test_an_address_works_as_a_folder_does(place):
    store = fsspec.filesystem("memory")
    run(place, "memory://bucket/embeddings")
    store.rm("/bucket/embeddings/part-00001.parquet")
    store.pipe_file("/bucket/embeddings/part-00002.parquet", b"no part")
    run(place, "memory://bucket/embeddings")
    quiet = {f"/bucket/embeddings/{path.name}": path.read_bytes() for path in (place / "quiet").iterdir()}
    assert store.cat("/bucket/embeddings/*") == quiet
    with pytest.raises(UsageError, match="already has embeddings with other readout"):
        run(place, "memory://bucket/embeddings", readout="wide")
    with pytest.raises(UsageError, match=r"s4://bucket: isn't an address \(Protocol not known: s4\)"):
        run(place, "s4://bucket")


def test_worker_processes_take_the_gpus_in_turn(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    names = ["MainProcess", *(f"LokyProcess-{number}" for number in range(1, 5))]
    current = (SimpleNamespace(name=name) for name in names)
    monkeypatch.setattr(processes.multiprocessing, "current_process", lambda: next(current))
    assert [processes.device_here().index for _ in names] == [0, 0, 1, 0, 1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # dask's own
@pytest.mark.usefixtures("own_environment")
def test_a_dask_cluster_writes_the_bytes_of_one_process(place, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs dask: pip install distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        run(place, tmp_path / "out", cluster=cluster.scheduler_address)
    same_files(tmp_path / "out", place / "quiet")


def test_records_that_were_unavailable_are_tried_again_by_the_next_start(place, tmp_path, monkeypatch):
    header = sorted((place / "wfdb").rglob("*.hea"))[1]
    opened = Path.open

    def failing(self, *args, **options):
        if self == header:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", failing)
        assert len(run(place, tmp_path / "out", jobs=1).unavailable) == 1
    again = run(place, tmp_path / "out", jobs=1)
    assert (again.records, again.unavailable) == (9, set())
    assert again.failed.keys() == run(place, place / "quiet").failed.keys()
    assert pq.read_table(tmp_path / "out").equals(pq.read_table(place / "quiet"))


def test_a_source_that_vanishes_stops_the_command_and_the_parts_that_are_there_stay(
    place, tmp_path, monkeypatch
):
    shutil.copytree(place / "wfdb", tmp_path / "wfdb")
    read, left = Candidate.read, iter(range(5))

    def vanishing(self, *args, **options):
        if next(left, None) is None and (tmp_path / "wfdb").exists():
            (tmp_path / "wfdb").rename(tmp_path / "away")
        return read(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Candidate, "read", vanishing)
        with pytest.raises(SourceGoneError):
            run(place, tmp_path / "out", tmp_path / "wfdb", jobs=1)
    assert [path.name for path in (tmp_path / "out").glob("part-*")] == ["part-00000.parquet"]
    (tmp_path / "away").rename(tmp_path / "wfdb")
    run(place, tmp_path / "out", tmp_path / "wfdb", jobs=1)
    assert pq.read_table(tmp_path / "out").equals(pq.read_table(place / "quiet"))
