"""Define the hand-crafted baseline: the values of `ecg_records.measurements.measured` as a method.

Shapes: B recordings, C leads, L samples, F values.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from ecg_records.measurements import measured
from marecg.evaluate.methods.method import Method, Signals


def handcrafted() -> Method:
    """Return the baseline as a method. Its hash depends on `ecg_records.measurements.measured.VERSION`."""
    sha256 = hashlib.sha256(f"measured values, {measured.VERSION}".encode()).hexdigest()
    return Method("hand-crafted", sha256, _measured, apart=True)


def _measured(signals: Signals) -> NDArray[np.float64]:
    return np.stack([measured.measure(x_CL) for x_CL in signals])
