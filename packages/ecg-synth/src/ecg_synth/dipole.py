"""Model the heart as a single moving dipole, seen by twelve leads.

Every wave is a bump of the heart's dipole vector: an asymmetric Gaussian in time with a fixed direction in
space. The sum of the bumps is the vectorcardiogram, and a fixed matrix projects it onto the leads.

Shapes: K bumps, n samples. Axes are Frank's: X to the left, Y to the feet, Z to the back. Units: mV and s.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

INDEPENDENT = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")
"""The leads that nine electrodes determine. III, aVR, aVL and aVF follow from I and II."""

DOWER = np.array(
    [
        [0.632, -0.235, 0.059],
        [0.235, 1.066, -0.132],
        [-0.515, 0.157, -0.917],
        [0.044, 0.164, -1.387],
        [0.882, 0.098, -1.277],
        [1.213, 0.127, -0.601],
        [1.125, 0.127, -0.086],
        [0.831, 0.076, 0.230],
    ]
)
"""Matrix from Frank's X, Y, Z to the leads in `INDEPENDENT`. Source: Dower, Machado & Osborne, *On deriving
the electrocardiogram from vectorcardiographic leads*, Clin Cardiol 3 (1980) 87–95."""

_REACH = 4.0
"""Number of standard deviations at which a bump is cut off. There, a 2-mV R-wave has fallen by e^-8, to less
than a microvolt."""


class Bumps(NamedTuple):
    """K bumps: peak times in s, widths of both flanks (standard deviations in s), dipole vectors in mV."""

    centre: Array
    left: Array
    right: Array
    dipole: Array


def joined(parts: list[Bumps]) -> Bumps:
    """Concatenate the bumps of several parts, such as P-waves and QRS complexes."""
    return Bumps(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def vectorcardiogram(bumps: Bumps, fs: float, n: int) -> Array:
    """Return the sum of the bumps, float64[3, n] in mV, sampled at `fs` from time 0.

    A bump with its peak outside these samples still adds its flank inside them.
    """
    reach = int(np.ceil(_REACH * max(bumps.left.max(), bumps.right.max()) * fs))
    middle = np.rint(bumps.centre * fs).astype(np.int64)
    visible = (middle > -reach) & (middle < n + reach)
    centre, left, right, dipole = (values[visible] for values in bumps)
    index = middle[visible, None] + np.arange(-reach, reach + 1)
    away = index / fs - centre[:, None]
    height = np.exp(-0.5 * (away / np.where(away < 0, left[:, None], right[:, None])) ** 2)
    margin = 2 * reach
    summed = [
        np.bincount((index + margin).ravel(), (height * along[:, None]).ravel(), n + 2 * margin)
        for along in dipole.T
    ]
    return np.stack(summed)[:, margin : margin + n].astype(np.float64)


def project(vcg: Array) -> Array:
    """Project the vectorcardiogram float64[3, n] to the leads in `INDEPENDENT`, float64[8, n]."""
    return np.asarray(DOWER @ vcg)


def twelve(independent: NDArray[np.generic]) -> Array:
    """Return the twelve leads in the order of `LEADS`, float64[12, n], from I, II and V1–V6, [8, n].

    III, aVR, aVL and aVF follow from I and II by Einthoven's and Goldberger's laws. So the laws also hold for
    leads with noise.
    """
    lead_i, lead_ii, chest = independent[0], independent[1], independent[2:]
    limb = [
        lead_i,
        lead_ii,
        lead_ii - lead_i,
        -(lead_i + lead_ii) / 2,
        lead_i - lead_ii / 2,
        lead_ii - lead_i / 2,
    ]
    return np.vstack([*limb, chest])
