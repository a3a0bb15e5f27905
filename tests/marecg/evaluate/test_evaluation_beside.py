"""What is judged beside a run or without one: other features, a model, a store, several runs."""

import hashlib
import shutil
from dataclasses import replace

import fsspec
import numpy as np
import pytest
from tests.marecg.evaluate.made_tasks import ALONE, WHOLE, probed, untimed

from marecg.corpus import trained_on
from marecg.corpus.prepared import Corpus
from marecg.errors import UsageError
from marecg.evaluate.probe.protocol import Protocol
from marecg.evaluate.scores.results import Report


def test_another_models_features_go_through_the_same_protocol(run_folder, task, ptbxl_root, tmp_path):
    labels = np.zeros((80, task.y_MK.shape[1]))
    labels[task.row_M] = task.y_MK
    np.savez(tmp_path / "other.npz", ids=np.array(task.recordings.ids), features=labels)
    other = {"oracle": tmp_path / "other.npz"}
    cell = probed(run_folder, "ptbxl-super", ptbxl_root, ALONE, features=other).cells[-1]
    assert (cell.method, cell.dimension, cell.macro_auc.mean) == ("oracle", 4, 1.0)


def test_other_features_are_judged_without_a_run_beside_the_hand_crafted_ones(task, ptbxl_root, tmp_path):
    noise = np.random.default_rng(0).normal(size=(80, 3))
    np.savez(tmp_path / "other.npz", ids=np.array(task.recordings.ids), features=noise)
    files = {"ECG-FM": tmp_path / "other.npz"}
    report = probed(None, "ptbxl-super", ptbxl_root, WHOLE, features=files, out=tmp_path / "ecg-fm")
    assert [cell.method for cell in report.cells] == ["ECG-FM", "hand-crafted"]
    assert (report.reference, report.leak, report.ontology_sha256) == ("ECG-FM", None, "")
    assert report.model_sha256 == hashlib.sha256((tmp_path / "other.npz").read_bytes()).hexdigest()
    assert report.cells[0].versus_encoder is None
    assert report.cells[1].versus_encoder.mean > 0
    path = tmp_path / "ecg-fm/probe/ptbxl-super-strict.json"
    assert Report.model_validate_json(path.read_text()) == report


def test_a_model_alone_is_probed_where_its_report_has_a_place(
    run_folder, corpus_folder, ptbxl_root, tmp_path
):
    sent = shutil.copytree(run_folder / "model", tmp_path / "sent")
    with pytest.raises(UsageError, match="--out must name a folder"):
        probed(sent, "ptbxl-super", ptbxl_root, ALONE)
    unknown = probed(sent, "ptbxl-super", ptbxl_root, ALONE, out=tmp_path / "out")
    assert unknown.leak is None
    assert (tmp_path / "out/probe/ptbxl-super-strict.json").is_file()
    assert not (sent / "probe").exists()
    trained_on.write(Corpus.open(corpus_folder), sent)
    listed = probed(sent, "ptbxl-super", ptbxl_root, ALONE, out=tmp_path / "out")
    assert listed.leak is not None
    assert listed.leak.records == 0


def test_one_in_a_store_is_probed_where_its_report_has_a_place(run_folder, ptbxl_root, tmp_path, monkeypatch):
    monkeypatch.setenv("ECG_RECORDS_CACHE", str(tmp_path / "cache"))
    store = fsspec.filesystem("memory")
    store.put(str(run_folder / "model"), f"/{tmp_path.name}/run/model", recursive=True)
    with pytest.raises(UsageError, match="--out must name a folder"):
        probed(f"memory://{tmp_path.name}/run", "ptbxl-super", ptbxl_root, ALONE)
    report = probed(f"memory://{tmp_path.name}/run", "ptbxl-super", ptbxl_root, ALONE, out=tmp_path / "out")
    assert report.reference == "encoder"
    assert (tmp_path / "out/probe/ptbxl-super-strict.json").is_file()


@pytest.mark.slow
def test_what_stands_beside_several_runs_is_fitted_once(run_folder, gscl_run, ptbxl_root, monkeypatch):
    fitted: list[object] = []
    original = Protocol.trials
    monkeypatch.setattr(Protocol, "trials", lambda *args: fitted.append(args[1]) or original(*args))
    shared = {"features_in": run_folder / "features", "cache": {}}
    probed(run_folder, "ptbxl-super", ptbxl_root, WHOLE, **shared)
    beside = probed(gscl_run, "ptbxl-super", ptbxl_root, WHOLE, **shared)
    assert len(fitted) == 8  # two encoders, read three ways; a random one of their shape; hand-crafted
    alone = probed(gscl_run, "ptbxl-super", ptbxl_root, WHOLE, features_in=run_folder / "features")
    assert untimed(beside) == untimed(alone)
    half = probed(gscl_run, "ptbxl-super", ptbxl_root, replace(WHOLE, fractions=(0.5,)), **shared)
    assert {cell.fraction for cell in half.cells} == {0.0, 0.5}
