"""Windows of recordings, with the further inputs of the readouts `beats` and `full`.

Shapes: n beats, J patches of a beat, T patches, C leads, L samples, F measured values.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_records.signal.samples import resample
from marecg.model.config import ModelConfig
from marecg.model.readout import BEAT, QRS, Readout
from marecg.model.windows import Recording, Window, tta_windows

WHOLE_S = 30
"""Longest recording, in seconds, that is measured as a whole. Longer recordings are measured by window."""


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
    """Yield the windows of `windows.tta_windows` with the inputs that a readout needs.

    R-peaks are detected once per window and reused for the shifted readings of the same window.
    """
    if readout not in ("beats", "full"):
        for ecg in recordings:
            yield from map(ShownWindow, tta_windows(ecg, config))
        return
    from ecg_records.measurements.rpeaks import detect_best  # noqa: PLC0415 (few readouts need beats)

    for ecg in recordings:
        peaks_n = np.zeros(0, np.int64)
        for window in tta_windows(ecg, config):
            if window.start % config.stride == 0:
                peaks_n = window.start + detect_best(window.x_CL, config.fs)
            patches = config.patches(window.x_CL.shape[1])
            measured_F = _measured(ecg, window, config) if readout == "full" else None
            yield ShownWindow(window, beat_patches(peaks_n - window.start, patches, config), measured_F)


def _measured(ecg: Recording, window: Window, config: ModelConfig) -> NDArray[np.float32] | None:
    """Measure a recording at its last window, or a long one in each window that begins at a patch."""
    from ecg_records.measurements import measured  # noqa: PLC0415 (few readouts measure)
    from ecg_records.measurements.median_beat import FS  # noqa: PLC0415

    if window.length > WHOLE_S * config.fs:
        due, x_CL, absent_C = window.start % config.stride == 0, window.x_CL, window.absent_C
    else:
        due, x_CL, absent_C = window.last, ecg.x_CL[:, : window.length], ecg.absent_C
    if not due:
        return None
    return measured.measure(resample(x_CL, config.fs, FS), absent_C | ~x_CL.any(axis=1)).astype(np.float32)


def beat_patches(peaks_n: NDArray[np.int64], patches: int, config: ModelConfig) -> NDArray[np.float32]:
    """Count the beats whose j-th patch is the context's patch t, float32 [J, T].

    A window is read from several beginnings (`ModelConfig.phases`). A beat counts in a reading if two
    conditions hold:

    - A patch begins as near as possible to the sample at which the reading of the QRS begins.
    - All patches of the beat lie within the first `patches` patches, which hold no padding.

    Args:
        peaks_n: R-peaks in samples from the beginning of the window.
        patches: number of patches of the window without padding.
        config: patch, stride and context of the encoder.

    Example:
        >>> config = ModelConfig(patch=100, stride=100, context=800, positions=8)
        >>> beat_patches(np.array([245, 550]), 8, config).astype(int).argmax(axis=1)
        array([1, 2, 3, 4])
    """
    begin_J = np.round(np.array(BEAT) * config.fs).astype(np.int64)
    begin_n = peaks_n + begin_J[QRS]
    place_n = np.round(begin_n / config.stride).astype(np.int64)
    place_nJ = place_n[:, None] + np.round((begin_J - begin_J[QRS]) / config.stride).astype(np.int64)
    gap_n = np.abs(begin_n - place_n * config.stride)
    near_n = gap_n <= math.ceil(config.stride / (2 * config.phases))
    inside_n = ((place_nJ >= 0) & (place_nJ < patches)).all(axis=1)
    beats_JT = np.zeros((len(BEAT), config.context_patches), np.float32)
    np.add.at(beats_JT, (np.arange(len(BEAT)), place_nJ[near_n & inside_n]), 1)
    return beats_JT
