"""Hand-crafted baseline: the values of `marecg.ecg.measured` as a method.

Shapes: B recordings, C leads, L samples, F values.
"""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marecg.ecg import (
    coincidence,
    delineation,
    intervals,
    measured,
    median_beat,
    pacing,
    pan_tompkins,
    refine,
    rpeaks,
)
from marecg.evaluate.methods.method import Method, Signals


def handcrafted() -> Method:
    """Return the baseline as a method; its hash changes with the measuring code."""
    beats = (median_beat, rpeaks, coincidence, pacing, pan_tompkins, refine)
    files = (str(module.__file__) for module in (measured, intervals, delineation, *beats))
    sha256 = hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()
    return Method("hand-crafted", sha256, _measured, apart=True)


def _measured(signals: Signals) -> NDArray[np.float64]:
    return np.stack([measured.measure(x_CL) for x_CL in signals])
