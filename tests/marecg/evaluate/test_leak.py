"""What a report says of an encoder: which judged records it was pretrained on, and its effective rank."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ecg_records.readers.identity import identity
from marecg.corpus import trained_on
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.evaluate import reporting
from marecg.evaluate.methods.frozen_encoder import ENCODER, MEAN_H
from marecg.evaluate.methods.method import FeatureTable
from marecg.evaluate.reporting import leak
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import TRAIN, Task
from marecg.model.stored_signal import signal_hash, to_microvolts, window
from marecg.nn.collapse import effective_rank


def trained(
    run: Path, identity: list[str | None], patient: list[str | None], hashes: list[str], samples: int = 4700
) -> Path:
    columns = {"identity": identity, "patient": patient, "signal_hash": hashes}
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    run.mkdir(exist_ok=True)
    pq.write_table(
        table.replace_schema_metadata({"window": str(samples), "fs": "500"}), run / trained_on.FILE
    )
    return run


def hash_of(task: Task, ecg_id: int, samples: int = 4700) -> str:
    return signal_hash(to_microvolts(window(task.recordings.read(ecg_id - 1), samples)[0]))


def test_records_of_training_and_of_elsewhere_do_not_leak_and_judged_ones_do(task, tmp_path):
    # Fold 9 is records 33 to 36 and 73 to 76; every fourth from 3 on has no class; 1 to 32 are training ones.
    assert leak(tmp_path, task) is None, "a run that doesn't say what it was trained on is no clean run"
    clean = ["ptbxl/00001", "ptbxl/00035", "georgia/E00001", None]
    trained(tmp_path, clean, ["mine/33", None, None, None], ["0" * 32, "1" * 32, "-", "-"])
    assert leak(tmp_path, task).records == 0
    leaking = leak(trained(tmp_path, [*clean, "ptbxl/00033"], [None] * 5, ["-"] * 5), task)
    assert (leaking.records, leaking.same_record) == (1, ("33",))


def test_each_record_is_named_once_under_the_first_sign(task, tmp_path):
    run = trained(
        tmp_path, ["ptbxl/00033", None], ["ptbxl/34", "ptbxl/33"], [hash_of(task, 36), hash_of(task, 37)]
    )
    signs = leak(run, task)
    assert (signs.same_record, signs.same_patient, signs.same_signal) == (("33",), ("34",), ("36", "37"))
    assert signs.records == 4


def test_the_patient_of_a_copy_that_names_none_is_that_of_the_record(ptbxl_copy, tmp_path):
    """The Challenges' copies of PTB-XL, HR00081 say, carry no patient; 81 isn't even on disk here."""
    table = ptbxl_copy / "ptbxl_database.csv"
    table.write_text(table.read_text().replace("\n81,81,", "\n81,33,"))
    run = trained(tmp_path, [identity("HR00081", "ptb-xl")], [None], ["-"])
    signs = leak(run, task_named("ptbxl-super").open(ptbxl_copy))
    assert (signs.same_record, signs.same_patient) == ((), ("33",))


def test_a_run_that_began_from_given_weights_carries_their_mark_too(task, corpus_folder, tmp_path):
    trained(tmp_path / "before", ["ptbxl/00033"], [None], ["-"])
    trained_on.write(Corpus.open(corpus_folder), tmp_path / "run", tmp_path / "before")
    carried = leak(tmp_path / "run", task)
    assert (carried.records, carried.same_record) == (1, ("33",))
    trained_on.write(Corpus.open(corpus_folder), tmp_path / "again", tmp_path / "run")
    assert leak(tmp_path / "again", task) == carried


def test_after_weights_without_a_list_a_leak_is_found_and_none_is_not_known(task, corpus_folder, tmp_path):
    corpus = Corpus.open(corpus_folder)
    trained_on.write(corpus, tmp_path / "alone")
    assert leak(tmp_path / "alone", task).records == 0
    trained_on.write(corpus, tmp_path / "run", tmp_path / "a-model-that-was-sent")
    assert leak(tmp_path / "run", task) is None
    table = pq.read_table(tmp_path / "run" / trained_on.FILE)
    one = pa.array(["ptbxl/00033", *[None] * (len(table) - 1)], pa.string())
    pq.write_table(table.set_column(0, "identity", one), tmp_path / "run" / trained_on.FILE)
    assert leak(tmp_path / "run", task).same_record == ("33",)


def test_windows_of_every_length_that_was_trained_on_are_compared(task, corpus_folder, tmp_path):
    shorter = [None], [None], [hash_of(task, 36, 4000)]
    assert leak(trained(tmp_path / "before", *shorter), task).records == 0
    trained(tmp_path / "before", *shorter, samples=4000)
    trained_on.write(Corpus.open(corpus_folder), tmp_path / "run", tmp_path / "before")
    assert leak(tmp_path / "run", task).same_signal == ("36",)


@pytest.mark.realdata
@pytest.mark.parametrize(("task", "folder"), [("ptbxl-super", "ptbxl"), ("cpsc2018", "cinc2021/cpsc_2018")])
def test_every_real_record_that_is_shared_is_found_by_name_and_by_signal(task, folder, realdata, tmp_path):
    """The corpus: PTB-XL's ninth fold, and what the Challenges ship of PTB-XL and CPSC2018."""
    sources = [realdata / name for name in ("ptbxl", "cinc2021/ptb-xl", "cinc2021/cpsc_2018")]
    prepare(sources, tmp_path / "corpus", CorpusConfig(ptbxl_folds=(9,)), jobs=1)
    corpus = Corpus.open(tmp_path / "corpus")
    trained_on.write(corpus, tmp_path)
    asked = task_named(task).open(realdata / folder)
    judged = {asked.recordings.ids[row] for row in asked.row_M[asked.split_M != TRAIN]}
    bare = (name.removeprefix("HR") for name in corpus.ids)
    here = {str(int(name)) if name.isdigit() else name for name in bare}
    assert judged & here
    assert set(leak(tmp_path, asked).same_record) == judged & here
    table = pq.read_table(tmp_path / trained_on.FILE)
    nothing = pa.nulls(len(table), pa.string())
    nameless = table.set_column(0, "identity", nothing).set_column(1, "patient", nothing)
    pq.write_table(nameless, tmp_path / trained_on.FILE)
    assert set(leak(tmp_path, asked).same_signal) == judged & here


@pytest.mark.parametrize(("records", "every"), [(3, 1), (4_999, 1), (12_000, 3)])
def test_of_many_records_a_few_from_first_to_last_are_ranked(records, every):
    h_RD = np.random.default_rng(0).normal(size=(records + 1, 8)).astype(np.float32)
    task: Any = SimpleNamespace(row_M=np.arange(1, 1 + records))
    rank = reporting.rank_of({ENCODER: FeatureTable(h_RD, {})}, task)
    assert rank == pytest.approx(effective_rank(torch.from_numpy(h_RD[1::every])))


def test_where_no_loss_trained_the_pool_the_mean_of_h_is_ranked():
    task = SimpleNamespace(row_M=np.arange(30))
    h_RD, mean_RD = np.random.default_rng(0).normal(size=(2, 30, 6)).astype(np.float32)
    rank = reporting.rank_of({ENCODER: FeatureTable(h_RD, {}), MEAN_H: FeatureTable(mean_RD, {})}, task)  # type: ignore[arg-type]
    assert rank == pytest.approx(effective_rank(torch.from_numpy(mean_RD)))
