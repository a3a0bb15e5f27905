"""Weights of two encoders, which marecg loads by name, and a synthetic ECG as an example."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EXAMPLE", "example"]

EXAMPLE = Path(__file__).parent / "example"
"""Path of a WFDB record, without suffix: ten synthetic seconds of atrial fibrillation in twelve leads."""
LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")


def example() -> "tuple[NDArray[np.float32], float, tuple[str, ...]]":
    """Return the example for `marecg.embed`: mV [12, 5000], sampling rate in Hz, and names of the leads.

    Example:
        >>> signal, fs, leads = example()
        >>> signal.shape, fs, leads[0]
        ((12, 5000), 500.0, 'I')
    """
    import numpy as np  # noqa: PLC0415 — the weights can be used without numpy

    microvolts = np.fromfile(EXAMPLE.with_suffix(".dat"), dtype="<i2").reshape(-1, len(LEADS)).T
    return (microvolts / 1000).astype(np.float32), 500.0, LEADS
