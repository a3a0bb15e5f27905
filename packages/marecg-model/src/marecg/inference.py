"""From any ECG to named arrays: embed signals of any sampling rate, length and set of leads.

Shapes: B records, C leads given, L samples, T patches, D width, W windows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from marecg.config import LEADS
from marecg.data.signal import resample
from marecg.errors import UsageError
from marecg.model import MarEcg
from marecg.nn.tokens import patchify


class Embeddings(NamedTuple):
    """h_rhythm [B, D] and H̄ [B, T, D] as float32 arrays; patch i of H̄ begins at sample i·S_t."""

    rhythm: NDArray[np.float32]
    patch: NDArray[np.float32]


@torch.no_grad()
def embed(
    model: MarEcg,
    signals: ArrayLike,
    *,
    fs: float,
    leads: Sequence[str] = LEADS,
    batch_size: int = 32,
) -> Embeddings:
    """Encode records with a frozen model: eval mode, nothing masked.

    A record longer than the encoder's context is read in windows of that length, evenly spread over it;
    h_rhythm is their mean, and H̄ their mean where they overlap. A shorter one is padded, and the padding
    is hidden from the encoder. A lead that is not given is hidden as masked tokens are in training.

    Args:
        model: left as it is but for eval mode.
        signals: float [B, C, L] in mV.
        fs: their sampling rate in Hz.
        leads: the names of the C leads, in any order and of any case.
        batch_size: windows per forward pass.

    Raises:
        UsageError: the array has another shape, a lead is unknown or named twice, or a value isn't finite.
    """
    x_BCL, absent_C = _arrange(np.asarray(signals, dtype=np.float32), leads)
    if fs != model.config.fs:
        x_BCL = np.stack([resample(x_CL, fs, model.config.fs) for x_CL in x_BCL])
    length = x_BCL.shape[-1]
    config = model.config
    device = model.prototypes.device
    padded = np.pad(x_BCL, ((0, 0), (0, 0), (0, max(0, config.context - length))))
    starts = _window_starts(padded.shape[-1], config.context, config.stride)
    n_valid = min(length, config.context)
    model.eval()
    absent = torch.from_numpy(absent_C).to(device)
    patches = patchify(torch.from_numpy(padded[:1]), config.patch, config.stride).shape[1]
    rhythm_BD = np.zeros((len(x_BCL), config.width), np.float32)
    patch_BTD = np.zeros((len(x_BCL), patches, config.width), np.float32)
    seen_T = np.zeros(patches, np.float32)
    for start in starts:
        here = slice(start // config.stride, start // config.stride + config.context_patches)
        seen_T[here] += 1
        for first in range(0, len(padded), batch_size):
            rows = slice(first, first + batch_size)
            window = torch.from_numpy(padded[rows, :, start : start + config.context]).to(device)
            features = model(window, torch.full((len(window),), n_valid, device=device), absent[None])
            rhythm_BD[rows] += features.rhythm_BD.float().cpu().numpy() / len(starts)
            patch_BTD[rows, here] += features.patch_BTD.float().cpu().numpy()
    return Embeddings(rhythm_BD, patch_BTD / seen_T[:, None])


@torch.no_grad()
def predict(
    model: MarEcg, signals: ArrayLike, *, fs: float, leads: Sequence[str] = LEADS, batch_size: int = 32
) -> NDArray[np.float32]:
    """Return q over the N concepts of each record (eq. gscl-pred), float32 [B, N], without any probe.

    Args: as for `embed`.

    Raises:
        UsageError: as for `embed`, or the model was trained without GSCL.
    """
    rhythm_BD = embed(model, signals, fs=fs, leads=leads, batch_size=batch_size).rhythm
    logits_BN = model.concept_logits(torch.from_numpy(rhythm_BD).to(model.prototypes.device))
    q_BN: NDArray[np.float32] = logits_BN.softmax(-1).cpu().numpy()
    return q_BN


def _arrange(
    x_BCL: NDArray[np.float32], leads: Sequence[str]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Put the leads into the package's order; return also which of the twelve are absent."""
    if x_BCL.ndim != 3 or x_BCL.shape[1] != len(leads):
        raise UsageError(
            f"signals have shape {x_BCL.shape}, and {len(leads)} leads are named",
            remedy="Give an array [records, leads, samples]",
        )
    if not np.isfinite(x_BCL).all():
        raise UsageError("signals hold NaN or infinite values", remedy="Mend or leave out those records")
    known = {name.lower(): index for index, name in enumerate(LEADS)}
    unknown = [name for name in leads if name.lower() not in known]
    if unknown or len({name.lower() for name in leads}) != len(leads):
        raise UsageError(
            f"leads {list(leads)}: {f'unknown {unknown}' if unknown else 'one is named twice'}",
            remedy=f"Use names out of {', '.join(LEADS)}",
        )
    places = [known[name.lower()] for name in leads]
    arranged = np.zeros((len(x_BCL), len(LEADS), x_BCL.shape[2]), np.float32)
    arranged[:, places] = x_BCL
    absent = np.ones(len(LEADS), bool)
    absent[places] = False
    return arranged, absent


def _window_starts(length: int, context: int, stride: int) -> list[int]:
    """Where windows begin: as few as cover the record, evenly spread, on the patch grid."""
    count = -(-length // context)
    return sorted({int(start) // stride * stride for start in np.linspace(0, length - context, count)})
