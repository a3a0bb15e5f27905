"""A PTB-XL folder of eighty synthetic records, runs whose encoder has learnt nothing, and a report on one."""

import csv
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import neurokit2 as nk
import numpy as np
import pytest
import torch
from tests.made_records import make_record
from tests.marecg.evaluate.made_tasks import HALF_AND_WHOLE, probed

from ecg_records.measurements import measured as measuring
from marecg.evaluate.methods.frozen_encoder import random_encoder
from marecg.evaluate.scores.results import Report
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Task
from marecg.model.config import ModelConfig

STATEMENTS = """,description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass
NORM,normal ECG,1.0,,,NORM,NORM
IMI,inferior myocardial infarction,1.0,,,MI,IMI
1AVB,first degree AV block,1.0,,,CD,_AVB
NST_,non-specific ST changes,1.0,1.0,,STTC,NST_
SR,sinus rhythm,,,1.0,,
"""
CODES = ({"NORM": 100.0, "SR": 0.0}, {"IMI": 0.0, "NST_": 50.0}, {"1AVB": 100.0, "SR": 0.0}, {"SR": 0.0})
"""What the records have in turn; the last has no diagnosis."""


@pytest.fixture(scope="session", autouse=True)
def _measured_once() -> Iterator[None]:
    """A signal is measured by hand once in all tests: that is three quarters of what a probe takes."""
    features: dict[str, np.ndarray] = {}
    measure = measuring.measure

    def measured(x_CL: np.ndarray, absent_C: np.ndarray | None = None) -> np.ndarray:
        key = f"{x_CL.shape}{hashlib.sha256(x_CL.tobytes()).hexdigest()}{absent_C}"
        if key not in features:
            features[key] = measure(x_CL, absent_C)
        return features[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(measuring, "measure", measured)
        yield


@pytest.fixture(scope="session")
def ptbxl_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighty records, eight per fold, shaped after their codes; record 81 is listed and not on disk."""
    root = tmp_path_factory.mktemp("ptbxl")
    (root / "scp_statements.csv").write_text(STATEMENTS)
    folder = root / "records500/00000"
    folder.mkdir(parents=True)
    with (root / "ptbxl_database.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["ecg_id", "patient_id", "age", "sex", "scp_codes", "strat_fold", "filename_hr"])
        for ecg_id in range(1, 82):
            name = f"{ecg_id:05d}_hr"
            codes = CODES[ecg_id % 4]
            fold = 1 + (ecg_id - 1) // 4 % 10
            table.writerow([ecg_id, ecg_id, 60, 0, str(codes), fold, f"records500/00000/{name}"])
            if ecg_id <= 80:
                make_record(folder, name, _beats(ecg_id, ecg_id % 4).T, comments=(), file=f"{name}.dat")
    return root


@pytest.fixture
def ptbxl_copy(ptbxl_root: Path, tmp_path: Path) -> Path:
    """The same folder once more, to be changed."""
    return shutil.copytree(ptbxl_root, tmp_path / "copy")


@pytest.fixture
def task(ptbxl_root: Path) -> Task:
    return task_named("ptbxl-super").open(ptbxl_root)


SMALL = ModelConfig(stride=50, positions=94, width=16, depth=1, heads=2, mlp_ratio=1, concept_width=8)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a very small encoder."""
    run = tmp_path_factory.mktemp("run")
    random_encoder(SMALL, seed=3).save_pretrained(run / "model")
    return run


@pytest.fixture(scope="session")
def report(run_folder, ptbxl_root) -> Report:
    """What probing that run found, at two fractions of the labels."""
    return probed(run_folder, "ptbxl-super", ptbxl_root, HALF_AND_WHOLE)


@pytest.fixture(scope="session")
def gscl_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a very small encoder that has concept prototypes."""
    run, model = tmp_path_factory.mktemp("gscl-run"), random_encoder(SMALL, seed=4)
    model.prototypes.copy_(torch.randn(40, 8, generator=torch.Generator().manual_seed(0)))
    model.save_pretrained(run / "model")
    return run


def _beats(seed: int, depth: int) -> np.ndarray:
    """Five seconds [2500, 12] of ECG whose rate and leads' heights depend on `depth`."""
    lead_L = nk.ecg_simulate(
        duration=5, sampling_rate=500, heart_rate=60 + 15 * depth, method="simple", random_state=seed
    )
    gains_C = np.linspace(1, 0.2 + 0.4 * depth, 12)
    noise_LC = np.random.default_rng(seed).normal(0, 0.02, (2500, 12))
    return 1.5 * lead_L[:2500, None] / np.ptp(lead_L) * gains_C + noise_LC
