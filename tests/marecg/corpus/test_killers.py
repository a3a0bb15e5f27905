"""A record whose reading gets the process killed is named and left out; the rest is prepared."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests import forked
from tests.marecg.made_records import make_ecg, make_record

from marecg.corpus import prepare as module
from marecg.corpus.shards import NOTES
from marecg.corpus.workers import KILLED
from marecg.read.discovery import find
from marecg.read.record import Candidate, Record
from marecg.read.stretch import WHOLE, Stretch


@dataclass(frozen=True)
class OutOfMemory:
    """Does to its process what a kernel does that has no memory left."""

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Three records, of which one gets whoever reads it killed."""
    (tmp_path / "ward").mkdir()
    for name in ("a", "bad", "c"):
        make_record(tmp_path / "ward", name, make_ecg())

    def find_deadly(*args):
        return [
            replace(each, reader=OutOfMemory()) if each.path == "bad.hea" else each for each in find(*args)
        ]

    monkeypatch.setattr(module, "find", find_deadly)
    return tmp_path


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("jobs", [1, 2])
def test_it_is_quarantined_and_the_others_are_kept(folder, jobs, caplog):
    def prepare():
        return module.prepare([folder / "ward"], folder / "corpus", jobs=jobs)

    if jobs == 1:  # the process itself is killed, and the same command given again
        assert forked.run(prepare) == -signal.SIGKILL
        assert list((folder / "corpus" / "building").glob(NOTES))
    report = prepare()
    assert (report.kept, report.quarantined) == (2, {"memory": 1})
    assert report.records[0].path == "bad.hea"
    assert f"ward/bad.hea: {KILLED.problem}" in caplog.text
    assert not list((folder / "corpus").rglob(".at*"))
