"""What a trained encoder says of signals without any probe: q over the concepts (eq. gscl-pred).

Shapes: B records, D width, N concepts.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from marecg.config import LEADS
from marecg.model.mar_ecg import MarEcg
from marecg.use.embed import BATCH, embed


def predict(
    model: MarEcg, signals: ArrayLike, *, fs: float, leads: Sequence[str] = LEADS, batch_size: int = BATCH
) -> NDArray[np.float32]:
    """Return q over the N concepts of each record (eq. gscl-pred), float32 [B, N], without any probe.

    Args: as for `embed`.

    Raises:
        UsageError: as for `embed`, or the model was trained without GSCL.
    """
    return concepts(model, embed(model, signals, fs=fs, leads=leads, batch_size=batch_size).rhythm)


def concepts(model: MarEcg, rhythm_BD: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return q of records by their h_rhythm, [B, N]. Raises `UsageError` where there was no GSCL."""
    with torch.no_grad():
        logits_BN = model.concept_logits(torch.from_numpy(rhythm_BD).to(model.prototypes.device))
    q_BN: NDArray[np.float32] = logits_BN.softmax(-1).cpu().numpy()
    return q_BN
