"""Worker processes."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from joblib import Parallel, delayed

from marecg.corpus.workers import workers
from marecg.errors import CorpusError

PARENT = """
import os, tempfile, time
from joblib import Parallel, delayed
from marecg.corpus.workers import workers

def task(n):
    tempfile.mkdtemp(prefix="marecg-record-")
    os.write(1, b"%d\\n" % os.getpid())  # at once, whatever the other writes
    time.sleep(600)

with workers(records=0, jobs=2, cluster=None):
    Parallel()(delayed(task)(n) for n in range(2))
"""


def alive(process: int) -> bool:
    """Whether it runs; in a container without an init, one that has ended stays listed as a zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_workers_end_when_the_process_they_work_for_is_killed_and_leave_nothing(tmp_path):
    options = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | {"TMPDIR": str(tmp_path)}}
    with subprocess.Popen([sys.executable, "-c", PARENT], **options) as parent:
        children = {int(parent.stdout.readline()) for _ in range(2)}
        assert len(children) == 2
        assert len(list(tmp_path.glob("marecg-*/marecg-record-*"))) == 2
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 120
    while any(map(alive, children)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, children))
    assert not list(tmp_path.glob("marecg-*"))


@pytest.mark.usefixtures("forked_workers")
def test_processes_that_a_caller_has_begun_serve_what_it_calls_and_stay(tmp_path):
    def met(folder):
        """Wait for the other one: else a quick process does the work of both while one begins."""
        (folder / str(os.getpid())).touch()
        while len(list(folder.iterdir())) < 2:
            time.sleep(0.01)
        return os.getpid()

    def used():
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        return set(Parallel()(delayed(met)(folder) for _ in range(2)))

    with workers(records=0, jobs=2, cluster=None):
        mine = used()
        with workers(records=0, jobs=2, cluster=None):
            theirs = used()
        assert mine == theirs == used()
    assert not any(map(alive, mine))


@pytest.mark.usefixtures("forked_workers")
def test_a_worker_that_is_killed_ends_in_one_error_that_names_the_output_and_the_remedy():
    def killed():
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(CorpusError) as ended, workers(records=0, jobs=2, cluster=None, where="corpus"):
        Parallel()(delayed(killed)() for _ in range(2))
    assert str(ended.value).startswith("corpus: a worker process was killed")
    assert "fewer --jobs" in ended.value.remedy


@pytest.mark.slow
def test_what_a_killed_worker_has_in_a_temporary_folder_is_removed_with_it(tmp_path, monkeypatch):
    """A record of a store is read from such a folder, and may be a patient's."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def killed():
        Path(tempfile.mkdtemp(prefix="marecg-"), "record.dat").write_bytes(b"signal")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(CorpusError), workers(records=0, jobs=2, cluster=None):
        Parallel()(delayed(killed)() for _ in range(2))
    assert not list(tmp_path.glob("**/record.dat"))
    assert not list(tmp_path.glob("marecg-*"))


def test_where_processes_can_share_no_lock_this_one_does_the_work_and_says_so(monkeypatch, caplog):
    def no_shared_memory():
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("multiprocessing.Lock", no_shared_memory)
    with workers(records=0, jobs=2, cluster=None):
        assert set(Parallel()(delayed(os.getpid)() for _ in range(4))) == {os.getpid()}
    assert "no further processes are started, because /dev/shm is missing" in caplog.text
    caplog.clear()
    with workers(records=0, jobs=-1, cluster=None):
        assert Parallel()(delayed(abs)(n) for n in (-1, 2)) == [1, 2]
    assert not caplog.text
