"""What the file system doesn't give at the moment is tried again; a source that is gone stops the command."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest
from tests.marecg.corpus.prepared_folders import SMALL, digest

from ecg_records.readers import wfdb_header
from ecg_records.readers.discovery import find, hash_sources
from marecg.corpus import prepare_record
from marecg.corpus.account import read_report
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import Reason, RecordError, SourceGoneError


@pytest.fixture
def refuse(monkeypatch):
    """Let the file system refuse files by their names, with an error number, as a bad disk does."""

    def refuse(number: int, *names: str) -> None:
        opened = Path.open

        def failing(self, *args, **options):
            if self.name in names:
                raise OSError(number, os.strerror(number), str(self))
            return opened(self, *args, **options)

        monkeypatch.setattr(Path, "open", failing)

    return refuse


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_source_that_vanishes_stops_the_command_and_the_next_start_ends_as_an_unbroken_one(
    source, tmp_path, monkeypatch, jobs, forked_workers
):
    prepare([source], tmp_path / "whole", SMALL, jobs=1)
    away = source.with_name("away")
    read = prepare_record.prepare_record

    def vanishing(record, config):
        if record.id == "E00001" and source.exists():
            source.rename(away)
        return read(record, config)

    with monkeypatch.context() as patch:
        patch.setattr(prepare_record, "prepare_record", vanishing)
        with pytest.raises(SourceGoneError, match=r"records: was removed or unmounted .* to continue"):
            prepare([source], tmp_path / "out", SMALL, jobs=jobs)
    assert not (tmp_path / "out" / "report.json").exists()
    away.rename(source)
    prepare([source], tmp_path / "out", SMALL, jobs=1)
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")


def test_an_empty_mount_point_is_a_source_that_is_gone(source):
    first = find([source])[0]
    shutil.rmtree(source)
    source.mkdir()
    with pytest.raises(SourceGoneError):
        first.read()


def test_a_source_that_vanishes_before_its_records_are_hashed_is_gone_and_not_left_out(source):
    candidates = find([source])
    source.rename(source.with_name("away"))
    with pytest.raises(SourceGoneError):
        hash_sources(candidates)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES, errno.ETIMEDOUT])
def test_records_that_were_unavailable_are_tried_again_and_the_other_shards_stay(
    source, tmp_path, monkeypatch, refuse, caplog, number
):
    prepare([source], tmp_path / "whole", SMALL, jobs=1)
    out = tmp_path / "out"
    with monkeypatch.context():
        refuse(number, "E00002.hea")
        report = prepare([source], out, SMALL, jobs=1)
    monkeypatch.undo()
    assert (report.kept, report.quarantined["unavailable"]) == (4, 1)
    assert os.strerror(number) in next(e.message for e in report.records if e.reason == "unavailable")
    assert "1 records were unavailable; run the same command to try them again" in caplog.text
    stamps = {path.name: path.stat().st_mtime_ns for path in (out / "shards").iterdir()}
    assert prepare([source], out, SMALL, jobs=1).kept == 5
    expected, complete = digest(tmp_path / "whole"), digest(out)
    assert json.loads((out / "corpus.json").read_text())["unhashed"] == ["records/georgia/E00002.hea"]
    assert {name for name in expected if complete[name] != expected[name]} == {"corpus.json"}
    again = {path.name for path in (out / "shards").iterdir() if path.stat().st_mtime_ns != stamps[path.name]}
    assert again == {"00001.npy"}, "the shard that had the record"


def test_a_corpus_with_unavailable_records_is_whole_and_stays_so_while_they_are_away(
    source, tmp_path, refuse
):
    refuse(errno.EIO, "E00002.hea")
    prepare([source], tmp_path / "out", SMALL, jobs=1)
    before = digest(tmp_path / "out")
    assert len(Corpus.open(tmp_path / "out")) == 4
    prepare([source], tmp_path / "out", SMALL, jobs=1)
    assert digest(tmp_path / "out") == before


def test_a_record_removed_since_it_was_listed_is_unavailable_and_a_missing_signal_file_is_the_record_s(
    source,
):
    by_name = {each.file.name: each for each in find([source])}
    by_name["E00001.hea"].file.unlink()
    reasons = {}
    for name in ("E00001.hea", "E00005.hea"):
        with pytest.raises(RecordError) as caught:
            by_name[name].read()
        reasons[name] = caught.value.reason
    assert reasons == {"E00001.hea": Reason.unavailable, "E00005.hea": Reason.no_signal_file}


def test_a_damaged_record_is_its_own_fault(source):
    header = source / "georgia" / "E00001.hea"
    header.write_bytes(b"\0" * (wfdb_header.HEADER_BYTES + 1))
    broken = next(each for each in find([source]) if each.file == header)
    with pytest.raises(RecordError) as caught:
        broken.read()
    assert caught.value.reason == Reason.unreadable


def test_a_signal_file_behind_a_bad_disk_is_unavailable(source, monkeypatch):
    candidate = next(each for each in find([source]) if each.file.name == "E00001.hea")
    stat = Path.stat

    def failing(self, *args, **options):
        if self.suffix == ".mat":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return stat(self, *args, **options)

    monkeypatch.setattr(Path, "stat", failing)
    with pytest.raises(RecordError) as caught:
        candidate.read()
    assert caught.value.reason == Reason.unavailable


def test_the_report_says_which_records_were_unavailable(source, tmp_path, refuse):
    refuse(errno.ESTALE, "E00000.hea", "E00002.hea")
    prepare([source], tmp_path / "out", SMALL, jobs=1)
    entries = [e.path for e in read_report(tmp_path / "out").records if e.reason == "unavailable"]
    assert entries == ["georgia/E00000.hea", "georgia/E00002.hea"]
