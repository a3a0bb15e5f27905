"""The median of samples that are all numbers. numpy partitions and checks, which takes four times as long."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def median(x_L: NDArray[np.floating]) -> Any:
    """`numpy.median` along the last axis; sorting is vectorised where partitioning isn't.

    Example:
        >>> float(median(np.array([3.0, 1.0, 2.0, 10.0])))
        2.5
    """
    ordered_L = np.sort(x_L, axis=-1)
    middle = ordered_L.shape[-1] // 2
    return (ordered_L[..., middle] + ordered_L[..., ~middle]) / 2
