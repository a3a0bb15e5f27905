"""Windows of recordings, with the further inputs that a readout needs.

The code that finds and measures beats is imported only for readouts that need it.
Shapes: J patches of a beat, T patches, F measured values.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.model.config import ModelConfig
from marecg.model.readout import BEAT, Readout
from marecg.model.windows import Recording, Window, tta_windows


class ShownWindow(NamedTuple):
    """Window with its counts of beats by patch, float32 [J, T].

    `measured_F` holds the measured values of the recording or stretch that ends with this window. It is None
    if nothing ends here.
    """

    window: Window
    beats_JT: NDArray[np.float32] = np.zeros((len(BEAT), 0), np.float32)
    measured_F: NDArray[np.float32] | None = None


def shown_windows(
    recordings: Iterable[Recording], config: ModelConfig, readout: Readout
) -> Iterator[ShownWindow]:
    """Yield the windows of `windows.tta_windows` with the inputs that a readout needs."""
    if readout in ("beats", "full"):
        from marecg.embedding.beat_windows import with_beats  # noqa: PLC0415 (it loads the measurements)

        yield from with_beats(recordings, config, measure=readout == "full")
    else:
        for ecg in recordings:
            yield from map(ShownWindow, tta_windows(ecg, config))
