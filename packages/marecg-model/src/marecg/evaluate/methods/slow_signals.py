"""Recordings at 100 Hz and of one length, for baselines that read the signal itself.

Shapes: B recordings, C leads, L samples at 500 Hz, N samples at 100 Hz.
"""

import numpy as np
from numpy.typing import NDArray

from marecg.ecg.signal import resample, window
from marecg.evaluate.tasks.task import FS

HZ = 100
SAMPLES = 10 * HZ


def slow_signals(signals: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The first ten seconds at 100 Hz, zeros behind a shorter recording: B arrays [C, L] → [B, C, N]."""
    return np.stack([window(resample(x_CL, FS, HZ), SAMPLES)[0] for x_CL in signals])
