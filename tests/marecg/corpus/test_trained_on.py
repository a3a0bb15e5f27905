"""What a run keeps of its corpus, and which evaluation records a corpus holds."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.made_records import make_ecg, make_record

from ecg_records.readers.identity import published_as
from marecg.corpus import index, trained_on
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.corpus.trained_on import evaluation_records
from marecg.errors import InputError


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    """Records as the Challenges ship them: two of PTB-XL, one of CPSC2018, one of Georgia, one of nobody."""
    folder = tmp_path_factory.mktemp("corpus")
    for place in ("ptb-xl/HR00007", "ptb-xl/HR00008", "cpsc_2018/A0001", "georgia/E00001", "mine/A0002"):
        make_record(folder / "cinc" / Path(place).parent, Path(place).name)
    prepare([folder / "cinc"], folder / "prepared", jobs=1)
    return Corpus.open(folder / "prepared")


def test_what_is_kept_is_what_the_corpus_holds(corpus, tmp_path):
    trained_on.write(corpus, tmp_path)
    trained = trained_on.read(tmp_path)
    assert trained.identities == {"ptbxl/00007", "ptbxl/00008", "cpsc2018/A0001", "georgia/E00001"}
    assert trained.hashes == set(index.of(corpus.folder)["signal_hash"].to_pylist())
    assert (trained.patients, trained.windows, trained.fs) == (frozenset(), {4700}, 500)


def test_a_folder_that_says_nothing_and_one_that_is_damaged_are_told_apart(tmp_path):
    assert trained_on.read(tmp_path) is None
    (tmp_path / trained_on.FILE).write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"trained_on\.parquet"):
        trained_on.read(tmp_path)


def test_the_records_of_evaluation_datasets_are_counted(corpus):
    assert evaluation_records(corpus) == {"PTB-XL": 2, "CPSC2018": 1}


@pytest.mark.parametrize(("folds", "count"), [((), 5), ((1, 2, 8), 2), ((8, 9), 5)])
def test_ptbxl_prepared_from_its_training_folds_is_no_evaluation_set(corpus, folds, count):
    """Three records of the release itself, and two copies that don't say their fold."""
    ids, sources = ["00001", "00002", "00003", "HR00007", "HR00008"], ["ptbxl"] * 3 + ["ptb-xl"] * 2
    mixed = replace(corpus, config=CorpusConfig(ptbxl_folds=folds), ids=ids, sources=sources)
    assert evaluation_records(mixed) == {"PTB-XL": count}


def test_a_record_of_no_published_collection_has_no_name_that_means_anything():
    assert published_as("A0001", "mine") is None
    assert published_as("A0001", "cpsc_2018") == published_as("A0001", "cpsc2018")


def test_the_hash_of_a_corpus_signals_tells_other_signals_from_the_same(tmp_path):
    hashes = []
    for name, seed in (("one", 0), ("again", 0), ("other", 1)):
        make_record(tmp_path / name, x_CL=make_ecg(seed=seed))
        prepare([tmp_path / name], tmp_path / "prepared" / name, jobs=1)
        hashes.append(trained_on.signals_sha256(Corpus.open(tmp_path / "prepared" / name)))
    assert hashes[0] == hashes[1] != hashes[2]
