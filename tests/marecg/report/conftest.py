"""A finished run of the micro recipe with a probe, and its report."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from marecg.evaluate.scores.predictions import Predictions, save
from marecg.evaluate.scores.results import Report
from marecg.recipes import Config
from marecg.report.run_page import write_report
from marecg.train.run import train


@pytest.fixture(scope="session")
def run(micro: Config, corpus_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "a run & <more>"
    config = micro.model_copy(update={"train": micro.train.model_copy(update={"monitor_every": 2})})
    train(config, corpus_folder, folder)
    return folder


@pytest.fixture(scope="session")
def page(run: Path, corpus_folder: Path) -> Path:
    return write_report(run, corpus_folder)


@pytest.fixture
def probed(run: Path, report: Report, tmp_path: Path) -> Path:
    """The run with one probe, of which it kept four test records: two NORM, one of them taken for HYP."""
    folder = shutil.copytree(run, tmp_path / "runs" / "probed")
    (folder / "probe").mkdir()
    (folder / "probe" / "task-strict.json").write_text(report.model_dump_json())
    y_MK = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.uint8)
    logits = np.array([[[2.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 2.0]]])
    logits_of = {(name, 0.1): logits for name in ("encoder", "random encoder")}
    predictions = Predictions(tuple("abcd"), report.classes, y_MK, logits_of, "encoder")
    save(folder / "probe" / "task-strict.npz", predictions)
    return folder


@pytest.fixture
def report() -> Report:
    """Two methods of one task; the encoder saw three of its records."""
    norm = {"name": "NORM", "support": 48, "auc": {"mean": 0.81, "sd": None}, "ap": {"mean": 0.7, "sd": None}}
    asked = {"method": "encoder", "dimension": 16, "fraction": 0.1, "records": 71, "seeds": 2, "seconds": 1.0}
    auc = {"macro_auc": {"mean": 0.775, "sd": 0.012}, "interval": {"low": 0.7, "high": 0.83}}
    judged = {"classes": (norm,), "left_out": ("HYP",), "untrained": ((), ("NORM",))}
    cell = asked | auc | judged | {"versus_encoder": None, "val_macro_auc": None, "chosen": ()}
    versus = {"mean": -0.03, "low": -0.09, "high": 0.03, "p": 0.2}
    texts = ("normalisation", "policy", "folds", "window", "model")
    hashes = (f"{of}_sha256" for of in ("model", "ontology", "data", "task"))
    counts = {"train": 709, "val": 92, "test": 94, "unlabelled": 0, "missing": (), "unreadable": {"7": "NaN"}}
    return Report.model_validate(
        dict.fromkeys((*texts, *hashes), "as it was")
        | {"task": "ptbxl-super", "protocol": "strict", "reference": "encoder", "notes": ()}
        | {"classes": ("NORM", "HYP"), "records": counts}
        | {"leak": {"records": 3, "same_record": ("1", "2"), "same_patient": ("3",), "same_signal": ()}}
        | {"cells": (cell, cell | {"method": "random encoder", "versus_encoder": versus})}
    )
