"""Who prepares the records: this process, some beside it, or those of a Dask cluster."""

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from joblib import cpu_count, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import get_active_backend

import marecg.corpus.shards  # noqa: F401 — what a worker runs, loaded before it begins
from marecg.errors import CorpusError

WORTH_A_PROCESS = 512
"""Records: what one process prepares in the seconds that another spends on its imports."""


@contextmanager
def workers(records: int, jobs: int, cluster: str | None) -> Iterator[None]:
    """Let joblib's `Parallel` run on the processes wanted.

    Args:
        records: how many there are to prepare.
        jobs: processes; −1 for one per core, as far as there is work for them.
        cluster: the address of a Dask scheduler, whose workers are used instead.

    Raises:
        CorpusError: no scheduler answers, or Dask is not installed.
    """
    if cluster is None:
        count = jobs if jobs != -1 else min(cpu_count(), max(1, records // WORTH_A_PROCESS))
        with parallel_config("loky", n_jobs=count, initializer=begin, initargs=(os.getpid(),)):
            try:
                yield
            finally:
                # Kept for a next call, idle processes may leave just as it comes, and it waits for ever.
                get_reusable_executor().shutdown(wait=True)
        return
    try:
        config = parallel_config("dask", n_jobs=-1, scheduler_host=cluster)
    except (ValueError, OSError) as error:
        problem = f"no Dask scheduler answers ({error})"
        remedy = "Start one with `dask scheduler`, and install `distributed` here"
        raise CorpusError(problem, where=cluster, remedy=remedy) from error
    with config:
        try:
            yield
        finally:
            get_active_backend()[0].client.close()


def begin(parent: int) -> None:
    """In a worker: spare the garbage collector what is loaded; end as soon as `parent` is gone.

    Loky collects once a second, which takes a tenth of a second over the objects of the libraries. A parent
    that was killed leaves full pipes and no word.
    """
    gc.freeze()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="end-with-parent").start()
