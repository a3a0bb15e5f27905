"""A recording that every format can hold.

Shapes: C leads, L samples.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.ecg_records import clinical_files as files
from tests.made_records import make_ecg


@pytest.fixture(scope="session")
def x_CL() -> NDArray[np.float64]:
    """Twelve leads in whole steps of the coarsest format, whose limb leads follow from I and II in such."""
    x_CL = np.rint((make_ecg() + 0.2) * 1000 / files.STEP_UV)  # a baseline: no sample shall be zero
    i, ii = x_CL[:2] = 2 * (x_CL[:2] // 2)
    x_CL[2:6] = ii - i, -(i + ii) / 2, i - ii / 2, ii - i / 2
    return x_CL * (files.STEP_UV / 1000)
