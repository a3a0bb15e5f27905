"""The same preparation on a cluster: joblib's Dask backend."""

import pytest
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


def test_a_scheduler_that_does_not_answer_is_one_clear_error(source, tmp_path):
    import dask

    quick = dask.config.set({"distributed.comm.timeouts.connect": "0.2s"})
    with quick, pytest.raises(CorpusError, match="no Dask scheduler"):
        prepare([source], tmp_path / "out", cluster="tcp://127.0.0.1:1")
