"""Second R-peak detector of all leads: a rate is believed if two independent detectors agree on it.

Shapes: C leads, L samples, n beats.
"""

import numpy as np
from numpy.typing import NDArray

from marecg.ecg.pacing import without_spikes
from marecg.ecg.pan_tompkins import in_band, search
from marecg.ecg.refine import REFRACTORY, energy, refined
from marecg.ecg.rpeaks import SHORTEST, still_as_zero

STEEP_HZ = (7, 20)
"""Lower than the first detector's band: it also sees wide ectopic beats, which have little above 20 Hz."""
WEAK_IN_ALL = 0.12
"""Share of a usual beat's energy in all leads together below which there is a P wave, or noise."""


def detect_again(raw_CL: NDArray[np.floating], fs: float) -> NDArray[np.int64]:
    """Find R-peaks independently of `rpeaks`: Pan and Tompkins' thresholds on the energy of all leads.

    Another band, another threshold and no vote of the leads: where both agree on the rate, it is believed.
    """
    if raw_CL.shape[1] < SHORTEST * fs:
        return np.zeros(0, np.int64)
    x_CL = without_spikes(still_as_zero(np.asarray(raw_CL, np.float64)), fs)
    total_1L = _over_leads(energy(x_CL, fs, STEEP_HZ))
    squared_1L = _over_leads(np.square(np.diff(in_band(x_CL, fs), axis=1)))
    forth, back = (search(each_1L, fs, REFRACTORY)[0] for each_1L in (squared_1L, squared_1L[:, ::-1]))
    answers = np.array([*forth, *(x_CL.shape[1] - 1 - place for place in back)], np.int64)
    return refined([answers], np.sqrt(total_1L), total_1L, fs, WEAK_IN_ALL)[0]


def _over_leads(energy_CL: NDArray[np.float64]) -> NDArray[np.float64]:
    """The squared mean over leads of the roots [1, L], each in units of its own: no lead's artefact rules."""
    root_CL = np.sqrt(np.maximum(energy_CL, 0))
    mean_C1 = np.sqrt(energy_CL.mean(1, keepdims=True))
    in_units_CL = np.divide(root_CL, mean_C1, out=np.zeros_like(root_CL), where=mean_C1 > 0)
    return np.asarray(np.square(in_units_CL.mean(0, keepdims=True)))
