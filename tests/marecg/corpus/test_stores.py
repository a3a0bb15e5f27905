"""A store is read and written as a folder of this machine is: fsspec's own in memory, and S3 where s3fs is.

The S3 test asks a server of moto in this process.
"""

import json
import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import fsspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tests.cli.calls import run
from tests.ecg_records import clinical_files as files
from tests.made_records import make_ecg, make_record

from ecg_base import InputError, OutputError, UsageError
from ecg_records import read
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.storage.copies import cache, ensure_local
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.embedding.embed_records import embed_records
from marecg.model.mar_ecg import MarEcg

pytest.importorskip("pydicom")
LAYOUT = Layout(fs=500)
ROWS = 2
KEPT = len(files.FILES) + 2 + ROWS
"""Files of clinics, records of WFDB that are whole, and rows of an array."""


@pytest.fixture(scope="module")
def s3():
    """A bucket of a server on this machine."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        fsspec.filesystem("s3").mkdir("bucket")
        yield "s3://bucket"
        server.stop()


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.nightly)])
def bucket(request, tmp_path, monkeypatch) -> str:
    """The address of an empty place."""
    monkeypatch.setenv("ECG_RECORDS_CACHE", str(tmp_path / "cache"))
    return f"{request.getfixturevalue('s3') if request.param == 's3' else 'memory://bucket'}/{tmp_path.name}"


@pytest.fixture
def archive(tmp_path) -> Path:
    """Records of several formats, on this machine."""
    folder = tmp_path / "archive"
    for name, write in files.FILES.items():
        (folder / name[0]).mkdir(parents=True)
        write(folder / name[0] / name, make_ecg(seed=len(name)) + 0.2)
    for number in range(3):
        make_record(folder / "georgia", f"E{number}", make_ecg(seed=number))
    (folder / "georgia" / "E2.mat").unlink()
    np.save(folder / "arrays.npy", np.stack([make_ecg(seed=20 + row) for row in range(ROWS)]))
    return folder


def put(folder: Path, where: str):
    """Send a folder to an address, without this project; returns the store."""
    store, root = fsspec.url_to_fs(where)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            store.pipe_file(f"{root}/{path.relative_to(folder)}", path.read_bytes())
    return store


def test_a_store_gives_the_corpus_and_embeddings_of_its_files(bucket, archive, tmp_path, micro, capsys):
    store = put(archive, f"{bucket}/archive")
    local = prepare([archive], tmp_path / "corpus", jobs=1, layout=LAYOUT)
    report = prepare([f"{bucket}/archive"], f"{bucket}/corpus", jobs=1, layout=LAYOUT)
    assert report == local
    assert (report.kept, report.quarantined) == (KEPT, {"no-signal-file": 1})
    root = fsspec.url_to_fs(bucket)[1]
    for path in (each for each in (tmp_path / "corpus").rglob("*.*") if each.name != "corpus.json"):
        assert store.cat_file(f"{root}/corpus/{path.relative_to(tmp_path / 'corpus')}") == path.read_bytes()

    shutil.rmtree(cache())  # as on another machine
    assert prepare([f"{bucket}/archive"], f"{bucket}/corpus", jobs=1, layout=LAYOUT) == local
    corpus = Corpus.open(f"{bucket}/corpus")
    assert np.array_equal(corpus.signals([0, 7]), Corpus.open(tmp_path / "corpus").signals([0, 7]))

    MarEcg(micro.model).save_pretrained(tmp_path / "model")
    put(tmp_path / "model", f"{bucket}/run/model")
    embed_records(tmp_path / "model", [archive], tmp_path / "parts", layout=LAYOUT)
    embed_records(f"{bucket}/run", [f"{bucket}/archive"], f"{bucket}/parts", layout=LAYOUT)
    with store.open(f"{root}/parts/part-00000.parquet") as file:
        assert pq.read_table(file).equals(pq.read_table(tmp_path / "parts" / "part-00000.parquet"))

    assert run("audit", f"{bucket}/corpus", "--verify", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["damaged"] == []
    assert run("cohort", f"{bucket}/corpus", "--where", "NSR", "--format", "json") == 0
    assert {row["id"] for row in json.loads(capsys.readouterr().out)} == {"E0", "E1"}
    assert run("embed", f"{bucket}/run", f"{bucket}/archive/georgia/E0", "--out", tmp_path / "e.npz") == 0
    assert np.load(tmp_path / "e.npz")["id"].tolist() == ["E0"]


def test_one_record_is_read_by_its_header_its_name_or_its_file(bucket, archive):
    put(archive, f"{bucket}/archive")
    for name in ("georgia/E1.hea", "georgia/E1", "georgia/E1.mat", "d/d.dcm"):
        assert read(f"{bucket}/archive/{name}").length == 5000, name
    with pytest.raises(InputError, match=f"{bucket}/nothing: doesn't exist"):
        read(f"{bucket}/nothing")


def test_what_changes_in_a_store_changes_here(bucket, tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("kept.csv", "gone.csv", "new.csv"):
        (tmp_path / "a" / name).write_text("old")
    store = put(tmp_path / "a", f"{bucket}/a")
    copy = ensure_local(f"{bucket}/a")
    before = (copy / "kept.csv").stat()
    root = fsspec.url_to_fs(f"{bucket}/a")[1]
    store.rm_file(f"{root}/gone.csv")
    store.pipe_file(f"{root}/new.csv", b"newer")
    assert ensure_local(f"{bucket}/a") == copy
    assert {path.name: path.read_text() for path in copy.iterdir()} == {"kept.csv": "old", "new.csv": "newer"}
    assert (copy / "kept.csv").stat().st_ino == before.st_ino, "it is not copied again"


def refusing(monkeypatch, method: str, error: Exception, *, after: int = 0) -> None:
    """Let a method of the store fail after some calls."""
    original, calls = getattr(MemoryFileSystem, method), []

    def fail(self, *args, **options):
        calls.append(args)
        if len(calls) > after:
            raise error
        return original(self, *args, **options)

    monkeypatch.setattr(MemoryFileSystem, method, fail)


def test_an_interrupted_upload_says_so_and_the_same_command_ends_it(memory, corpus_folder, monkeypatch):
    source = corpus_folder.parent / "wfdb"
    with monkeypatch.context() as patch:
        refusing(patch, "put_file", ConnectionError("reset"), after=1)
        with pytest.raises(OutputError, match=r"can't be reached \(reset\).*the same command uploads them"):
            prepare([source], f"{memory}/corpus", jobs=1)
    store, root = fsspec.url_to_fs(f"{memory}/corpus")
    assert not store.exists(f"{root}/corpus.json")
    prepare([source], f"{memory}/corpus", jobs=1)
    assert len(Corpus.open(f"{memory}/corpus")) == 10
    (ensure_local(f"{memory}/corpus") / "kept-by-training.bin").write_bytes(b"1")
    prepare([source], f"{memory}/corpus", jobs=1)
    assert not store.exists(f"{root}/kept-by-training.bin")
    assert (ensure_local(f"{memory}/corpus") / "kept-by-training.bin").exists()
    with pytest.raises(InputError, match="already has a corpus with other settings"):
        prepare([source], f"{memory}/corpus", CorpusConfig(zero_limit=0.5), jobs=1)


def test_other_things_at_the_address_are_not_touched(memory, corpus_folder):
    store, root = fsspec.url_to_fs(f"{memory}/thesis")
    store.pipe_file(f"{root}/chapter.tex", b"1")
    with pytest.raises(UsageError, match=r"thesis: is not empty \(chapter.tex\) and has no corpus.json"):
        prepare([corpus_folder.parent / "wfdb"], f"{memory}/thesis", jobs=1)
    assert store.find(root) == [f"{root}/chapter.tex"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError("Forbidden"), r"access is denied \(Forbidden\). Check the credentials"),
        (type("NoCredentialsError", (Exception,), {})("Unable to locate"), "access is denied"),
        (OSError(28, "No space left on device"), "the disk is too full for a copy.*ECG_RECORDS_CACHE"),
        (ConnectionError("reset"), "can't be reached"),
    ],
)
def test_a_store_that_refuses_quarantines_nothing(memory, archive, tmp_path, monkeypatch, error, words):
    put(archive, f"{memory}/archive")
    refusing(monkeypatch, "get_file", error, after=3)
    with pytest.raises(InputError, match=words):
        prepare([f"{memory}/archive"], tmp_path / "out", jobs=1)
    assert not (tmp_path / "out" / "corpus.json").exists()
    monkeypatch.undo()
    monkeypatch.setenv("ECG_RECORDS_CACHE", str(tmp_path / "cache"))
    assert prepare([f"{memory}/archive"], tmp_path / "out", jobs=1).kept == KEPT - ROWS


def test_who_has_no_home_reads_what_is_here(monkeypatch, archive):
    """As a container's user may."""
    for name in ("ECG_RECORDS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        Path, "expanduser", Mock(side_effect=RuntimeError("Could not determine home directory."))
    )
    assert read(archive / "georgia" / "E1").length == 5000
    assert cache().name == f"ecg-records-{os.getuid()}"
