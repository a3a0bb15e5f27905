"""The wide readout: what a linear probe can use of H beside h_rhythm.

h_rhythm (eq. rhythm-pool) reads H through one attention, RevIN has taken the leads' heights away before, and
how evenly beats follow one another is in no token. The wide readout keeps them: simple statistics of H over
time, for each lead too, the scale that RevIN divided by, and with `ModelConfig.modulation` the modulation
spectrum.

Shapes: B batch, T patches, C leads, D width, M bands of the modulation spectrum or 0, W = (4 + C)·D + C + M.
"""

from itertools import accumulate

import torch
from torch import Tensor

from marecg.base.config import LEADS, ModelConfig
from marecg.nn.modulation import BANDS
from marecg.nn.pooling import lead_mean, real_or_all

LEAST_VARIANCE = 1e-12
"""Below it a spread counts as none, so that its root has a slope."""


def wide_width(config: ModelConfig) -> int:
    """W of an encoder: 12,300 at the paper's width of 768."""
    *_, last = wide_columns(config).values()
    return int(last.stop)


def wide_columns(config: ModelConfig) -> dict[str, slice]:
    """Where each part of an encoder's wide readout stands."""
    widths = dict.fromkeys(("rhythm", "mean", "max", "std"), config.width)
    widths |= {"leads": len(LEADS) * config.width, "log_std": len(LEADS)}
    if config.modulation:
        widths["modulation"] = BANDS
    ends = list(accumulate(widths.values()))
    return {name: slice(end - wide, end) for (name, wide), end in zip(widths.items(), ends, strict=True)}


def wide_readout(
    rhythm_BD: Tensor,
    h_BTCD: Tensor,
    log_std_BC: Tensor,
    real_BT: Tensor,
    absent_BC: Tensor | None = None,
    modulation_BM: Tensor | None = None,
) -> Tensor:
    """The parts of `wide_columns` side by side, [B, W].

    They are h_rhythm; mean, max and std of H̄ over time; each lead's mean of H; each lead's log scale; and
    the modulation spectrum, if there is one.

    Args:
        rhythm_BD: h_rhythm.
        h_BTCD: H.
        log_std_BC: log of the standard deviation in mV that RevIN divided each lead by.
        real_BT: False at patches of padding, which count for nothing.
        absent_BC: the leads that were not given: their log scale is the mean of the others', and their mean
            of H what the encoder makes of them by the others.
        modulation_BM: the modulation spectrum.
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
    parts = [rhythm_BD, mean_BD, max_BD, std_BD, lead_BCD.flatten(1), log_std_BC]
    return torch.cat(parts if modulation_BM is None else [*parts, modulation_BM], 1)
