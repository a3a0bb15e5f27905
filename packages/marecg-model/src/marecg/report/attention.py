"""How much h_rhythm reads of each stretch of each lead.

Shapes: K leads as named, L samples, T patches, C leads.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from marecg.config import LEADS
from marecg.model import MarEcg
from marecg.windows import recording, windows


def attention(model: MarEcg, x_KL: ArrayLike, fs: float, leads: Sequence[str]) -> NDArray[np.float32]:
    """The rhythm pool's weights over a record, float32 [T, 12], at least 0 and 1 in all.

    They are those of eq. rhythm-pool, attention over time times attention over leads, averaged over the
    pool's queries; where the windows of a long record overlap, their mean. Patch i begins at sample i·S_t
    of the resampled record. An absent lead has its share as well: what is read there was filled in from
    the other leads.

    Args:
        model: left as it is.
        x_KL: the leads in mV.
        fs: samples per second.
        leads: their names.

    Raises:
        UsageError: as for `marecg.embed`.
    """
    config, device = model.config, model.prototypes.device
    cut = windows(recording(x_KL, fs, leads, config), config)
    with torch.no_grad():
        weights_BTC = model.attention(
            torch.from_numpy(np.stack([window.x_CL for window in cut])).to(device),
            torch.tensor([window.n_valid for window in cut], device=device),
            torch.from_numpy(np.stack([window.absent_C for window in cut])).to(device),
        )
    share_TC = np.zeros((cut[-1].start // config.stride + config.context_patches, len(LEADS)), np.float32)
    seen_T1 = np.zeros((len(share_TC), 1), np.float32)
    for window, weights_TC in zip(cut, weights_BTC.float().cpu().numpy(), strict=True):
        here = slice(window.start // config.stride, window.start // config.stride + config.context_patches)
        share_TC[here] += weights_TC
        seen_T1[here] += 1
    mean_TC = share_TC / seen_T1
    whole: NDArray[np.float32] = mean_TC / mean_TC.sum()
    return whole
