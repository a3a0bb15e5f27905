"""Tensor operations that cut whole records into an encoder's windows and join the windows' features.

They do the same as `marecg.model.windows` does for `embed`, but in torch operations, so that gradients flow
through them and the network can be traced.

Shapes: B records, C leads, L samples, T patches, D width, X any number of values, W windows in a row,
P phases, U windows of all records.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from marecg.model.config import ModelConfig


class Cut(NamedTuple):
    """Windows of all records: signals in mV, samples before padding, absent leads, record, and first sample.

    The first three fields are the arguments of `MarEcg.of_windows`.
    """

    x_UCL: Tensor
    n_valid_U: Tensor
    absent_UC: Tensor
    row_U: Tensor
    start_U: Tensor


def cut(x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor, config: ModelConfig) -> Cut:
    """Cut records into windows, with zeros after each record's samples."""
    row_U, start_U = window_starts(n_valid_B, x_BCL.shape[-1], config)
    place_UL = start_U[:, None] + torch.arange(config.context, device=x_BCL.device)
    real_UL = place_UL < n_valid_B[row_U][:, None]
    last = x_BCL.shape[-1] - 1
    x_ULC = x_BCL.transpose(1, 2)[row_U[:, None], place_UL.clamp(max=last)]
    rest_U = (n_valid_B[row_U] - start_U).clamp(max=config.context)
    x_UCL = torch.where(real_UL[..., None], x_ULC, 0.0).transpose(1, 2)
    return Cut(x_UCL, rest_U, absent_BC[row_U], row_U, start_U)


def mean_of(x_UX: Tensor, row_U: Tensor, records: int) -> Tensor:
    """Return the mean over the windows of each record, [B, X]."""
    count_B1 = x_UX.new_zeros(records, 1).index_add(0, row_U, x_UX.new_ones(x_UX.shape[0], 1))
    return x_UX.new_zeros(records, x_UX.shape[1]).index_add(0, row_U, x_UX) / count_B1


def overlapped(h_UTD: Tensor, windows: Cut, n_valid_B: Tensor, length: int, config: ModelConfig) -> Tensor:
    """Return H̄ of whole records, [B, T, D]: each patch's mean over its windows, zero after the last patch.

    As in `marecg.model.windows.overlapped`, only windows on the patch grid are used.
    """
    records, width = n_valid_B.shape[0], h_UTD.shape[-1]
    most = (max(length, config.context) - config.context) // config.stride + config.context_patches
    patch_T = torch.arange(config.context_patches, device=h_UTD.device)
    place_UT = (windows.row_U * most + windows.start_U // config.stride)[:, None] + patch_T
    at_patch_U = (windows.start_U % config.stride == 0).to(h_UTD.dtype)
    sums_XD = h_UTD.new_zeros(records * most, width)
    sums_XD = sums_XD.index_add(0, place_UT.flatten(), (h_UTD * at_patch_U[:, None, None]).flatten(0, 1))
    seen_X = h_UTD.new_zeros(records * most)
    seen_X = seen_X.index_add(0, place_UT.flatten(), at_patch_U[:, None].expand(place_UT.shape).flatten())
    mean_BTD = (sums_XD / seen_X.clamp(min=1)[:, None]).view(records, most, width)[
        :, : config.patches(length)
    ]
    ends_T = torch.arange(config.patches(length), device=h_UTD.device) * config.stride + config.patch
    return mean_BTD * (ends_T <= n_valid_B[:, None])[..., None]


def window_starts(n_valid_B: Tensor, length: int, config: ModelConfig) -> tuple[Tensor, Tensor]:
    """Return record number and first sample of the windows of `model.windows.tta_windows`, int64 [U] each.

    A window that `tta_windows` drops as a duplicate appears here twice, at all of its offsets. Means over
    windows stay the same.

    Args:
        n_valid_B: samples of each record.
        length: upper bound of `n_valid_B`.
        config: settings of the encoder.
    """
    context, stride, phases, device = config.context, config.stride, config.phases, n_valid_B.device
    count_B = ((n_valid_B + context - 1) // context).clamp(min=1)
    most = (length + context - 1) // context + 1  # one more, so that a traced network accepts several windows
    row_W, number_W = torch.nonzero(torch.arange(most, device=device) < count_B[:, None], as_tuple=True)
    gaps_W = (count_B[row_W] - 1).clamp(min=1)
    first_W = number_W * (n_valid_B[row_W].clamp(min=context) - context) // gaps_W // stride * stride
    by_P = torch.arange(phases, device=device) * stride // phases
    first_WP, n_WP = first_W[:, None].expand(-1, phases), n_valid_B[row_W][:, None]
    later_WP, earlier_WP = first_WP + by_P, first_WP - by_P
    turned_WP = (later_WP + context > n_WP) & (n_WP >= earlier_WP + context) & (earlier_WP >= 0)
    forward_WP = torch.where(n_WP - later_WP >= config.patch, later_WP, first_WP)
    start_WP = torch.where(turned_WP, earlier_WP, forward_WP)
    return row_W[:, None].expand(-1, phases).flatten(), start_WP.flatten()
