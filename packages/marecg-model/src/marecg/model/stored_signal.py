"""Windows as a corpus stores them: equally long, in whole microvolts, and identified by a hash.

Shapes: C leads (rows in `LEADS` order), L samples.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

MILLIVOLTS_PER_UNIT = np.float32(1e-3)
"""Factor that converts a stored signal, int16 in µV, to mV."""


def window(x_CL: NDArray[np.float32], length: int) -> tuple[NDArray[np.float32], int]:
    """Cut a signal to `length` samples, or pad it with zeros: [C, L] → ([C, length], valid samples).

    Source: section Signal preprocessing of the paper (cropped or zero-padded along the time axis).
    """
    n_valid = min(x_CL.shape[1], length)
    if n_valid == length:
        return x_CL[:, :length].astype(np.float32, copy=False), length
    y_CL = np.zeros((x_CL.shape[0], length), np.float32)
    y_CL[:, :n_valid] = x_CL
    return y_CL, n_valid


def to_microvolts(x_CL: NDArray[np.float32]) -> NDArray[np.int16]:
    """Convert millivolts to the whole microvolts that a corpus stores, clipped at ±32.767 mV."""
    limit = np.iinfo(np.int16).max
    y_CL = x_CL * 1000.0
    np.rint(y_CL, out=y_CL)
    return np.clip(y_CL, -limit, limit, out=y_CL).astype(np.int16)


def signal_hash(d_CL: NDArray[np.int16]) -> str:
    """Return a hash of a window.

    The window is in µV and in the order of `LEADS`. Copies of a record in different file formats therefore
    have the same hash.
    """
    return hashlib.sha256(np.ascontiguousarray(d_CL).data).hexdigest()[:32]
