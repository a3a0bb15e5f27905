"""A time line: a row per step of a recording, equal to the step embedded alone."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from tests.made_records import make_ecg, make_record

from marecg.embedding.embed import embed
from marecg.embedding.embed_records import embed_records
from marecg.embedding.inputs import Inputs
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.use.predict import predict, predict_into


@pytest.fixture
def folder(micro, tmp_path) -> Path:
    """A model with concepts, and a record of 25.5 s."""
    torch.manual_seed(0)
    model = MarEcg(micro.model).eval()
    torch.nn.init.normal_(model.prototypes)
    model.save_pretrained(tmp_path / "model")
    make_record(tmp_path, "long", make_ecg(25.5))
    return tmp_path


def test_each_step_of_a_recording_is_a_row_with_its_second(folder):
    out = folder / "out.parquet"
    done = embed_records(folder / "model", [folder / "long"], out, step=10, part_records=None)
    rows = pq.read_table(out).to_pylist()
    assert (done.records, [row["start"] for row in rows]) == (3, [0, 10, 20])
    assert [row["id"] for row in rows] == ["long@0", "long@10", "long@20"]
    assert {row["record"] for row in rows} == {"long"}
    x_CL = np.round(make_ecg(25.5) * 1000).astype(np.float32) / 1000
    for row in rows:
        first = round(row["start"] * 500)
        alone = embed(folder / "model", x_CL[None, :, first : first + 5000], fs=500).rhythm[0]
        np.testing.assert_allclose(row["rhythm"], alone, atol=1e-5)


def test_a_time_line_of_records_is_a_table_with_the_second_and_the_shares_of_each_step(folder):
    make_record(folder / "ward", "day", make_ecg(25.5))
    make_record(folder / "ward", "short", make_ecg(9))
    done = predict_into(folder / "model", Inputs([folder / "ward"], step=10), folder / "q.parquet")
    rows = pq.read_table(folder / "q.parquet").to_pylist()
    assert done.records == 4
    steps = [("day", 0), ("day", 10), ("day", 20), ("short", 0)]
    assert [(row["record"], row["start"]) for row in rows] == steps
    x_CL = np.round(make_ecg(25.5) * 1000).astype(np.float32) / 1000
    q_N = predict(folder / "model", x_CL[None, :, 5000:10_000], fs=500)[0]
    names = [node.abbr for node in MarEcg.from_pretrained(folder / "model").ontology.nodes]
    np.testing.assert_allclose([rows[1][name] for name in names], q_N, atol=1e-6)


def test_a_corpus_has_windows_and_no_steps(place, tmp_path):
    with pytest.raises(UsageError, match="must be recordings, got a corpus of windows"):
        embed_records(place / "model", [place / "corpus"], tmp_path / "out.parquet", step=10)
