"""Which patches of a window show the beats: what the beat readout gathers from.

Shapes: n beats, J patches of a beat, T patches, C leads, L samples.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.base.config import ModelConfig
from marecg.ecg.rpeaks import detect_best
from marecg.ecg.windows import Window
from marecg.model.readout import BEAT, QRS


class BeatWindow(NamedTuple):
    """A window, and how many beats are gathered from each of its patches: float32 [J, T]."""

    window: Window
    beats_JT: NDArray[np.float32] = np.zeros((len(BEAT), 0), np.float32)


def with_beats(cut: Iterable[Window], config: ModelConfig) -> Iterator[BeatWindow]:
    """The windows of `windows.tta_windows`, each with its beats.

    R-peaks are looked for once in a window, and hold for the other beginnings from which it is read.
    """
    peaks_n = np.zeros(0, np.int64)
    for window in cut:
        if window.start % config.stride == 0:
            peaks_n = window.start + detect_best(window.x_CL, config.fs)
        patches = config.patches(window.x_CL.shape[1])
        yield BeatWindow(window, beat_patches(peaks_n - window.start, patches, config))


def beat_patches(peaks_n: NDArray[np.int64], patches: int, config: ModelConfig) -> NDArray[np.float32]:
    """How many beats have their j-th patch where patch t is: float32 [J, T], T being the context's.

    Of the beginnings from which a window is read (`ModelConfig.phases`), a beat counts in those at which a
    patch begins as near as any can to where its QRS is read from, and all of its patches lie in the window,
    of which `patches` hold no padding. R-peaks are in samples from its beginning.

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
    for place_J in place_nJ[near_n & inside_n]:
        beats_JT[np.arange(len(BEAT)), place_J] += 1
    return beats_JT
