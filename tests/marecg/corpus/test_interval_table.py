"""Intervals of a corpus: measured once, kept with it, and what cohorts are asked by."""

import shutil
from multiprocessing import active_children

import pytest

from ecg_records.measurements.intervals import measure
from ecg_records.signal.leads import LEADS
from marecg.corpus import intervals as module
from marecg.corpus.cohort import cohort
from marecg.corpus.intervals import INTERVALS, intervals
from marecg.corpus.prepared import Corpus
from marecg.corpus.workers import workers


@pytest.fixture
def corpus(corpus_folder, tmp_path) -> Corpus:
    shutil.copytree(corpus_folder, tmp_path / "corpus")
    return Corpus.open(tmp_path / "corpus")


@pytest.mark.usefixtures("forked_workers")
def test_they_are_what_a_record_measures_and_are_measured_once(corpus, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_RECORDS", 4)
    with workers(records=0, jobs=2, cluster=None):
        table = intervals(corpus)
    assert tuple(table.column_names) == INTERVALS
    assert len(table) == len(corpus) == 10
    for row in (0, 3, 4, 9):  # first and last of blocks
        found = measure(corpus.signals([row])[0][:, : corpus.n_valid[row]], 500, LEADS)
        assert table["qrs"][row].as_py() == found.qrs
        assert table["qtc"][row].as_py() == found.qtc()
    shutil.rmtree(corpus.folder / "shards")  # what is known needs no signal
    assert intervals(corpus).equals(table)


def test_a_few_records_are_measured_without_further_processes(corpus):
    before = set(active_children())
    assert len(intervals(corpus)) == 10
    assert set(active_children()) == before


def test_cohorts_are_asked_by_them_and_what_is_not_measured_is_neither(corpus):
    qrs = intervals(corpus)["qrs"].to_pylist()
    middle = sorted(value for value in qrs if value is not None)[len(qrs) // 2]
    wide = [row for row, value in enumerate(qrs) if value is not None and value >= middle]
    narrow = [row for row, value in enumerate(qrs) if value is not None and value < middle]
    assert cohort(corpus, f"qrs >= {middle}")["row"].to_pylist() == wide
    assert cohort(corpus, f"not qrs >= {middle}")["row"].to_pylist() == narrow
    assert wide
