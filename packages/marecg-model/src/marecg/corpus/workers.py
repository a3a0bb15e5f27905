"""Start the processes that prepare records: the current process, local workers, or a Dask cluster.

If a process is killed, for example because memory runs out, it leaves a file with the name of its current
record (`shards.notes`). The error message contains this name.
"""

import gc
import logging
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path

from joblib import cpu_count, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend

from marecg.base.temporary import temporary_folder
from marecg.corpus.shards import NOTES  # also loads the workers' code before they start
from marecg.errors import CorpusError, UsageError

logger = logging.getLogger(__name__)
WORTH_A_PROCESS = 512
"""Number of records that justify a further process: preparing them takes as long as starting it."""

_begun = ContextVar("begun", default=False)
"""Whether an enclosing call has already started processes."""


class WorkerKilledError(CorpusError):
    """Error raised when the system or another user has killed a worker process."""


def check_jobs(jobs: int) -> None:
    """Raise `UsageError` if the number of processes is 0."""
    if jobs == 0:
        remedy = "Give at least 1, or -1 for all cores"
        raise UsageError("the number of processes must not be 0", where="--jobs", remedy=remedy)


@contextmanager
def workers(
    records: int, jobs: int, cluster: str | None, threads: int | None = None, *, where: object = ""
) -> Iterator[None]:
    """Start the worker processes that joblib's `Parallel` uses, or reuse the processes of an enclosing call.

    Args:
        records: Number of records to prepare.
        jobs: Number of processes. −1 starts a process per core, if there are enough records.
        cluster: Address of a Dask scheduler whose workers are used instead.
        threads: Threads per process. If None, OMP_NUM_THREADS, or the process' share of the cores.
        where: Output that the processes write, which error messages name.

    Raises:
        CorpusError: If no scheduler responds.
        WorkerKilledError: If a process was killed.
        UsageError: If `jobs` is 0.
    """
    if cluster is not None:
        with _cluster(cluster):
            yield
        return
    if _begun.get():
        yield
        return
    check_jobs(jobs)
    count = jobs if jobs != -1 else min(cpu_count(), max(1, records // WORTH_A_PROCESS))
    if not _have_locks():
        if count != 1:
            logger.warning("no further processes are started, because /dev/shm is missing")
        with parallel_config("sequential", n_jobs=1):
            yield
        return
    with (
        temporary_folder() if count != 1 else nullcontext("") as below,
        parallel_config(
            "loky",
            n_jobs=count,
            inner_max_num_threads=threads,
            initializer=begin,
            initargs=(os.getpid(), below),
        ),
    ):
        _begun.set(count > 1)
        is_done = False
        try:
            yield
            is_done = True
        except TerminatedWorkerError as error:
            problem = "a worker process was killed, perhaps because memory ran out"
            remedy = (
                "Run the same command with fewer --jobs, or with OMP_NUM_THREADS=1 for a probe. "
                "If it happens again with the same record, leave that record out"
            )
            raise WorkerKilledError(problem, where=where, remedy=remedy) from error
        finally:
            _begun.set(False)
            # An idle process may exit just as the next call starts, and that call would hang. So no process
            # is kept. After an error, nobody reads the results of remaining tasks, so workers are killed.
            get_reusable_executor(kill_workers=not is_done).shutdown(wait=True)


def _have_locks() -> bool:
    """Return whether processes can share a lock. Locks need /dev/shm."""
    try:
        multiprocessing.Lock()
    except OSError:
        return False
    return True


@contextmanager
def _cluster(address: str) -> Iterator[None]:
    try:
        config = parallel_config("dask", n_jobs=-1, scheduler_host=address)
    except (ValueError, OSError) as error:
        problem = f"no Dask scheduler responds ({error})"
        remedy = "Start one with `dask scheduler`, and install `distributed` here"
        raise CorpusError(problem, where=address, remedy=remedy) from error
    from distributed import KilledWorker  # noqa: PLC0415 (an extra)
    from distributed.comm.core import CommClosedError  # noqa: PLC0415

    with config:
        try:
            yield
        except (CancelledError, CommClosedError, KilledWorker) as error:
            problem = "the Dask scheduler or one of its workers ended before the work was done"
            remedy = "Start the cluster again, and run the same command, which goes on"
            raise WorkerKilledError(problem, where=address, remedy=remedy) from error
        finally:
            get_active_backend()[0].client.close()


def begin(parent: int, below: str) -> None:
    """Set up a worker process.

    Loaded objects are exempt from garbage collection. Otherwise, the garbage collection that joblib runs once
    a second would take a tenth of a second each time. The worker ends when its parent ends. A killed parent
    can't notify its workers, so each worker watches the parent.

    Args:
        parent: Id of the parent process.
        below: Folder for temporary files, which the parent removes.
    """
    gc.freeze()
    tempfile.tempdir = below

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        shutil.rmtree(below, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="end-with-parent").start()


@contextmanager
def records_named(folder: Path) -> Iterator[None]:
    """Add the names of the records that were being read to a `WorkerKilledError` (`shards.notes`)."""
    try:
        yield
    except WorkerKilledError as error:
        if names := noted(folder):
            problem = f"{error.problem}, while reading {', '.join(names)}"
            raise WorkerKilledError(problem, where=error.where, remedy=error.remedy) from error
        raise


def noted(folder: Path) -> list[str]:
    """Read and remove the notes of killed processes in a folder, and return the record names, sorted."""
    names = []
    for path in folder.glob(NOTES):
        names.append(path.read_text(encoding="utf-8", errors="replace"))
        path.unlink()
    return sorted(filter(None, names))
