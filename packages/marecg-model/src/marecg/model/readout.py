"""The wide readout: what a linear probe can use of H beside h_rhythm.

h_rhythm (eq. rhythm-pool) reads H through one attention, and RevIN has taken the leads' heights away before.
The wide readout keeps both: simple statistics of H over time, for each lead too, and the scale that RevIN
divided by.

Shapes: B batch, T patches, C leads, D width, W = (4 + C)·D + C.
"""

import torch
from torch import Tensor

from marecg.config import LEADS
from marecg.nn.pooling import lead_mean, real_or_all

LEAST_VARIANCE = 1e-12
"""Below it a spread counts as none, so that its root has a slope."""


def wide_width(width: int) -> int:
    """W for an encoder of width D: 12,300 at the paper's 768."""
    return (4 + len(LEADS)) * width + len(LEADS)


def wide_columns(width: int) -> dict[str, slice]:
    """Where each part of the wide readout stands, for an encoder of width D."""
    names = ("rhythm", "mean", "max", "std")
    columns = {name: slice(place * width, (place + 1) * width) for place, name in enumerate(names)}
    leads = slice(4 * width, (4 + len(LEADS)) * width)
    return columns | {"leads": leads, "log_std": slice(leads.stop, wide_width(width))}


def wide_readout(
    rhythm_BD: Tensor, h_BTCD: Tensor, log_std_BC: Tensor, real_BT: Tensor, absent_BC: Tensor | None = None
) -> Tensor:
    """h_rhythm; mean, max and std of H̄ over time; each lead's mean of H; each lead's log scale: [B, W].

    Args:
        rhythm_BD: h_rhythm.
        h_BTCD: H.
        log_std_BC: log of the standard deviation in mV that RevIN divided each lead by.
        real_BT: False at patches of padding, which count for nothing.
        absent_BC: the leads that were not given: their log scale is the mean of the others', and their mean
            of H what the encoder makes of them by the others.
    """
    real_BT1 = real_or_all(real_BT)[..., None]
    share_BT1 = real_BT1.to(h_BTCD.dtype)
    share_BT1 = share_BT1 / share_BT1.sum(1, keepdim=True)
    h_bar_BTD = lead_mean(h_BTCD)
    lead_BCD = (share_BT1.transpose(1, 2) @ h_BTCD.flatten(2)).reshape(-1, *h_BTCD.shape[2:])
    mean_BD = lead_BCD.mean(1)
    variance_BD = ((h_bar_BTD - mean_BD[:, None]).square() * share_BT1).sum(1)
    max_BD = h_bar_BTD.masked_fill(~real_BT1, -torch.inf).amax(1)
    std_BD = variance_BD.clamp(min=LEAST_VARIANCE).sqrt()
    if absent_BC is not None:
        given_BC = (~absent_BC).to(log_std_BC.dtype)
        usual_B1 = (log_std_BC * given_BC).sum(1, keepdim=True) / given_BC.sum(1, keepdim=True).clamp(min=1)
        log_std_BC = torch.where(absent_BC, usual_B1, log_std_BC)
    return torch.cat([rhythm_BD, mean_BD, max_BD, std_BD, lead_BCD.flatten(1), log_std_BC], 1)
