"""Embedding into one file: who does it does not show."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from tests.marecg.told import Told

from marecg.base.errors import CheckpointError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.read.array_layout import Layout
from marecg.recipes import by_name
from marecg.synth import write_corpus
from marecg.use import embedding_files
from marecg.use import processes as shared
from marecg.use.embed_records import embed_records
from marecg.use.processes import SMALL, WORTH_A_PROCESS, processes


@pytest.fixture(scope="module")
def place(tmp_path_factory, micro) -> Path:
    """A model, and seven records; one has no signal, and one is longer than the others."""
    folder = tmp_path_factory.mktemp("place")
    torch.manual_seed(0)
    MarEcg(micro.model).save_pretrained(folder / "model")
    write_corpus(folder / "wfdb", 7, 0)
    sorted((folder / "wfdb").rglob("*.mat"))[2].unlink()
    return folder


def run(place: Path, out: Path, **options):
    return embed_records(place / "model", [place / "wfdb"], out, **{"batch_size": 2, **options})


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize(
    ("name", "options"),
    [("some.npz", {"patches": True, "readout": "wide"}), ("some.parquet", {})],
)
def test_two_processes_write_the_bytes_of_one(place, tmp_path, name, options):
    alone, beside = Told(), Told()
    (tmp_path / "two").mkdir()
    one = run(place, tmp_path / name, jobs=1, progress=alone, **options)
    assert alone.counts == sorted(alone.counts)
    assert (alone.counts[0], alone.counts[-1]) == ((0, 7), (7, 7))
    two = run(place, tmp_path / "two" / name, jobs=2, progress=beside, **options)
    assert beside.counts == [(2, 7), (4, 7), (6, 7), (7, 7)]
    assert two == one
    assert (one.records, len(one.failed)) == (6, 1)
    assert (tmp_path / "two" / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("given", ["signals.npz", "."])
def test_an_input_is_never_the_output(place, tmp_path, monkeypatch, given):
    np.savez(tmp_path / "signals.npz", x=np.random.default_rng(0).normal(0, 0.3, (2, 12, 1000)))
    before = (tmp_path / "signals.npz").read_bytes()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"signals\.npz: is an input, and would be lost"):
        embed_records(place / "model", [given], "signals.npz", layout=Layout(fs=500))
    assert (tmp_path / "signals.npz").read_bytes() == before


@pytest.mark.parametrize("patches", [False, True])
def test_row_groups_hold_each_record_once(place, tmp_path, monkeypatch, patches):
    whole, groups = tmp_path / "whole.parquet", tmp_path / "groups.parquet"
    run(place, whole, patches=patches)
    monkeypatch.setattr(embedding_files, "GROUP", 1)
    monkeypatch.setattr(embedding_files, "PATCH_GROUP", 1)
    run(place, groups, patches=patches)
    assert pq.ParquetFile(groups).num_row_groups == 6
    assert pq.read_table(groups).equals(pq.read_table(whole))


@pytest.mark.usefixtures("forked_workers")
def test_what_is_wrong_elsewhere_is_said_here_and_nothing_is_written(place, tmp_path):
    model = MarEcg.from_pretrained(place / "model")
    next(model.encoder.parameters()).data.fill_(1e38)
    model.save_pretrained(tmp_path / "diverged")
    with pytest.raises(CheckpointError, match="not finite"):
        embed_records(tmp_path / "diverged", [place / "wfdb"], tmp_path / "out.npz", batch_size=2, jobs=2)
    assert [path.name for path in tmp_path.iterdir()] == ["diverged"]


def test_a_small_model_has_a_process_per_thread_where_each_has_enough_to_do(place, monkeypatch):
    monkeypatch.setattr(shared.torch, "get_num_threads", lambda: 4)
    small = MarEcg(by_name("small").model)
    wanted = [processes(small, count) for count in (1, 2 * WORTH_A_PROCESS, 100 * WORTH_A_PROCESS)]
    assert wanted == [1, 2, 4]
    assert processes(small, 1, jobs=3) == 3
    small.register_parameter("more", torch.nn.Parameter(torch.zeros(SMALL)))
    assert processes(small, 100 * WORTH_A_PROCESS) == 1
    monkeypatch.setattr(shared.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(shared.torch.cuda, "device_count", lambda: 2)
    assert processes(small, 1) == 2
