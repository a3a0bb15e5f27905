"""The same preparation on a cluster: joblib's Dask backend."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.made_records import make_ecg, make_record
from tests.marecg.corpus.prepared_folders import SMALL, digest

from marecg.corpus.prepare import prepare
from marecg.errors import CorpusError

distributed = pytest.importorskip("distributed", reason="needs dask: pip install distributed")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("own_environment")]  # dask's own


@pytest.mark.slow
def test_two_workers_of_a_dask_cluster_write_the_bytes_of_one_process(source, tmp_path):
    prepare([source], tmp_path / "here", SMALL, jobs=1)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        prepare([source], tmp_path / "there", SMALL, cluster=cluster.scheduler_address)
    assert digest(tmp_path / "here") == digest(tmp_path / "there")


CLUSTER = """
import distributed, time
if __name__ == "__main__":
    cluster = distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    time.sleep(300)
"""


@pytest.mark.slow
def test_a_cluster_that_is_killed_is_one_clear_error_and_the_rest_is_done_later(tmp_path: Path):
    for number in range(60):
        make_record(tmp_path / "georgia", f"E{number:05d}", make_ecg(seed=number))
    (tmp_path / "cluster.py").write_text(CLUSTER)
    command = [sys.executable, tmp_path / "cluster.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as cluster:

        @contextmanager
        def until_the_first(_what: str) -> Iterator[object]:
            yield lambda *_: os.killpg(cluster.pid, signal.SIGKILL) if cluster.poll() is None else None

        address = cluster.stdout.readline().strip()
        with pytest.raises(CorpusError, match=r"Dask scheduler .* ended before .* Start the cluster again"):
            prepare(
                [tmp_path / "georgia"], tmp_path / "out", SMALL, cluster=address, progress=until_the_first
            )
    assert prepare([tmp_path / "georgia"], tmp_path / "out", SMALL, jobs=1).kept == 60


def test_a_scheduler_that_does_not_answer_is_one_clear_error(source, tmp_path):
    import dask

    quick = dask.config.set({"distributed.comm.timeouts.connect": "0.2s"})
    with quick, pytest.raises(CorpusError, match="no Dask scheduler"):
        prepare([source], tmp_path / "out", cluster="tcp://127.0.0.1:1")
