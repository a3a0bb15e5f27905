"""Windows of recordings, with the inputs that an encoder's readout needs besides.

A readout that needs more than the encoder names the plug-in that finds it, which is loaded when it is asked
for: who embeds h_rhythm loads nothing that looks for beats or measures them.
Shapes: J patches of a beat, T patches, F measured values.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.model.config import ModelConfig
from marecg.model.readout import BEAT, Readout
from marecg.model.windows import Recording, Window, tta_windows

NOTHING = np.zeros(0, np.float32)
PLUG_INS: dict[Readout, tuple[str, str]] = {
    "beats": ("marecg.embedding.beat_windows", "with_beats"),
    "full": ("marecg.embedding.beat_windows", "with_measured"),
}
"""The module and the function of a readout that gathers from more than H."""


class ShownWindow(NamedTuple):
    """Window with its counts of beats by patch, float32 [J, T].

    `measured_F` are the measured values of what ends here, empty where nothing does.
    """

    window: Window
    beats_JT: NDArray[np.float32] = np.zeros((len(BEAT), 0), np.float32)
    measured_F: NDArray[np.float32] = NOTHING


Shows = Callable[[Iterable[Recording], ModelConfig], Iterator[ShownWindow]]
"""Cuts recordings into the windows of `tta_windows`, each with what is gathered from."""


def shown_windows(
    recordings: Iterable[Recording], config: ModelConfig, readout: Readout
) -> Iterator[ShownWindow]:
    """Yield the windows of `windows.tta_windows` with the inputs that a readout needs."""
    if readout in PLUG_INS:
        module, name = PLUG_INS[readout]
        shows: Shows = getattr(import_module(module), name)
        yield from shows(recordings, config)
    else:
        for ecg in recordings:
            yield from map(ShownWindow, tta_windows(ecg, config))
