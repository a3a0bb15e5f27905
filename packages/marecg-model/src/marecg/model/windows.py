"""Windows of one context, cut from a recording, and the joining of their results.

Shapes: K input leads, C the twelve leads, L samples, T patches, B windows of a batch, X any number of
values.
"""

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ecg_records.signal.leads import LEADS, lead_places
from ecg_records.signal.samples import COMPUTABLE_MV, FASTEST, SLOWEST, resample
from marecg.errors import UsageError
from marecg.model.config import ModelConfig


class Signal(Protocol):
    """A signal [C, L] in memory or on disk, sliced in increasing order of samples."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (C, L) of the signal."""

    def __getitem__(self, key: tuple[slice, slice], /) -> NDArray[np.float32]:
        """Return all leads of a range of samples."""


class Recording(NamedTuple):
    """Recording in the encoder's lead order and rate: x_CL in mV, zero if `absent_C` is True."""

    x_CL: Signal
    absent_C: NDArray[np.bool_]


class Window(NamedTuple):
    """Part of a recording, at most one context long.

    `start` is its first sample, `length` the number of samples of the recording. `last` is True for the
    recording's last window.
    """

    x_CL: NDArray[np.float32]
    absent_C: NDArray[np.bool_]
    start: int
    last: bool
    length: int


def recording(x_KL: ArrayLike, fs: float, leads: Sequence[str], config: ModelConfig) -> Recording:
    """Convert a recording in mV to the encoder's lead order and sampling rate.

    Raises `UsageError` as `arranged` does, and if a sample is NaN, infinite or too large to compute with.
    """
    given_KL = np.asarray(x_KL, np.float32)
    check_samples(given_KL)
    return arranged(given_KL, fs, leads, config)


def check_samples(given_KL: NDArray[np.float32]) -> None:
    """Raise `UsageError` if a sample is NaN, infinite or too large to compute with."""
    largest = max(given_KL.max(initial=0), -given_KL.min(initial=0))
    if not np.isfinite(largest):  # NaN stays NaN
        raise UsageError("signals hold NaN or infinite values", remedy="Mend or leave out those records")
    if largest > COMPUTABLE_MV:
        remedy = "Give millivolts; mend or leave out artefacts"
        raise UsageError(f"signals reach {largest:.1g} mV", remedy=remedy)


def required_rate(fs: float | None) -> float:
    """Return the sampling rate. Raises `UsageError` if it is missing or impossible."""
    if fs is None:
        raise UsageError("fs isn't given: the sampling rate in Hz", remedy="Give it, such as fs=500")
    if not isinstance(fs, Real) or not SLOWEST <= fs <= FASTEST:
        rate = f"{fs:g} Hz" if isinstance(fs, Real) else repr(fs)
        remedy = f"Give samples per second, {SLOWEST} to {FASTEST}"
        raise UsageError(f"{rate} isn't a sampling rate of an ECG", remedy=remedy)
    return fs


def arranged(
    given_KL: NDArray[np.float32], fs: float | None, leads: Sequence[str], config: ModelConfig
) -> Recording:
    """Convert a recording as `recording` does, but without checking its samples.

    A constant lead becomes zero, which hides it from an encoder. Raises `UsageError` if the leads, the rate
    or the shape are invalid, the rate is missing, or the recording is shorter than a patch.
    """
    places = lead_places(leads)
    fs = required_rate(fs)
    if given_KL.ndim != 2 or len(given_KL) != len(places):
        problem = f"a record has shape {given_KL.shape}, and {len(places)} leads are named"
        raise UsageError(problem, remedy="Give [leads, samples]")
    if given_KL.shape[1] * config.fs < config.patch * fs:
        remedy = f"Give at least {config.patch / config.fs:g} s; a heartbeat takes about one"
        raise UsageError(f"lasts {given_KL.shape[1] / fs:g} s, less than one patch", remedy=remedy)
    still_K1 = given_KL.min(axis=1, keepdims=True) == given_KL.max(axis=1, keepdims=True)
    resampled_KL = resample(np.where(still_K1, np.float32(0), given_KL), fs, config.fs)
    if places == list(range(len(LEADS))):  # the usual case: nothing to reorder
        return Recording(resampled_KL, np.zeros(len(LEADS), bool))
    x_CL = np.zeros((len(LEADS), resampled_KL.shape[1]), np.float32)
    x_CL[places] = resampled_KL
    absent_C = np.ones(len(LEADS), bool)
    absent_C[places] = False
    return Recording(x_CL, absent_C)


