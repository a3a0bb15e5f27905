"""`marecg prepare`: every record is accounted for, and the same records give the same bytes."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.made_records import make_record
from tests.marecg.corpus.prepared_folders import SMALL, digest

from marecg.corpus import prepare as module
from marecg.corpus.account import Account
from marecg.corpus.prepare import prepare
from marecg.corpus.statistics import statistics
from marecg.errors import CorpusError


def test_every_record_is_kept_or_quarantined_with_its_reason(source, tmp_path):
    report = prepare([source], tmp_path / "out", jobs=1)
    assert (report.found, report.kept) == (8, 5)
    assert report.quarantined == {"flat-lead": 1, "gain": 1, "no-signal-file": 1}
    assert report.sources["ptb"] == Account(found=2, kept=2, quarantined={})
    flat = {"source": "georgia", "root": "records", "path": "georgia/E00003.hea", "reason": "flat-lead"}
    assert report.records[0].model_dump(exclude={"message"}) == flat
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == report.as_json()


def test_the_index_says_what_each_record_was_and_is(source, tmp_path):
    prepare([source], tmp_path / "out", SMALL, jobs=1)
    rows = pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["E00000", "E00001", "E00002", "S0001", "S0002"]
    assert [(row["shard"], row["row"]) for row in rows] == [(0, 0), (0, 1), (1, 0), (3, 0), (3, 1)]
    at_1000, short = rows[3], rows[4]
    assert (at_1000["fs"], at_1000["length"], at_1000["n_valid"]) == (1000, 12000, 4700)
    assert (short["length"], short["n_valid"]) == (3000, 3000)
    assert (short["codes"], short["leaves"], short["primary"]) == (["54329005"], [19, 25], 25)
    assert short["notes"] == ["code 54329005 given twice"]
    np.testing.assert_allclose(at_1000["rpeaks"], np.arange(200, 4700, 400), atol=2)


def test_shards_hold_microvolts_and_zeros_behind_the_end(source, tmp_path):
    prepare([source], tmp_path / "out", SMALL, jobs=1)
    shard = np.load(tmp_path / "out" / "shards" / "00003.npy", mmap_mode="r")
    assert (shard.dtype, shard.shape) == (np.int16, (2, 12, 4700))
    assert 950 < shard[1, 0, :3000].max() < 1050
    assert not shard[1, :, 3000:].any()


def test_a_shard_is_the_file_that_numpy_would_save(source, tmp_path):
    prepare([source], tmp_path / "corpus", jobs=1)
    (shard,) = (tmp_path / "corpus" / "shards").iterdir()
    np.save(tmp_path / "again.npy", np.load(shard))
    assert shard.read_bytes() == (tmp_path / "again.npy").read_bytes()


@pytest.mark.usefixtures("forked_workers")
def test_run_twice_it_writes_the_same_bytes_and_the_number_of_processes_does_not_matter(source, tmp_path):
    for out, jobs in (("one", 1), ("two", 2), ("one", 1)):
        prepare([source], tmp_path / out, SMALL, jobs=jobs)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


@pytest.mark.parametrize("records", [1, 2, 3])
def test_how_many_records_a_task_has_does_not_matter(source, tmp_path, monkeypatch, records):
    prepare([source], tmp_path / "one", jobs=1)
    monkeypatch.setattr(module, "TASK_RECORDS", records)
    prepare([source], tmp_path / "two", jobs=1)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_the_order_of_the_sources_and_where_they_are_mounted_do_not_matter(source, tmp_path):
    parts = [source / "ptb", source / "georgia"]
    prepare(parts, tmp_path / "one", jobs=1)
    prepare([*parts[::-1], source / "ptb"], tmp_path / "two", jobs=1)
    moved = tmp_path / "elsewhere" / "records"
    shutil.copytree(source, moved)
    prepare([moved / "georgia", moved / "ptb"], tmp_path / "three", jobs=1)
    assert digest(tmp_path / "one") == digest(tmp_path / "two") == digest(tmp_path / "three")


def test_a_source_that_is_missing_or_empty_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"no WFDB header \(.hea\)"):
        prepare([tmp_path / "empty"], tmp_path / "out", jobs=1)
    with pytest.raises(CorpusError, match="doesn't exist"):
        prepare([tmp_path / "missing"], tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


def test_a_corpus_of_which_nothing_could_be_kept_still_gives_its_account_and_tables(tmp_path):
    make_record(tmp_path / "in", scale="0/mV")
    report = prepare([tmp_path / "in"], tmp_path / "out", jobs=1)
    assert (report.found, report.kept, report.quarantined) == (1, 0, {"gain": 1})
    assert statistics(tmp_path / "out").kept == 0


def test_bit_identical_signals_under_two_names_are_reported(tmp_path):
    for name, gain, seed in (("A0101", 1000, 0), ("Q0048", 2000, 0), ("A0102", 1000, 1)):
        x_CL = np.round(np.random.default_rng(seed).normal(0, 0.3, (12, 5000)), 3)
        make_record(tmp_path / "in", name, x_CL, gain=gain, scale=f"{gain}/mV")
    report = prepare([tmp_path / "in"], tmp_path / "out", jobs=1)
    assert report.duplicates == (("in/A0101.hea", "in/Q0048.hea"),)


def test_ptbxl_and_challenge_folders_may_be_mixed_below_one_source(tmp_path, source):
    release = source / "downloads" / "ptb-xl"
    make_record(release / "records500", "00007_hr")
    (release / "ptbxl_database.csv").write_text(
        "ecg_id,patient_id,age,sex,scp_codes,strat_fold,filename_hr\n"
        "7,1.0,50.0,1,{'NORM': 80.0},3,records500/00007_hr\n"
    )
    report = prepare([source], tmp_path / "out", jobs=1)
    counts = {name: account.found for name, account in report.sources.items()}
    assert counts == {"georgia": 6, "ptb": 2, "ptbxl": 1}


def test_nobody_but_owner_and_group_may_read_who_is_in_a_corpus(source, tmp_path):
    prepare([source], tmp_path / "out", jobs=1)
    assert not (tmp_path / "out" / "index.parquet").stat().st_mode & 0o007
