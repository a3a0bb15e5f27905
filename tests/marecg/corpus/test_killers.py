"""A record whose reading gets the process killed is named; without it the same command goes on."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests import forked
from tests.made_records import make_ecg, make_record

from ecg_records.readers.discovery import find
from ecg_records.record import Candidate, Record
from ecg_records.stretch import WHOLE, Stretch
from marecg.corpus import prepare as module
from marecg.corpus.shards import NOTES
from marecg.corpus.workers import WorkerKilledError


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
def test_it_is_named_and_without_it_the_same_command_goes_on(folder, jobs, caplog, monkeypatch):
    def prepare():
        return module.prepare([folder / "ward"], folder / "corpus", jobs=jobs)

    if jobs == 1:  # the process itself is killed
        assert forked.run(prepare) == -signal.SIGKILL
        assert list((folder / "corpus" / "building").glob(NOTES))
    else:
        with pytest.raises(WorkerKilledError, match=r"was killed.* while reading .*ward/bad\.hea.* leave"):
            prepare()
    monkeypatch.setattr(module, "find", find)
    assert prepare().kept == 3
    assert (f"was killed while reading {folder}/ward/bad.hea" in caplog.text) == (jobs == 1)
    assert not list((folder / "corpus").rglob(".at*"))
