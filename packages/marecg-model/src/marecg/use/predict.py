"""What a trained encoder says of signals without any probe: q over the concepts (eq. gscl-pred).

Shapes: B records, K leads as named, L samples, D width, N concepts.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from marecg.config import LEADS
from marecg.errors import CheckpointError
from marecg.model.mar_ecg import MarEcg
from marecg.use.embed import BATCH, embed, loaded


def predict(
    model: MarEcg | str | Path,
    signals: ArrayLike,
    *,
    fs: float,
    leads: Sequence[str] = LEADS,
    batch_size: int = BATCH,
) -> NDArray[np.float32]:
    """Return q over the N concepts of each record (eq. gscl-pred), float32 [B, N], without any probe.

    Args:
        model: a model, or the name of one: a run, a model folder, an installed model, owner/name on the hub.
        signals: [B, K, L] in mV.
        fs: their sampling rate in Hz.
        leads: the names of the K leads, in any order and of any case.
        batch_size: windows per forward pass.

    Raises:
        UsageError: as for `embed`, or the model was trained without GSCL or without a label.
        CheckpointError: as for `embed`.

    Example:
        >>> q_BN = predict("marecg-small", x_BKL, fs=500, leads=["I", "II", "V1"])  # doctest: +SKIP
        >>> q_BN.sum(1)  # doctest: +SKIP
        array([1., 1.], dtype=float32)
    """
    model = loaded(model)
    return concepts(model, embed(model, signals, fs=fs, leads=leads, batch_size=batch_size).rhythm)


def concepts(model: MarEcg, rhythm_BD: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return q of records by their h_rhythm, [B, N].

    Raises:
        UsageError: the model was trained without GSCL, or without a label.
        CheckpointError: q isn't finite.
    """
    with torch.no_grad():
        logits_BN = model.concept_logits(torch.from_numpy(rhythm_BD).to(model.prototypes.device))
    q_BN: NDArray[np.float32] = logits_BN.softmax(-1).cpu().numpy()
    if not np.isfinite(q_BN).all():
        raise CheckpointError(
            "the model gives shares that are not finite", remedy="Use a model whose training did not diverge"
        )
    return q_BN
