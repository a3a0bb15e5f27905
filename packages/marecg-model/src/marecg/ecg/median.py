"""The median of samples that are all numbers, a third to a half of `numpy.median`'s time.

Shapes: L samples.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def median(x_L: NDArray[np.floating]) -> Any:
    """`numpy.median` along the last axis, which partitions at several places; at one it is vectorised.

    Example:
        >>> float(median(np.array([3.0, 1.0, 2.0, 10.0])))
        2.5
    """
    middle = x_L.shape[-1] // 2
    parted_L = np.partition(x_L, middle, axis=-1)
    upper = parted_L[..., middle]
    return upper if x_L.shape[-1] % 2 else (parted_L[..., :middle].max(axis=-1) + upper) / 2
