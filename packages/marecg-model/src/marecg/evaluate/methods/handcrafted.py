"""Define the hand-crafted baseline: a `method.Method` whose features are measurements.

The measurements of an ECG, such as intervals, come from `ecg_records.measurements.measured`.

Shapes: B recordings, C leads, L samples, F values.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from ecg_records.measurements import measured
from marecg.evaluate.methods.method import Method, Signals


def handcrafted() -> Method:
    """Return the baseline's `Method`. Its hash depends on `ecg_records.measurements.measured.VERSION`."""
    sha256 = hashlib.sha256(f"measured values, {measured.VERSION}".encode()).hexdigest()
    return Method("hand-crafted", sha256, _measured, apart=True)


def _measured(signals: Signals) -> NDArray[np.float64]:
    return np.stack([measured.measure(x_CL) for x_CL in signals])
