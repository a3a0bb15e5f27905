"""Compute the median beat of a record, on which `intervals` measures.

Beats are aligned by the correlation of their slopes over all leads. Beats that don't correlate with most
other beats (ectopic beats, artefacts) are left out, as in the program MEANS (van Bemmel, Kors & van Herpen
1990, Methods Inf Med 29:346).

Shapes: K leads, L samples at 500 Hz, N beats, B samples of a beat, W samples of a QRS complex, S shifts,
F samples of a QRS complex in all leads, H frequencies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import fft

from ecg_records.measurements import rpeaks
from ecg_records.signal.filters import band, zero_phase

FS = 500
BEFORE, AFTER = 250, 325
"""Samples of a beat before and after its R-peak: 500 ms contain a PR of 400 ms, and 650 ms contain a long
QT."""
BASELINE_HZ = 0.5
QRS_HZ = 40
"""Cut-off of the low-pass filter before beats are compared. Muscle noise and mains hum have higher
frequencies."""
HALF, SHIFT = 40, 25
"""Samples compared on either side of an R-peak, and samples by which a peak may move during alignment."""
NEAR, ALIKE = 0.6, 0.8
"""Minimum correlation of two similar beats before alignment, which chooses the first template, and of a beat
with the template after alignment."""
ROUNDS = 3
ONSET, SIMILAR = 80, 0.6
"""Maximum number of samples from the start of an ectopic complex to its R-peak, and minimum ratio of beats of
the second shape to beats of the dominant shape. With a lower ratio, `others_N` is empty.
"""
ALTERNATE, COMES_EARLY = 0.8, 0.45
"""Two shapes alternate if at least `ALTERNATE` of the beats differ from the previous beat. A beat comes early
if it lies in the first `COMES_EARLY` of the time between its neighbours."""

Floats = NDArray[np.float64]
Shapes = tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True)
class AlignedBeats:
    """Beats of a record, aligned by their QRS complexes.

    Attributes:
        x_KL: the record in mV, without baseline wander.
        peaks_N: aligned R-peaks as samples. Beats too close to an end of the record are left out.
        alike_N: true for beats of the dominant shape.
        others_N: true for beats of a second shape that is about as frequent. Most records have no such beats.
        rr: median RR interval in s, NaN with fewer than two beats.
        found_N: all detected R-peaks as samples, before alignment. May be longer than `peaks_N`.
        next_N: earliest sample at which the QRS complex of the next beat may start.
    """

    x_KL: Floats
    peaks_N: NDArray[np.int64]
    alike_N: NDArray[np.bool_]
    others_N: NDArray[np.bool_]
    rr: float
    found_N: NDArray[np.int64]
    next_N: NDArray[np.int64]

    @cached_property
    def windows_NKB(self) -> Floats:
        """Return the signal around each beat of the dominant shape, as `windows` does."""
        return self.windows(self.alike_N)

    @cached_property
    def median_KB(self) -> Floats:
        """Return the median beat of the dominant shape."""
        return median_beat(self.windows_NKB)

    def windows(self, chosen_N: NDArray[np.bool_]) -> Floats:
        """Return the signal around each chosen beat, [N, K, B].

        Samples outside the record are NaN. If the next beat isn't chosen, the samples from its QRS complex on
        are also NaN.
        """
        padded_KL = np.pad(self.x_KL, ((0, 0), (BEFORE, AFTER)), constant_values=np.nan)
        windows_NKB = np.stack(
            [padded_KL[:, peak : peak + BEFORE + AFTER] for peak in self.peaks_N[chosen_N]]
        )
        for window_KB, beat in zip(windows_NKB, np.flatnonzero(chosen_N).tolist(), strict=True):
            if not chosen_N[beat + 1 : beat + 2].any():
                window_KB[:, BEFORE + max(0, self.next_N[beat] - self.peaks_N[beat]) :] = np.nan
        return windows_NKB


def beats(x_KL: NDArray[np.floating], order: Sequence[int]) -> AlignedBeats:
    """Find and align the beats of a record.

    Args:
        x_KL: signals in mV at 500 Hz.
        order: row numbers of `x_KL` in the order of the result, with leads I and II first.
    """
    raw_KL = np.nan_to_num(np.asarray(x_KL, np.float64))[list(order)]
    found_N = rpeaks.detect_best(raw_KL, FS)
    margin = HALF + SHIFT
    peaks_N = found_N[(found_N >= margin) & (found_N < raw_KL.shape[1] - margin)]
    if len(peaks_N) < 2:
        every_N = np.ones(len(peaks_N), bool)
        return AlignedBeats(raw_KL, peaks_N, every_N, ~every_N, np.nan, found_N, peaks_N)
    x_KL = zero_phase(raw_KL, band(2, FS, BASELINE_HZ, "high"))
    next_N = np.append(found_N, raw_KL.shape[1] + AFTER)[np.searchsorted(found_N, peaks_N) + 1] - ONSET
    shapes = _shapes(np.gradient(low_pass(x_KL, QRS_HZ), axis=1), peaks_N)
    return AlignedBeats(x_KL, *shapes, float(np.median(np.diff(found_N))) / FS, found_N, next_N)


def come_early(peaks_N: NDArray[np.int64], chosen_N: NDArray[np.bool_]) -> bool:
    """Return whether the chosen beats lie closer to the previous beat than to the next beat."""
    position_N = (peaks_N[1:-1] - peaks_N[:-2]) / (peaks_N[2:] - peaks_N[:-2])
    return bool(chosen_N[1:-1].any()) and float(np.median(position_N[chosen_N[1:-1]])) < COMES_EARLY


def median_beat(windows_NKB: Floats) -> Floats:
    """Return the median over beats, [K, B], from the windows that `AlignedBeats.windows` returns.

    A sample of a window must be NaN in all leads or in none. After the last sample that is known in any
    window, the last value is repeated.
    """
    count_B = np.isfinite(windows_NKB[:, 0]).sum(0)
    median_KB = np.zeros(windows_NKB.shape[1:])
    for count in np.unique(count_B[count_B > 0]):  # few counts: most windows are complete
        sorted_NKB = np.sort(windows_NKB[:, :, count_B == count], axis=0)  # NaN comes last
        median_KB[:, count_B == count] = sorted_NKB[(count - 1) // 2 : count // 2 + 1].mean(0)
    if not count_B[-1]:
        last = int(np.flatnonzero(count_B)[-1])
        median_KB[:, last + 1 :] = median_KB[:, [last]]
    return median_KB


def low_pass(x: Floats, hertz: float) -> Floats:
    """Apply a low-pass filter without delay along the last axis."""
    return zero_phase(x, band(2, FS, hertz, "low"))


def _shapes(slope_KL: Floats, peaks_N: NDArray[np.int64]) -> Shapes:
    """Return the aligned peaks, and flags for beats of the dominant shape and of a second shape.

    In a bigeminy, normal and ectopic beats alternate, so both shapes are equally frequent. The late beats are
    then taken as dominant, because the early beats are ectopic.
    """
    aligned_N, alike_N = _aligned(slope_KL, peaks_N)
    rest_N, others_N, least = ~alike_N, np.zeros_like(alike_N), max(2, SIMILAR * alike_N.sum())
    if rest_N.sum() >= least:
        moved_N, same_N = _aligned(slope_KL, peaks_N[rest_N])
        if same_N.sum() >= least:
            aligned_N[rest_N], others_N[rest_N] = moved_N, same_N
            alternate = (alike_N[1:] != alike_N[:-1]).mean() >= ALTERNATE
            if others_N.sum() > alike_N.sum() or (alternate and come_early(peaks_N, alike_N)):
                alike_N, others_N = others_N, alike_N
    return aligned_N, alike_N, others_N & (others_N.sum() >= SIMILAR * alike_N.sum())


def _aligned(slope_KL: Floats, peaks_N: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Move each peak to its best fit with the dominant QRS complex, and return whether it fits well."""
    complex_LKW = sliding_window_view(slope_KL, 2 * HALF, axis=1).transpose(1, 0, 2)
    energy_L = np.convolve(np.square(slope_KL).sum(0), np.ones(2 * HALF), "valid")
    least = max(1e-18 * energy_L.max(), np.finfo(float).tiny)  # lower energies are rounding errors
    length_L = np.sqrt(np.maximum(energy_L, least))
    spectrum_KH = fft.rfft(slope_KL)
    first_N = peaks_N - HALF
    unit_NF = complex_LKW[first_N].reshape(len(first_N), -1) / length_L[first_N, None]
    near_NN = unit_NF @ unit_NF.T
    template_KW = complex_LKW[first_N[np.argmax((near_NN > NEAR).sum(1) + near_NN.mean(1) / 100)]]
    for _ in range(ROUNDS):
        template_KH = fft.rfft(template_KW / max(np.linalg.norm(template_KW), least), slope_KL.shape[1])
        dot_L = fft.irfft((spectrum_KH * template_KH.conj()).sum(0), slope_KL.shape[1])
        fits_NS = (dot_L[: len(length_L)] / length_L)[first_N[:, None] + np.arange(-SHIFT, SHIFT + 1)]
        fits_N = fits_NS.max(1)
        alike_N = (fits_N > ALIKE) | (fits_N == fits_N.max())
        first_N = np.clip(first_N + fits_NS.argmax(1) - SHIFT, SHIFT, len(length_L) - SHIFT - 2)
        template_KW = median_beat(complex_LKW[first_N[alike_N]])
    return first_N + HALF, alike_N
