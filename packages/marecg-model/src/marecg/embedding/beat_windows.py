"""Windows of recordings, with the beats and measurements that the readouts `beats` and `full` need.

A readout is a vector of features per record (`marecg.model.readout`). For both readouts, J patches around
each R-peak show the parts of a beat: P, QRS, ST and T.

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

MEASURED_AS_A_WHOLE_S = 30
"""Maximum length in seconds of a recording that is measured as a whole, not window by window."""


class ReadoutWindow(NamedTuple):
    """Window with the inputs that a readout needs.

    Attributes:
        window: Window of a recording.
        beats_JT: For each part j of a beat and each patch t, the number of beats whose part j is patch t.
        measured_F: Measurements of the recording, or of this window if the recording is long. None if the
            measurements come with another window of the recording, or the readout isn't `full`.
    """

    window: Window
    beats_JT: NDArray[np.float32] = np.zeros((len(BEAT), 0), np.float32)
    measured_F: NDArray[np.float32] | None = None


def readout_windows(
    recordings: Iterable[Recording], config: ModelConfig, readout: Readout
) -> Iterator[ReadoutWindow]:
    """Yield the windows of recordings (`windows.tta_windows`) with the inputs that a readout needs.

    R-peaks are detected once per window. The shifted copies of the window reuse them.
    """
    if readout not in ("beats", "full"):
        for ecg in recordings:
            yield from map(ReadoutWindow, tta_windows(ecg, config))
        return
    from ecg_records.measurements.rpeaks import detect_best  # noqa: PLC0415 (few readouts need beats)

    for ecg in recordings:
        peaks_n = np.zeros(0, np.int64)
        for window in tta_windows(ecg, config):
            if window.start % config.stride == 0:
                peaks_n = window.start + detect_best(window.x_CL, config.fs)
            patches = config.patches(window.x_CL.shape[1])
            measured_F = _measured(ecg, window, config) if readout == "full" else None
            yield ReadoutWindow(window, beat_patches(peaks_n - window.start, patches, config), measured_F)


def _measured(ecg: Recording, window: Window, config: ModelConfig) -> NDArray[np.float32] | None:
    """Return the measurements that belong to a window, or None if it has none.

    A recording is measured as a whole, and its measurements belong to its last window. A long recording is
    measured window by window. Shifted copies of a window aren't measured.
    """
    from ecg_records.measurements import measured  # noqa: PLC0415 (few readouts measure)
    from ecg_records.measurements.median_beat import FS  # noqa: PLC0415

    if window.length > MEASURED_AS_A_WHOLE_S * config.fs:
        due, x_CL, absent_C = window.start % config.stride == 0, window.x_CL, window.absent_C
    else:
        due, x_CL, absent_C = window.last, ecg.x_CL[:, : window.length], ecg.absent_C
    if not due:
        return None
    return measured.measure(resample(x_CL, config.fs, FS), absent_C | ~x_CL.any(axis=1)).astype(np.float32)


def beat_patches(peaks_n: NDArray[np.int64], patches: int, config: ModelConfig) -> NDArray[np.float32]:
    """Return the number of beats whose part j is patch t of the window, float32 [J, T].

    The encoder reads each window several times, shifted by fractions of the patch stride
    (`ModelConfig.phases`). A beat counts in this window only if:

    - a patch begins near the start of the beat's QRS, at most half a shift away.
    - all patches of the beat are in the window, and free of padding.

    Args:
        peaks_n: R-peaks in samples from the beginning of the window.
        patches: Number of patches in the window that are free of padding.
        config: Settings of the encoder.

    Example:
        >>> config = ModelConfig(patch=100, stride=100, context=800, positions=8)
        >>> beat_patches(np.array([245, 550]), 8, config).astype(int).argmax(axis=1)
        array([1, 2, 3, 4])
    """
    begin_J = np.round(np.array(BEAT) * config.fs).astype(np.int64)
    begin_n = peaks_n + begin_J[QRS]
    patch_n = np.round(begin_n / config.stride).astype(np.int64)
    patch_nJ = patch_n[:, None] + np.round((begin_J - begin_J[QRS]) / config.stride).astype(np.int64)
    gap_n = np.abs(begin_n - patch_n * config.stride)
    close_n = gap_n <= math.ceil(config.stride / (2 * config.phases))
    inside_n = ((patch_nJ >= 0) & (patch_nJ < patches)).all(axis=1)
    beats_JT = np.zeros((len(BEAT), config.context_patches), np.float32)
    np.add.at(beats_JT, (np.arange(len(BEAT)), patch_nJ[close_n & inside_n]), 1)
    return beats_JT
