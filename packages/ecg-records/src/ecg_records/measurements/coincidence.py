"""Detect R-peaks in all leads together. A beat appears in most leads at the same time.

Pacemaker spikes are removed first. Each lead is filtered to 8–30 Hz, a band in which QRS complexes are strong
and T waves are weak. The strength of a lead is its amplitude relative to its usual QRS complex. Detection
uses the mean strength over leads. So a T wave that is taller than R in a few leads doesn't count as a beat,
and neither does an artefact of one electrode. In LUDB, the Lobachevsky University database, every QRS complex
of the odd records has a mean strength of at least 0.41, and every T wave at most 0.29.

Shapes: N records, C leads, L samples, M decimated samples, H frequencies, n beats of a record, K beats
of all records, W samples around a beat.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.ndimage import uniform_filter1d
from scipy.signal import sosfreqz

from ecg_records.measurements.pacing import without_spikes
from ecg_records.measurements.refine import HALF_QRS, REFRACTORY, by_lead, flat, unexplained
from ecg_records.signal.filters import band
from ecg_records.signal.samples import median

BAND_HZ = (8, 30)
DECIMATED_HZ = 125
"""Approximate sampling rate in Hz after decimation. It is high enough for `BAND_HZ`."""
BEYOND_S = 0.25
"""Seconds by which the signal is extended at both ends, as a mirror image through its end point. So the
filter settles outside the record."""
WIDTH_S = 0.08
"""Width of a QRS complex in s, over which the energy is averaged."""
STRETCH_S = 2
"""Length of a stretch in s.

