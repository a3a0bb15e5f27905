"""Cut recordings into windows as long as the encoder's context, and join the results of the windows.

`tta_windows`, `stacked` and `overlapped` process recordings of any length one at a time, also from disk.
`cut`, `mean_of` and `overlapped_records` process a batch with torch operations, so that gradients flow
through them and a network can be traced. Both use the same windows (`window_starts`).

Shapes: K input leads, C the twelve leads, L samples, T patches, B windows or records of a batch, X any number
of values, D width, W windows of all records, P offsets, U windows at all offsets.
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
    """A signal [C, L] in memory or on disk.

    Take slices in increasing order, because a signal on disk keeps few of the samples before a slice.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (C, L) of the signal."""

    def __getitem__(self, key: tuple[slice, slice], /) -> NDArray[np.float32]:
        """Return all leads of a range of samples."""


class Recording(NamedTuple):
    """Recording in the encoder's lead order and sampling rate. x_CL is in mV, and zero in absent leads."""

    x_CL: Signal
    absent_C: NDArray[np.bool_]


class Window(NamedTuple):
    """Part of a recording, at most as long as the context.

    Attributes:
        x_CL: signal in mV.
        absent_C: mask of absent leads.
        start: first sample of the window in the recording.
        last: whether this is the recording's last window.
        length: number of samples of the recording.
    """

    x_CL: NDArray[np.float32]
    absent_C: NDArray[np.bool_]
    start: int
    last: bool
    length: int


def recording(x_KL: ArrayLike, fs: float, leads: Sequence[str], config: ModelConfig) -> Recording:
    """Convert a recording in mV to the encoder's lead order and sampling rate.

    Raises `UsageError` if the leads, the rate or the shape are invalid, if the recording is shorter than a
    patch, or if a sample is NaN, infinite or larger than `COMPUTABLE_MV`.
    """
    x_KL = np.asarray(x_KL, np.float32)
    check_samples(x_KL)
    return arranged(x_KL, fs, leads, config)


def check_samples(x_KL: NDArray[np.float32]) -> None:
    """Raise `UsageError` if a sample is NaN, infinite or larger than `COMPUTABLE_MV`."""
    largest = max(x_KL.max(initial=0), -x_KL.min(initial=0))
    if not np.isfinite(largest):  # NaN stays NaN
        raise UsageError(
            "signals must be finite, got NaN or infinite values", remedy="Repair or omit those records"
        )
    if largest > COMPUTABLE_MV:
        remedy = "Give millivolts, and remove artefacts"
        raise UsageError(
            f"signals must be at most {COMPUTABLE_MV:.1g} mV, got {largest:.1g} mV", remedy=remedy
        )


def required_rate(fs: float | None) -> float:
    """Return the sampling rate. Raises `UsageError` if it is missing or impossible."""
    if fs is None:
        raise UsageError("fs, the sampling rate in Hz, is required", remedy="For example fs=500")
    if not isinstance(fs, Real) or not SLOWEST <= fs <= FASTEST:
        rate = f"{fs:g} Hz" if isinstance(fs, Real) else repr(fs)
        raise UsageError(f"fs must be {SLOWEST} to {FASTEST} Hz, got {rate}")
    return fs


def arranged(
    x_KL: NDArray[np.float32], fs: float | None, leads: Sequence[str], config: ModelConfig
) -> Recording:
    """Convert a recording as `recording` does, but without checking its samples.

    A constant lead becomes zero, which hides it from the encoder. Raises `UsageError` if the leads, the rate
    or the shape are invalid, or if the recording is shorter than a patch.
    """
    lead_rows = lead_places(leads)
    fs = required_rate(fs)
    if x_KL.ndim != 2 or len(x_KL) != len(lead_rows):
        problem = f"a record must be [{len(lead_rows)} leads, samples], got shape {x_KL.shape}"
        raise UsageError(problem)
    if x_KL.shape[1] * config.fs < config.patch * fs:
        least, found = config.patch / config.fs, x_KL.shape[1] / fs
        raise UsageError(f"a record must last at least {least:g} s, which is one patch; got {found:g} s")
    still_K1 = x_KL.min(axis=1, keepdims=True) == x_KL.max(axis=1, keepdims=True)
    resampled_KL = resample(np.where(still_K1, np.float32(0), x_KL), fs, config.fs)
    if lead_rows == list(range(len(LEADS))):  # the usual case: nothing to reorder
        return Recording(resampled_KL, np.zeros(len(LEADS), bool))
    x_CL = np.zeros((len(LEADS), resampled_KL.shape[1]), np.float32)
    x_CL[lead_rows] = resampled_KL
    absent_C = np.ones(len(LEADS), bool)
    absent_C[lead_rows] = False
    return Recording(x_CL, absent_C)


