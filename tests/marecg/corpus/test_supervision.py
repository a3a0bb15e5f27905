"""The supervision of a corpus: computed once, kept beside it, the same to the bit however it is fetched."""

import errno
import logging
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.made_records import make_ecg, make_record

import ecg_ontology
from ecg_records.storage.lock import locked
from ecg_synth import write_corpus
from marecg.corpus import supervision
from marecg.corpus.columns import BeatColumn
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.corpus.supervision import CorpusSupervision
from marecg.errors import CorpusError
from marecg.model.batch import SoftTargets
from marecg.model.config import ModelConfig
from marecg.model.physiology import RhythmThresholds, physiology

ONTOLOGY = ecg_ontology.load()
FAMILY_CODE = "164865005"
"""Myocardial infarction, which reaches the root of ischaemia and no leaf."""
MODEL = ModelConfig(width=16, depth=1, heads=1, concept_width=8)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("supervision")
    write_corpus(folder / "wfdb", 8, 3)
    prepare([folder / "wfdb"], folder / "corpus", jobs=1)
    return folder / "corpus"


@pytest.fixture
def corpus(prepared, tmp_path) -> Corpus:
    return Corpus.open(shutil.copytree(prepared, tmp_path / "corpus"))


@pytest.fixture
def coarse(tmp_path) -> Corpus:
    """Five records: a leaf, two leaves, a family's code alone, a family beside a leaf, no code."""
    codes = ("164889003", "164889003,54329005", FAMILY_CODE, f"{FAMILY_CODE},426783006", "")
    for number, code in enumerate(codes):
        make_record(
            tmp_path / "wfdb",
            f"E{number:05}",
            make_ecg(seed=number),
            comments=[f"Dx: {code}"] if code else [],
        )
    prepare([tmp_path / "wfdb"], tmp_path / "coarse", jobs=1)
    return Corpus.open(tmp_path / "coarse")


def test_a_record_of_a_familys_code_alone_has_its_root_and_no_leaf_nor_target(coarse):
    whole = made(coarse).whole()
    order = np.argsort(coarse.ids)
    roots = [whole.root_BN[row].nonzero()[:, 0].tolist() for row in order]
    family = [node for node in ONTOLOGY.route(FAMILY_CODE).nodes if node in ONTOLOGY.roots]
    rhythm, ischemic, normal = (
        ONTOLOGY.families[ONTOLOGY.node(each).index] for each in ("AF", "AntMI", "NSR")
    )
    assert roots == [[rhythm], sorted([rhythm, ischemic]), family, [normal], []]
    assert not whole.y_BN[order[2]].any()
    assert not whole.target_BN[order[2]].any()


def test_families_of_codes_that_are_not_read_supervise_nothing(coarse):
    source = next(iter(coarse.sources.counts()))
    assert not made(coarse, without_codes=(source,)).whole().root_BN.any()


def made(corpus: Corpus, **how: object) -> CorpusSupervision:
    return CorpusSupervision(corpus, ONTOLOGY, MODEL, **how)


def same(one: CorpusSupervision, two: CorpusSupervision) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.whole(), two.whole(), strict=True))


def written(corpus: Corpus) -> dict[str, int]:
    """When each of the corpus's computed files was written."""
    return {path.name: path.stat().st_mtime_ns for path in (corpus.folder / "supervision").iterdir()}


def test_each_record_has_what_its_beats_and_leaves_say(corpus):
    whole = made(corpus, soft=SoftTargets(sigma=0.5)).whole()
    rhythm = physiology(list(corpus.rpeaks), MODEL, RhythmThresholds())
    np.testing.assert_array_equal(whole.y_BN, corpus.y.astype(bool))
    targets = ONTOLOGY.soft_targets(corpus.y, sigma=0.5)
    np.testing.assert_array_equal(whole.target_BN, targets.astype(np.float32))
    for name in ("mean_rr", "rr_cv", "rate", "alternates"):
        np.testing.assert_array_equal(getattr(whole, f"{name}_B"), getattr(rhythm, f"{name}_M"))
    np.testing.assert_array_equal(whole.phase_BT, rhythm.phase_MT)
    for row, peaks in enumerate(corpus.rpeaks):
        assert whole.rpeaks_BK[row, : len(peaks)].tolist() == peaks.tolist()
        assert (whole.rpeaks_BK[row, len(peaks) :] == -1).all()


@pytest.mark.parametrize("standardised", [False, True])
def test_a_batch_is_those_rows_of_the_whole_to_the_bit(corpus, standardised):
    supervision = made(corpus, standardised=standardised)
    whole = supervision.whole()
    for rows in ([5], [2, 2, 0], [7, 1, 3, 0, 6]):
        for value, expected in zip(supervision.rows(torch.tensor(rows)), whole, strict=True):
            assert torch.equal(value, expected[rows])
            assert value.dtype == expected.dtype