def windows(ecg: Recording, config: ModelConfig) -> list[Window]:
    """Cut a recording into the fewest windows that cover it, evenly spread, on the patch grid."""
    return list(_cut(ecg, _starts(ecg.x_CL.shape[1], config), config))


def _starts(length: int, config: ModelConfig) -> list[int]:
    reach = max(length, config.context)
    spread = np.linspace(0, reach - config.context, -(-reach // config.context))
    return sorted({int(start) // config.stride * config.stride for start in spread})


def _cut(ecg: Recording, starts: Sequence[int], config: ModelConfig) -> Iterator[Window]:
    length = ecg.x_CL.shape[1]
    for number, start in enumerate(starts, start=1):
        x_CL = ecg.x_CL[:, start : min(start + config.context, length)]
        yield Window(x_CL, ecg.absent_C, start, number == len(starts), length)


def tta_windows(ecg: Recording, config: ModelConfig) -> Iterator[Window]:
    """Return each window at `config.phases` offsets within one stride.

    These are all windows that an encoder reads. A beat then appears at several positions within a patch, so
    that results don't depend on a single position. A shifted window moves forward if there are more samples,
    otherwise backward. In a recording of one context or less it moves forward into padding.
    """
    length = ecg.x_CL.shape[1]
    shifts = [phase * config.stride // config.phases for phase in range(config.phases)]
    starts = [_shifted(start, by, length, config) for start in _starts(length, config) for by in shifts]
    return _cut(ecg, starts, config)


def _shifted(start: int, by: int, length: int, config: ModelConfig) -> int:
    later, earlier = start + by, start - by
    if later + config.context > length >= earlier + config.context >= config.context:
        return earlier
    return later if length - later >= config.patch else start


def stacked(
    cut: Sequence[Window], config: ModelConfig, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor, Tensor]:
    """Stack B windows on the model's device, zero-padded.

    Returns:
        x float32 [B, C, L], n_valid int64 [B], absent leads bool [B, C].
    """
    x_BCL = np.empty((len(cut), len(LEADS), config.context), np.float32)
    n_valid = [window.x_CL.shape[1] for window in cut]
    for x_CL, window, valid in zip(x_BCL, cut, n_valid, strict=True):
        x_CL[:, :valid], x_CL[:, valid:] = window.x_CL, 0
    absent_BC = np.stack([window.absent_C for window in cut])
    return (
        torch.from_numpy(x_BCL).to(device),
        torch.tensor(n_valid, device=device),
        torch.from_numpy(absent_BC).to(device),
    )


def overlapped(
    starts: Sequence[int], parts: Sequence[NDArray[np.float32]], config: ModelConfig
) -> NDArray[np.float32]:
    """Average the results of overlapping windows: one row per patch of the recording.

    The windows begin at `starts`, in samples on the patch grid, in ascending order. Each part has the shape
    [context_patches, X].
    """
    covered = starts[-1] // config.stride + config.context_patches
    total_TX = np.zeros((covered, parts[0].shape[1]), np.float32)
    seen_T1 = np.zeros((covered, 1), np.float32)
    for start, part_TX in zip(starts, parts, strict=True):
        patches = slice(start // config.stride, start // config.stride + config.context_patches)
        total_TX[patches] += part_TX
        seen_T1[patches] += 1
    return total_TX / seen_T1