def window_starts(n_valid_B: Tensor, length: int, config: ModelConfig) -> tuple[Tensor, Tensor]:
    """Return the record and the first sample of each window that an encoder reads.

    A record is covered by as few windows as possible. They are evenly spread, and begin on the patch grid.
    Each window is read at `config.phases` offsets within a stride. A beat then appears at several positions
    within a patch, so that results don't depend on a single position.

    A shifted window moves forward if the record has enough samples, otherwise backward. In a record that
    isn't longer than the context, it moves forward into padding. If a record is barely longer than the
    context, both of its windows may begin at the same samples.

    Args:
        n_valid_B: samples of each record.
        length: upper bound of `n_valid_B`.
        config: settings of the encoder.

    Returns:
        Record numbers and first samples, int64 [U] each.
    """
    context, stride, phases, device = config.context, config.stride, config.phases, n_valid_B.device
    count_B = ((n_valid_B + context - 1) // context).clamp(min=1)
    most = (length + context - 1) // context + 1  # plus 1, so that a traced network accepts several windows
    row_W, number_W = torch.nonzero(torch.arange(most, device=device) < count_B[:, None], as_tuple=True)
    reach_W, gaps_W = n_valid_B[row_W].clamp(min=context) - context, (count_B[row_W] - 1).clamp(min=1)
    spread_W = number_W * (reach_W.double() / gaps_W)  # rounds as `numpy.linspace` does
    spread_W = torch.where(number_W == gaps_W, reach_W, spread_W.long())
    first_W = spread_W // stride * stride
    by_P = torch.arange(phases, device=device) * stride // phases
    first_WP, n_WP = first_W[:, None].expand(-1, phases), n_valid_B[row_W][:, None]
    later_WP, earlier_WP = first_WP + by_P, first_WP - by_P
    turned_WP = (later_WP + context > n_WP) & (n_WP >= earlier_WP + context) & (earlier_WP >= 0)
    forward_WP = torch.where(n_WP - later_WP >= config.patch, later_WP, first_WP)
    start_WP = torch.where(turned_WP, earlier_WP, forward_WP)
    return row_W[:, None].expand(-1, phases).flatten(), start_WP.flatten()


def tta_windows(ecg: Recording, config: ModelConfig) -> Iterator[Window]:
    """Yield the windows of a recording (`window_starts`) without duplicates.

    Means over the windows are a test-time augmentation (TTA). A signal on disk is read window by window.
    """
    length = ecg.x_CL.shape[1]
    _, start_U = window_starts(torch.tensor([length]), length, config)
    by_window = dict.fromkeys(map(tuple, start_U.reshape(-1, config.phases).tolist()))
    starts = [start for shifted in by_window for start in shifted]
    for number, start in enumerate(starts, start=1):
        x_CL = ecg.x_CL[:, start : min(start + config.context, length)]
        yield Window(x_CL, ecg.absent_C, start, number == len(starts), length)


def stacked(
    cut: Sequence[Window], config: ModelConfig, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor, Tensor]:
    """Stack B windows, padded with zeros, on a device.

    Returns:
        Signals float32 [B, C, L], samples before the padding int64 [B], mask of absent leads bool [B, C].
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
    """Average the results of overlapping windows, and return a row for each patch of these windows.

    Args:
        starts: first sample of each window, on the patch grid, ascending.
        parts: results of each window, [context_patches, X].
        config: settings of the encoder.
    """
    covered = starts[-1] // config.stride + config.context_patches
    total_TX = np.zeros((covered, parts[0].shape[1]), np.float32)
    seen_T1 = np.zeros((covered, 1), np.float32)
    for start, part_TX in zip(starts, parts, strict=True):
        patches = slice(start // config.stride, start // config.stride + config.context_patches)
        total_TX[patches] += part_TX
        seen_T1[patches] += 1
    return total_TX / seen_T1


class Cut(NamedTuple):
    """Windows of all records of a batch. The first three fields are the arguments of `MarEcg.of_windows`.

    Attributes:
        x_UCL: signals in mV.
        n_valid_U: samples of each window before its padding.
        absent_UC: mask of absent leads.
        row_U: number of each window's record.
        start_U: first sample of each window in its record.
    """

    x_UCL: Tensor
    n_valid_U: Tensor
    absent_UC: Tensor
    row_U: Tensor
    start_U: Tensor


def cut(x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor, config: ModelConfig) -> Cut:
    """Cut records into windows (`window_starts`). Samples after the end of a record are zero."""
    row_U, start_U = window_starts(n_valid_B, x_BCL.shape[-1], config)
    sample_UL = start_U[:, None] + torch.arange(config.context, device=x_BCL.device)
    real_UL = sample_UL < n_valid_B[row_U][:, None]
    last = x_BCL.shape[-1] - 1
    x_ULC = x_BCL.transpose(1, 2)[row_U[:, None], sample_UL.clamp(max=last)]
    rest_U = (n_valid_B[row_U] - start_U).clamp(max=config.context)
    x_UCL = torch.where(real_UL[..., None], x_ULC, 0.0).transpose(1, 2)
    return Cut(x_UCL, rest_U, absent_BC[row_U], row_U, start_U)


def mean_of(x_UX: Tensor, row_U: Tensor, records: int) -> Tensor:
    """Return the mean over the windows of each record, [B, X].

    Args:
        x_UX: values of each window.
        row_U: number of each window's record.
        records: number of records.
    """
    count_B1 = x_UX.new_zeros(records, 1).index_add(0, row_U, x_UX.new_ones(x_UX.shape[0], 1))
    return x_UX.new_zeros(records, x_UX.shape[1]).index_add(0, row_U, x_UX) / count_B1


def overlapped_records(
    h_UTD: Tensor, windows: Cut, n_valid_B: Tensor, length: int, config: ModelConfig
) -> Tensor:
    """Return H̄ of whole records, [B, T, D], averaged over overlapping windows as in `overlapped`.

    Only windows on the patch grid are used. H̄ is zero after a record's last patch.
    """
    records, width = n_valid_B.shape[0], h_UTD.shape[-1]
    most = (max(length, config.context) - config.context) // config.stride + config.context_patches
    patch_T = torch.arange(config.context_patches, device=h_UTD.device)
    patch_UT = (windows.row_U * most + windows.start_U // config.stride)[:, None] + patch_T
    at_patch_U = (windows.start_U % config.stride == 0).to(h_UTD.dtype)
    sums_XD = h_UTD.new_zeros(records * most, width)
    sums_XD = sums_XD.index_add(0, patch_UT.flatten(), (h_UTD * at_patch_U[:, None, None]).flatten(0, 1))
    seen_X = h_UTD.new_zeros(records * most)
    seen_X = seen_X.index_add(0, patch_UT.flatten(), at_patch_U[:, None].expand(patch_UT.shape).flatten())
    mean_BTD = (sums_XD / seen_X.clamp(min=1)[:, None]).view(records, most, width)[
        :, : config.patches(length)
    ]
    ends_T = torch.arange(config.patches(length), device=h_UTD.device) * config.stride + config.patch
    return mean_BTD * (ends_T <= n_valid_B[:, None])[..., None]
