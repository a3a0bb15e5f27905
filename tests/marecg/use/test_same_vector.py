"""The vector of one record is the same through every format, in any batch and in any order."""

import numpy as np
import pytest
import wfdb
from numpy.typing import NDArray
from tests.marecg.clinical_files import STEP_UV
from tests.marecg.made_records import make_ecg
from tests.marecg.read.test_stretch import LAYOUT, WRITERS

from marecg.base.config import LEADS
from marecg.read.inputs import read_one
from marecg.use.embed import embed

STEP_MV = STEP_UV / 1000
THROUGH_FORMATS, IN_BATCHES = 0.0, 1e-6
"""The largest differences, over the largest value of the vector, as docs/corpus/limits.md says them."""


def _whole_steps() -> NDArray[np.float64]:
    """A record in steps of the coarsest converter, whose limb leads follow from I and II in whole ones."""
    x_CL = np.round(make_ecg(seed=1) / STEP_MV)
    i, ii = x_CL[:2] = 2 * (x_CL[:2] // 2)
    x_CL[2:6] = ii - i, -(i + ii) / 2, i - ii / 2, ii - i / 2
    return x_CL * STEP_MV


def _wfdb(fmt: str):
    def write(path, x_CL):
        d_LC, place = np.rint(x_CL.T / STEP_MV).astype(int), str(path.parent)
        scale = {"fmt": [fmt] * 12, "adc_gain": [1 / STEP_MV] * 12, "baseline": [0] * 12}
        wfdb.wrsamp("r", 500, ["mV"] * 12, list(LEADS), d_signal=d_LC, write_dir=place, **scale)

    return write


X_CL = _whole_steps()
FORMATS = {**WRITERS, "16/r.hea": _wfdb("16"), "212/r.hea": _wfdb("212")}


def largest_difference(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(np.abs(one - other).max() / np.abs(other).max())


@pytest.fixture(scope="module")
def expected(model) -> NDArray[np.float32]:
    return embed(model, X_CL[None], fs=500, readout="wide").wide[0]


@pytest.mark.parametrize("name", FORMATS)
def test_through_every_format(model, expected, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    FORMATS[name](path, X_CL)
    layout = LAYOUT if path.suffix not in {".hea", ".xml", ".dcm", ".edf", ".scp"} else None
    record = read_one(path, layout)
    wide_W = embed(model, record.x_KL[None], fs=record.fs, leads=record.leads, readout="wide").wide[0]
    difference = largest_difference(wide_W, expected)
    assert difference <= THROUGH_FORMATS, f"{difference:.1e}"


@pytest.mark.parametrize("batch_size", [1, 3, 32])
@pytest.mark.parametrize("turn", [1, -1])
def test_in_any_batch_and_order(model, expected, batch_size, turn):
    x_BCL = np.stack([make_ecg(seed=seed) for seed in range(5)])
    x_BCL[2] = X_CL
    wide_BW = embed(model, x_BCL[::turn], fs=500, batch_size=batch_size, readout="wide").wide
    difference = largest_difference(wide_BW[2], expected)
    assert difference <= IN_BATCHES, f"{difference:.1e}"
