"""Embedding into one file: who does it does not show."""

import json
import shutil
from collections.abc import Iterator

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.marecg.embedding.conftest import run
from tests.marecg.told import Told

from ecg_records.readers.arrays.array_layout import Layout
from marecg.embedding import embedding_files
from marecg.embedding import processes as shared
from marecg.embedding.embed_records import embed_records
from marecg.embedding.processes import SMALL, WORTH_A_PROCESS, processes
from marecg.errors import CheckpointError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.recipes import by_name

ONE_FILE = {"part_records": None, "batch_size": 2}


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize(
    ("name", "options"), [("some.npz", {"patches": True, "readout": "wide"}), ("some.parquet", {})]
)
def test_two_processes_write_the_bytes_of_one(place, tmp_path, name, options):
    alone, beside = Told(), Told()
    (tmp_path / "two").mkdir()
    one = run(place, tmp_path / name, jobs=1, progress=alone, **ONE_FILE, **options)
    assert alone.counts == sorted(alone.counts)
    assert (alone.counts[0], alone.counts[-1]) == ((0, 10), (10, 10))
    two = run(place, tmp_path / "two" / name, jobs=2, progress=beside, **ONE_FILE, **options)
    assert beside.counts == [(done, 10) for done in (2, 4, 6, 8, 10)]
    assert two == one
    assert (one.records, len(one.failed)) == (9, 1)
    assert (tmp_path / "two" / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("given", ["signals.npz", "."])
def test_an_input_is_never_the_output(place, tmp_path, monkeypatch, given):
    np.savez(tmp_path / "signals.npz", x=np.random.default_rng(0).normal(0, 0.3, (2, 12, 1000)))
    before = (tmp_path / "signals.npz").read_bytes()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"signals\.npz: is an input and would be lost"):
        embed_records(place / "model", [given], "signals.npz", layout=Layout(fs=500))
    assert (tmp_path / "signals.npz").read_bytes() == before


@pytest.mark.parametrize("patches", [False, True])
def test_row_groups_hold_each_record_once(place, tmp_path, monkeypatch, patches):
    whole, groups = tmp_path / "whole.parquet", tmp_path / "groups.parquet"
    run(place, whole, patches=patches, **ONE_FILE)
    for name in ("GROUP", "PATCH_GROUP"):
        monkeypatch.setattr(embedding_files, name, 1)
    run(place, groups, patches=patches, **ONE_FILE)
    assert pq.ParquetFile(groups).num_row_groups == 9
    assert pq.read_table(groups).equals(pq.read_table(whole))


@pytest.mark.usefixtures("forked_workers")
def test_what_is_wrong_elsewhere_is_said_here_and_nothing_is_written(place, tmp_path):
    shutil.copytree(place / "model", tmp_path / "diverged")
    weights = load_file(tmp_path / "diverged" / "model.safetensors")
    weights["encoder.blocks.0.norm_spatial.weight"].fill_(1e38)
    save_file(weights, tmp_path / "diverged" / "model.safetensors")
    description = json.loads((tmp_path / "diverged" / "config.json").read_text())
    (tmp_path / "diverged" / "config.json").write_text(json.dumps(description | {"weights": None}))
    with pytest.raises(CheckpointError, match=r"norm_spatial\.weight must be at most 1e\+15, got 1e\+38"):
        embed_records(tmp_path / "diverged", [place / "wfdb"], tmp_path / "out.npz", batch_size=2, jobs=2)
    assert [path.name for path in tmp_path.iterdir()] == ["diverged"]


@pytest.fixture
def four_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(threads)


def test_a_small_model_has_a_process_per_thread_where_each_has_enough_to_do(place, four_threads, monkeypatch):
    small = MarEcg(by_name("small").model)
    counts = (1, 2 * WORTH_A_PROCESS, 100 * WORTH_A_PROCESS)
    assert [processes(small, count) for count in counts] == [1, 2, 4]
    assert processes(small, 1, jobs=3) == 3
    small.register_parameter("more", torch.nn.Parameter(torch.zeros(SMALL)))
    assert processes(small, 100 * WORTH_A_PROCESS) == 1
    monkeypatch.setattr(shared.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(shared.torch.cuda, "device_count", lambda: 2)
    assert processes(small, 1) == 2