Most stretches contain a beat, even at 25 beats per minute. The median of the maxima of all stretches is the
strength of a usual QRS complex.
"""
LEAST_MV = 0.002
"""Minimum amplitude of QRS complexes in the band. A lead with smaller complexes is ignored."""
LEAST_WEIGHT, RESTLESS = 0.05, 2
"""Minimum weight of a lead, and the factor by which noise between QRS complexes lowers the weight."""
TALLEST = 1.5
"""Maximum strength of a lead, relative to a usual QRS complex. The limit prevents false beats from an
artefact in one lead."""
BEAT, HALF_BEAT = 0.33, 0.5
"""Minimum strength of a beat: relative to a usual QRS complex, and relative to a stronger beat at most
`T_WAVE` seconds away."""

Floats = NDArray[np.float32]


def coincident_beats(raw_NCL: NDArray[np.floating], fs: float) -> list[NDArray[np.int64]]:
    """Return the R-peaks of records of equal length, int64 [n] per record. Leads with NaN are ignored.

    Args:
        raw_NCL: the signals in mV.
        fs: sampling rate in Hz.
    """
    x_NCL = np.asarray(raw_NCL, np.float32)
    if not np.isfinite(x_NCL).all():
        x_NCL = np.where(np.isfinite(x_NCL).all(axis=-1, keepdims=True), x_NCL, 0)
    x_NCL = np.stack([without_spikes(x_CL, fs) for x_CL in x_NCL]) if len(x_NCL) else x_NCL
    step = max(1, round(fs / DECIMATED_HZ))
    x_NCMs = x_NCL[..., : x_NCL.shape[-1] // step * step].reshape(*x_NCL.shape[:2], -1, step)
    slow_NCM = x_NCMs @ np.full(step, 1 / step, np.float32)
    share_NM, weight_NC = _shares(slow_NCM, fs / step)
    return _r_peaks(x_NCL, slow_NCM, [_beats(share_M, fs / step) for share_M in share_NM], weight_NC, fs)


def _shares(slow_NCM: Floats, fs: float) -> tuple[Floats, Floats]:
    """Return the mean strength over all leads, [N, M], and a factor for each lead, [N, C].

    The factor converts mV of a lead to weighted strength.
    """
    band_NCM = _in_band(slow_NCM, fs)
    energy_NCM = uniform_filter1d(np.square(band_NCM, out=band_NCM), round(WIDTH_S * fs) | 1)
    strength_NCM = np.sqrt(np.maximum(energy_NCM, 0, out=energy_NCM), out=energy_NCM)  # sums dip below 0
    samples = slow_NCM.shape[-1]
    stretches = np.linspace(0, samples, max(1, round(samples / fs / STRETCH_S)), endpoint=False).astype(int)
    complex_NC = median(np.maximum.reduceat(strength_NCM, stretches, axis=-1))
    rest_NC = median(strength_NCM[..., ::4])
    there_NC = complex_NC > np.maximum(LEAST_MV, rest_NC)
    above_NC = np.where(there_NC, complex_NC - rest_NC, 1)
    quiet_NC = np.clip(1 - RESTLESS * rest_NC / np.where(there_NC, complex_NC, 1), LEAST_WEIGHT, 1)
    weight_NC = np.where(there_NC, quiet_NC, 0)
    strength_NCM -= rest_NC[..., None]
    strength_NCM /= above_NC[..., None]
    np.clip(strength_NCM, 0, TALLEST, out=strength_NCM)
    total_N1 = np.maximum(weight_NC.sum(1, keepdims=True), np.finfo(float).tiny)
    return np.einsum("nc,ncm->nm", weight_NC / total_N1, strength_NCM), weight_NC / above_NC


def _beats(share_M: Floats, fs: float) -> NDArray[np.int64]:
    """Return the maxima of the mean strength that are beats, not T waves of a stronger beat nearby."""
    inner_M = share_M[1:-1]
    tops = np.flatnonzero((share_M[:-2] < inner_M) & (inner_M >= share_M[2:]) & (inner_M >= BEAT)) + 1
    return unexplained(tops, share_M, fs, HALF_BEAT)


def _r_peaks(
    x_NCL: Floats, slow_NCM: Floats, tops: Sequence[NDArray[np.int64]], weight_NC: Floats, fs: float
) -> list[NDArray[np.int64]]:
    """Return the R-peaks: near each maximum, the sample at which the leads are farthest from their mean."""
    step, half = max(1, round(fs / DECIMATED_HZ)), round(HALF_QRS * fs)
    level_NCM = uniform_filter1d(slow_NCM, round(2 * REFRACTORY * fs / step) | 1)
    record_K, tops_K = flat(tops)
    centre_K = tops_K * step + step // 2
    place_KW = np.clip(centre_K[:, None] + np.arange(-half, half + 1), 0, x_NCL.shape[-1] - 1)
    lead_C1 = np.arange(x_NCL.shape[1])[:, None]
    departure_KCW = x_NCL[record_K[:, None, None], lead_C1, place_KW[:, None]]
    departure_KCW -= level_NCM[record_K, :, tops_K][..., None]
    departure_KCW *= weight_NC[record_K][..., None]
    farthest_K = np.square(departure_KCW, out=departure_KCW).sum(1).argmax(-1)
    peaks_K = place_KW[np.arange(len(tops_K)), farthest_K]
    return [np.unique(peaks_n) for peaks_n in by_lead(peaks_K, tops)]


def _in_band(slow_NCM: Floats, fs: float) -> Floats:
    """Filter to `BAND_HZ` without delay. The frequency domain is used because it is faster."""
    beyond, samples = round(BEYOND_S * fs), slow_NCM.shape[-1]
    sides = ((0, 0),) * (slow_NCM.ndim - 1) + ((beyond, beyond),)
    longer_NCM = np.pad(slow_NCM, sides, mode="reflect", reflect_type="odd")
    length = fft.next_fast_len(longer_NCM.shape[-1], real=True)
    spectrum_NCH = fft.rfft(longer_NCM, length) * _gain(fs, length)
    return np.asarray(fft.irfft(spectrum_NCH, length)[..., beyond : beyond + samples], np.float32)


@cache
def _gain(fs: float, length: int) -> Floats:
    """Return the gain at each frequency of a second-order filter that is applied forwards and backwards."""
    _, gain_H = sosfreqz(band(2, fs, BAND_HZ), fft.rfftfreq(length, 1 / fs), fs=fs)
    return np.asarray(np.abs(gain_H) ** 2, np.float32)
