"""Random convolutions of the signal: shares of samples above thresholds, as in MiniRocket.

Dempster et al. 2021 (doi:10.1145/3447548.3467231): 84 kernels of nine weights, of which three are 2 and the
others −1, so that no level counts; each at several dilations over the sum of some random leads; of each such
series the shares of samples above some thresholds. Nothing is learnt here: the leads are drawn once, and the
thresholds are quantiles of synthetic ECGs (`fitted`), so a record's values depend on no other record.

Shapes: B records, C leads, L samples, N samples at 100 Hz, S dilations, K kernels, T taps, Q thresholds,
V = S·K·Q values, W words of 64 bits.
"""

import math
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

Floats = NDArray[np.float32]
SHIPPED = Path(__file__).with_suffix(".safetensors")
HZ = 100
TAPS = 9
DILATIONS = (1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 45, 64, 90)
"""Samples at 100 Hz from tap to tap: a kernel spans 80 ms to 7 s."""
KERNELS = math.comb(TAPS, 3)
THRESHOLDS = 9
VALUES = len(DILATIONS) * KERNELS * THRESHOLDS
"""V."""
GOLDEN = (math.sqrt(5) + 1) / 2
"""Its multiples, modulo 1, are the quantiles: evenly spread however many they are."""
KERNELS_KT = np.array(
    [[2 if tap in high else -1 for tap in range(TAPS)] for high in combinations(range(TAPS), 3)], np.float32
)


class Bank(NamedTuple):
    """Kernels of the convolutions: leads that each sums, float32 [S, K, C], and thresholds, mV [S, K, Q]."""

    leads_SKC: Floats
    threshold_SKQ: Floats


@cache
def shipped() -> Bank:
    """Return the packaged bank of kernels."""
    arrays = load_file(SHIPPED)
    return Bank(arrays["leads"].astype(np.float32), arrays["thresholds"])


def shares_above(x_CL: Floats, fs: int, bank: Bank | None = None) -> Floats:
    """Return the shares of samples above the thresholds of all kernels, float32 [V].

    Args:
        x_CL: a record in mV.
        fs: its rate, a multiple of 100 Hz.
        bank: leads and thresholds; the shipped ones if None.
    """
    x_CN = slowed(x_CL, fs)
    shares = []
    for dilation, leads_KC, threshold_KQ in zip(DILATIONS, *(bank or shipped()), strict=True):
        series_KN = _series(x_CN, leads_KC, dilation)
        shares.append(_above(series_KN, threshold_KQ).ravel() / series_KN.shape[1])
    return np.asarray(np.concatenate(shares), np.float32)


def slowed(x_CL: Floats, fs: int) -> Floats:
    """Return the record at 100 Hz, as means over samples, without each lead's mean: [C, N]."""
    step = max(1, fs // HZ)
    length = x_CL.shape[1] // step * step
    parts = [x_CL[:, :length].reshape(len(x_CL), -1, step).mean(-1)]
    if length < x_CL.shape[1]:
        parts.append(x_CL[:, length:].mean(-1, keepdims=True))
    x_CN = np.concatenate(parts, axis=1)
    return np.asarray(x_CN - x_CN.mean(-1, keepdims=True), np.float32)


def fitted(x_BCL: Floats, fs: int, seed: int = 0) -> Bank:
    """Return a new bank: leads drawn at random, thresholds as quantiles of the records' convolutions.

    The quantiles are those of MiniRocket. So many leads are summed as 2 to a power that is uniform up to C.
    """
    draw = np.random.default_rng(seed)
    slow = [slowed(x_CL, fs) for x_CL in x_BCL]
    leads = x_BCL.shape[1]
    quantile_SKQ = np.reshape(np.arange(1, VALUES + 1) * GOLDEN % 1, (len(DILATIONS), KERNELS, THRESHOLDS))
    leads_SKC = np.zeros((len(DILATIONS), KERNELS, leads), np.float32)
    threshold_SKQ = np.zeros(quantile_SKQ.shape, np.float32)
    for s, dilation in enumerate(DILATIONS):
        for leads_C in leads_SKC[s]:
            leads_C[draw.choice(leads, int(2 ** draw.uniform(0, math.log2(leads + 1))), replace=False)] = 1
        record_KQ = draw.integers(len(slow), size=(KERNELS, THRESHOLDS))
        for record in np.unique(record_KQ):
            series_KN = _series(slow[record], leads_SKC[s], dilation)
            for k, q in np.argwhere(record_KQ == record):
                threshold_SKQ[s, k, q] = np.quantile(series_KN[k], quantile_SKQ[s, k, q])
    return Bank(leads_SKC, threshold_SKQ)


def _series(x_CN: Floats, leads_KC: Floats, dilation: int) -> Floats:
    """Each kernel over the sum of its leads, [K, N]; beyond the record there are zeros."""
    reach, samples = TAPS // 2 * dilation, x_CN.shape[1]
    padded_KN = np.pad(leads_KC @ x_CN, ((0, 0), (reach, reach)))
    series_KN = np.zeros((KERNELS, samples), np.float32)
    weighted_KN = np.empty_like(series_KN)
    for tap, weight_K in enumerate(KERNELS_KT.T):
        taps_KN = padded_KN[:, tap * dilation : tap * dilation + samples]
        series_KN += np.multiply(weight_K[:, None], taps_KN, out=weighted_KN)
    return series_KN


def _above(series_KN: Floats, threshold_KQ: Floats) -> NDArray[np.int64]:
    """Count the samples above each threshold, [K, Q].

    Eight truths of a byte each are added at once, as one word: so many words that no byte overflows.
    """
    samples = series_KN.shape[1]
    above_KQN = np.zeros((*threshold_KQ.shape, -(-samples // 8) * 8), np.bool_)
    np.greater(series_KN[:, None], threshold_KQ[..., None], out=above_KQN[..., :samples])
    word_KQW = above_KQN.view(np.uint64)
    above_KQ = np.zeros(threshold_KQ.shape, np.int64)
    for at in range(0, word_KQW.shape[-1], 255):
        words_KQ1 = word_KQW[..., at : at + 255].sum(-1, keepdims=True)
        above_KQ += words_KQ1.view(np.uint8).sum(-1, dtype=np.int64)
    return above_KQ
