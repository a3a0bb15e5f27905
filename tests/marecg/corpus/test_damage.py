"""Damage of a corpus on disk is found when it is opened, verified or trained on."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.made_records import make_ecg, make_record

from marecg.corpus import index
from marecg.corpus.audit import damaged_records, refuse_damaged
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError
from marecg.recipes import Config
from marecg.train.run import train


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of four records in two shards."""
    folder = tmp_path_factory.mktemp("damage")
    for number, code in enumerate(("164889003", "426783006", "59118001", "164909002")):
        name = f"E{number:05d}"
        make_record(folder / "records" / "georgia", name, make_ecg(seed=number), comments=[f"Dx: {code}"])
    prepare([folder / "records"], folder / "corpus", CorpusConfig(shard=2), jobs=1)
    return folder / "corpus"


@pytest.fixture
def corpus(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "corpus"))


def rewritten(folder: Path, change: Callable[[list[dict]], object], *, hashed: bool) -> None:
    """Change rows of the index; its hash as well, or as in a corpus of an older version, none."""
    rows = index.of(folder).to_pylist()
    change(rows)
    index.write(index.table(rows), folder / index.FILE)
    about = json.loads((folder / "corpus.json").read_text())
    if not hashed:
        del about["index_sha256"]
    (folder / "corpus.json").write_text(json.dumps(about))


def reverse_leaves(rows: list[dict]) -> None:
    for key in ("leaves", "primary"):
        for row, value in zip(rows, [row[key] for row in rows][::-1], strict=True):
            row[key] = value


def swap(folder: Path) -> None:
    one, other = (folder / "shards" / f"0000{number}.npy" for number in range(2))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def zero(folder: Path) -> None:
    path = folder / "shards" / "00001.npy"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + bytes(len(content) - len(content) // 2))


def flip(folder: Path) -> None:
    path = folder / "shards" / "00000.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [swap, zero, flip])
def test_damaged_signals_are_found_by_verifying_and_before_training(corpus, tmp_path, micro: Config, damage):
    refuse_damaged(Corpus.open(corpus))
    assert damaged_records(corpus) == []
    damage(corpus)
    assert damaged_records(corpus)
    with pytest.raises(CorpusError, match=r"corpus: is damaged \([124] signals, such as .*E0000\d"):
        train(micro, corpus, tmp_path / "run")


def test_signals_are_checked_again_only_if_a_file_has_another_size_or_time(corpus):
    refuse_damaged(Corpus.open(corpus))
    path = corpus / "shards" / "00000.npy"
    before = path.stat()
    flip(corpus)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    refuse_damaged(Corpus.open(corpus))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(CorpusError, match="is damaged"):
        refuse_damaged(Corpus.open(corpus))


def test_an_index_with_another_hash_is_damaged_and_one_without_is_of_an_older_version(corpus, whole):
    rewritten(corpus, reverse_leaves, hashed=True)
    with pytest.raises(CorpusError, match=r"index\.parquet: is damaged .*SHA-256"):
        Corpus.open(corpus)
    (corpus / index.FILE).write_bytes(b"PAR1")  # the hash is compared first: PyArrow aborts for some bytes
    with pytest.raises(CorpusError, match=r"index\.parquet: is damaged .*SHA-256"):
        Corpus.open(corpus)
    shutil.copy(whole / index.FILE, corpus)
    rewritten(corpus, lambda rows: None, hashed=False)
    assert Corpus.open(corpus).ids == Corpus.open(whole).ids


def test_labels_that_are_not_of_the_codes_are_found_by_verifying(corpus):
    rewritten(corpus, reverse_leaves, hashed=False)
    assert len(damaged_records(corpus)) == 4


def test_two_rows_of_one_signal_are_refused(corpus):
    rewritten(corpus, lambda rows: rows[1].update(row=0), hashed=False)
    with pytest.raises(CorpusError, match="the index and the shards don't agree"):
        Corpus.open(corpus)


@pytest.mark.nightly
def test_no_flipped_bit_of_an_index_goes_unnoticed(corpus):
    content = (corpus / index.FILE).read_bytes()
    for place in np.random.default_rng(0).integers(0, 8 * len(content), 150).tolist():
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        (corpus / index.FILE).write_bytes(flipped)
        with pytest.raises(CorpusError):
            Corpus.open(corpus)


def test_pages_of_an_index_have_checksums(corpus):
    rewritten(corpus, lambda rows: None, hashed=False)
    content = bytearray((corpus / index.FILE).read_bytes())
    group = pq.ParquetFile(corpus / index.FILE).metadata.row_group(0)
    hashes = next(group.column(n) for n in range(group.num_columns) if group.column(n).path_in_schema == "id")
    content[hashes.data_page_offset + hashes.total_compressed_size // 2] ^= 1
    (corpus / index.FILE).write_bytes(content)
    with pytest.raises(CorpusError, match="can't be read"):
        index.of(corpus, ["id"])