def test_it_is_computed_once_for_each_choice_of_patches_and_thresholds(corpus):
    one = made(corpus)
    first = written(corpus)
    assert same(made(Corpus.open(corpus.folder)), one)
    assert written(corpus) == first
    other = made(corpus, limits=RhythmThresholds(brady_bpm=90))
    assert not same(other, one)
    for name, value in {"fs": 250, "patch": 100, "stride": 50, "context": 3000}.items():
        before = written(corpus)
        CorpusSupervision(corpus, ONTOLOGY, MODEL.model_copy(update={name: value}))
        assert written(corpus).items() > before.items(), name


def test_how_many_records_are_computed_at_a_time_does_not_matter(corpus, monkeypatch):
    one = made(corpus).whole()
    shutil.rmtree(corpus.folder / "supervision")
    monkeypatch.setattr(supervision, "BLOCK_ROWS", 3)
    assert all(torch.equal(a, b) for a, b in zip(one, made(corpus).whole(), strict=True))


def test_what_was_computed_of_another_corpus_is_not_taken_for_this_one_s(corpus, tmp_path):
    made(corpus)
    write_corpus(tmp_path / "others", 8, 4)
    prepare([tmp_path / "others"], tmp_path / "other", jobs=1)
    other = Corpus.open(tmp_path / "other")
    expected = made(other).whole()
    shutil.rmtree(other.folder / "supervision")
    shutil.copytree(corpus.folder / "supervision", other.folder / "supervision")
    assert torch.equal(made(other).whole().mean_rr_B, expected.mean_rr_B)


def test_one_process_computes_it_and_another_waits(corpus):
    other = threading.Thread(target=made, args=(corpus,))
    with locked(corpus.folder):
        other.start()
        other.join(0.5)
        assert other.is_alive()
        assert not (corpus.folder / "supervision").exists()
    other.join()
    assert len(list((corpus.folder / "supervision").iterdir())) == 2


def test_phases_that_are_cut_short_while_they_are_fetched_are_one_line(corpus):
    supervision = made(corpus)
    (phase,) = corpus.folder.glob("supervision/*-phase.npy")
    os.truncate(phase, phase.stat().st_size - 1)
    with pytest.raises(CorpusError, match=f"{phase.name}: was truncated after it was opened"):
        supervision.rows(torch.tensor([0]))
    assert same(made(corpus), made(corpus))


@pytest.mark.parametrize("which", ["????????????????.npy", "*-phase.npy"])
def test_a_pipe_in_the_place_of_what_was_kept_is_named_and_not_waited_for(corpus, which):
    made(corpus)
    (file,) = corpus.folder.glob(f"supervision/{which}")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(CorpusError, match=f"{file.name}: isn't a file. Remove it"):
        made(corpus)


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY and no more", None])
@pytest.mark.parametrize("which", ["phase", "rhythm"])
def test_what_is_damaged_or_of_another_corpus_is_computed_again(corpus, which, damage):
    one = made(corpus)
    (phase,) = corpus.folder.glob("supervision/*-phase.npy")
    file = phase if which == "phase" else phase.with_name(phase.name.replace("-phase", ""))
    whole = np.load(file)
    file.unlink()  # `one` goes on with the old one
    if damage is None:
        np.save(file, whole[:-1])
    else:
        file.write_bytes(damage)
    damaged = written(corpus)
    assert same(made(corpus), one)
    mended = written(corpus)
    assert mended[file.name] != damaged[file.name]
    assert same(made(corpus), one)
    assert written(corpus) == mended


def test_where_the_corpus_can_not_be_written_it_is_computed_in_memory(corpus, caplog):
    (corpus.folder / "supervision").touch()  # a file has the folder's name
    with caplog.at_level(logging.INFO, logger="marecg"):
        in_memory = made(corpus)
    assert "rhythm and phases can't be stored" in caplog.text
    (corpus.folder / "supervision").unlink()
    assert same(in_memory, made(corpus))


def test_on_a_full_disk_it_is_computed_in_memory(corpus, monkeypatch, caplog):
    """A map of a file that got no room would end the process."""

    def full(handle, first, size):
        assert size > first == 0
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with caplog.at_level(logging.INFO, logger="marecg"):
        made(corpus)
    assert "cannot be written (No space left on device)" in caplog.text
    assert "rhythm and phases can't be stored" in caplog.text
    assert not list((corpus.folder / "supervision").iterdir())


def test_a_corpus_without_any_beat_is_supervised_too(corpus):
    mute = replace(corpus, rpeaks=BeatColumn(pa.array([[]] * len(corpus), pa.list_(pa.int32()))))
    whole = made(mute, standardised=True).whole()
    assert whole.rpeaks_BK.shape == (8, 0)
    assert not whole.known_B.any()
