"""How much h_rhythm reads of each stretch of each lead.

Shapes: B windows, K leads as named, L samples, T patches, C leads.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from marecg.ecg.windows import overlapped, recording, stacked, windows
from marecg.model.mar_ecg import MarEcg


def attention(model: MarEcg, x_KL: ArrayLike, fs: float, leads: Sequence[str]) -> NDArray[np.float32]:
    """The rhythm pool's weights over a record, float32 [T, 12], at least 0 and 1 in all.

    They are those of eq. rhythm-pool, attention over time times attention over leads, averaged over the
    pool's queries; where the windows of a long record overlap, their mean. Patch i begins at sample i·S_t
    of the resampled record. An absent lead has its share as well: what is read there was filled in from
    the other leads.

    Raises:
        UsageError: as for `marecg.embed`.
    """
    config, device = model.config, model.prototypes.device
    cut = windows(recording(x_KL, fs, leads, config), config)
    with torch.no_grad():
        weights_BTC = model.attention(*stacked(cut, config, device))
    starts = [window.start for window in cut]
    mean_TC = overlapped(starts, list(weights_BTC.float().cpu().numpy()), config)
    share_TC: NDArray[np.float32] = mean_TC / mean_TC.sum()
    return share_TC
