"""A record whose reading gets the process killed is named; without it the same command goes on."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import forked
from tests.killing import killing_reader
from tests.made_records import make_ecg, make_record

from marecg.corpus.prepare import prepare
from marecg.corpus.shards import NOTES
from marecg.corpus.workers import WorkerKilledError


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """Three records, of which one gets whoever reads it killed."""
    (tmp_path / "ward").mkdir()
    for name in ("a", "bad", "c"):
        make_record(tmp_path / "ward", name, make_ecg())
    (tmp_path / "ward" / "bad.deadly").touch()
    with killing_reader(tmp_path / "ward", tmp_path / "site", monkeypatch):
        yield tmp_path


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("jobs", [1, 2])
def test_it_is_named_and_without_it_the_same_command_goes_on(folder, jobs, caplog):
    def prepared():
        return prepare([folder / "ward"], folder / "corpus", jobs=jobs)

    if jobs == 1:  # the process itself is killed
        assert forked.run(prepared) == -signal.SIGKILL
        assert list((folder / "corpus" / "building").glob(NOTES))
    else:
        with pytest.raises(WorkerKilledError, match=r"was killed.* while reading .*ward/bad\.hea.* leave"):
            prepared()
    (folder / "ward" / "bad.deadly").unlink()
    assert prepared().kept == 3
    assert (f"was killed while reading {folder}/ward/bad.hea" in caplog.text) == (jobs == 1)
    assert not list((folder / "corpus").rglob(".at*"))
