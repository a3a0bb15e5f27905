"""Nothing is half-written: killed, on a full disk or after a power cut, the same command ends the corpus."""

import os
import resource
import signal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests import forked
from tests.made_records import make_ecg
from tests.marecg.corpus.prepared_folders import SMALL, digest
from tests.marecg.told import Told

from ecg_records.readers.arrays.array_layout import Layout
from marecg.corpus.audit import damaged_records
from marecg.corpus.prepare import prepare
from marecg.errors import OutputError


def killed_at_rename(number: int, *args, **options) -> int:
    """Prepare in a process that SIGKILL ends just before its n-th file takes its final name; how it ended."""

    def run():
        rename, left = Path.replace, iter(range(number))

        def replace(self, target):
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(self, target)

        Path.replace = replace
        prepare(*args, jobs=1, **options)

    return forked.run(run)


def test_killed_at_any_file_and_started_again_it_ends_with_the_bytes_of_an_unbroken_run(source, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    prepare([source], whole, SMALL, jobs=1)
    deaths = 0
    while killed_at_rename(deaths % 4 + 2, [source], broken, SMALL) != 0:
        deaths += 1
        assert deaths < 40, "every run gets a little further"
    assert deaths > 4
    assert digest(broken) == digest(whole)


def test_what_a_killed_run_has_finished_is_not_done_again(source, tmp_path):
    out = tmp_path / "out"
    assert killed_at_rename(8, [source], out, SMALL) == -signal.SIGKILL
    assert len(list((out / "building").glob("0*.json"))) == 2
    progress = Told()
    first_shard = (out / "shards" / "00000.npy").stat().st_mtime_ns
    prepare([source], out, SMALL, jobs=1, progress=progress)
    assert progress.counts[0] == (6, 8), "four were done before, the first step does two more"
    assert progress.seen[-1] == ("records", 8, 8, "5 kept, 3 quarantined")
    assert (out / "shards" / "00000.npy").stat().st_mtime_ns == first_shard


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_is_one_clear_error_and_leaves_nothing_half_written(source, tmp_path, jobs):
    out = tmp_path / "out"

    def full():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        with pytest.raises(OutputError):
            prepare([source], out, jobs=jobs)

    assert forked.run(full) == 0
    assert set(digest(out)) == {"building/plan.json"}
    assert prepare([source], out, jobs=1).kept == 5


def test_an_output_that_cannot_be_made_is_an_output_error(source, tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="file"):
            prepare([source], out, jobs=1)


def test_a_hidden_file_of_the_users_survives_and_one_of_a_killed_run_does_not(source, tmp_path):
    out = tmp_path / "out"
    assert killed_at_rename(3, [source], out, SMALL) == -signal.SIGKILL
    (out / "shards" / ".00001-0123abcd.unfinished").mkdir()
    for name in (".gitignore", ".00001-0123abcd.unfinished/00001.npy"):
        (out / "shards" / name).write_text("x")
    prepare([source], out, SMALL, jobs=1)
    assert sorted(path.name for path in (out / "shards").glob(".*")) == [".gitignore"]


def test_a_corpus_within_its_own_source_is_no_source(tmp_path):
    np.save(tmp_path / "clinic.npy", np.stack([make_ecg(seed=seed) for seed in range(5)]))
    assert killed_at_rename(3, [tmp_path], tmp_path / "out", SMALL, layout=Layout(500)) == -signal.SIGKILL
    assert list((tmp_path / "out" / "shards").glob("*.npy"))
    for _ in range(2):
        prepare([tmp_path], tmp_path / "out", SMALL, jobs=1, layout=Layout(500))
    assert len(pq.read_table(tmp_path / "out" / "index.parquet")) == 5


def test_a_shard_that_a_power_cut_emptied_is_written_anew(source, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    prepare([source], whole, SMALL, jobs=1)
    assert killed_at_rename(8, [source], broken, SMALL) == -signal.SIGKILL
    (broken / "shards" / "00000.npy").write_bytes(b"")
    prepare([source], broken, SMALL, jobs=1)
    assert digest(broken) == digest(whole)


@pytest.mark.parametrize("name", ["shards/00000.npy", "index.parquet", "report.json"])
def test_a_finished_corpus_that_a_power_cut_damaged_is_prepared_anew(source, tmp_path, name, caplog):
    out = tmp_path / "out"
    prepare([source], out, SMALL, jobs=1)
    before = digest(out)
    (out / name).write_bytes(b"")
    prepare([source], out, SMALL, jobs=1)
    assert digest(out) == before
    assert "preparing the corpus again" in caplog.text


def test_a_bit_that_flipped_on_the_disk_is_found(source, tmp_path):
    prepare([source], tmp_path / "out", jobs=1)
    assert damaged_records(tmp_path / "out") == []
    shard = tmp_path / "out" / "shards" / "00000.npy"
    content = bytearray(shard.read_bytes())
    content[-7] ^= 1
    shard.write_bytes(content)
    assert damaged_records(tmp_path / "out") == ["records/ptb/g1/S0002.hea"]
