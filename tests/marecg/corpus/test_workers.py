"""Worker processes."""

import os
import signal
import subprocess
import sys
import time

import pytest
from joblib import Parallel, delayed

from marecg.corpus.workers import workers
from marecg.errors import CorpusError

PARENT = """
import os, time
from joblib import Parallel, delayed
from marecg.corpus.workers import workers

def task(n):
    print(os.getpid(), flush=True)
    time.sleep(60)

with workers(records=0, jobs=2, cluster=None):
    Parallel()(delayed(task)(n) for n in range(2))
"""


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_end_when_the_process_they_work_for_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        children = {int(parent.stdout.readline()) for _ in range(2)}
        assert len(children) == 2
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while any(map(alive, children)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, children))


def test_processes_that_a_caller_has_begun_serve_what_it_calls_and_stay() -> None:
    def slowly() -> int:
        time.sleep(0.5)
        return os.getpid()

    def used() -> set[int]:
        return set(Parallel()(delayed(slowly)() for _ in range(4)))

    with workers(records=0, jobs=2, cluster=None):
        mine = used()
        with workers(records=0, jobs=2, cluster=None):
            theirs = used()
        assert mine == theirs == used()
    assert not any(map(alive, mine))


def test_a_worker_that_is_killed_ends_in_one_error_that_names_the_output_and_the_remedy() -> None:
    def killed() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(CorpusError) as ended, workers(records=0, jobs=2, cluster=None, where="corpus"):
        Parallel()(delayed(killed)() for _ in range(2))
    assert str(ended.value).startswith("corpus: a worker process was killed")
    assert "fewer --jobs" in ended.value.remedy
