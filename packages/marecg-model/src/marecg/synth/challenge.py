"""Records as the CinC Challenges 2020/2021 publish them: a WFDB header with comments, and a MATLAB v4 matrix.

The matrix is what WFDB calls format 16 behind a 24-byte prolog: MATLAB's own 20-byte header, the name `val`
and the samples, one after the other, as little-endian 16-bit integers.

Shapes: C signals, n samples.
"""

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marecg.base.config import LEADS
from marecg.synth.dipole import INDEPENDENT, Array, twelve

PER_MV = 1000
"""The Challenges' gain: one step is one microvolt."""

_INDEPENDENT_ROWS = [LEADS.index(lead) for lead in INDEPENDENT]
_FULL_SCALE = 32767
_MATLAB_INT16 = 30


def quantised(leads_mv: Array) -> NDArray[np.int16]:
    """The twelve leads in steps of 1 µV, int16[12, n]; I + III = II holds for the integers too."""
    steps = np.rint(leads_mv[_INDEPENDENT_ROWS] * PER_MV)
    return np.clip(np.rint(twelve(steps)), -_FULL_SCALE, _FULL_SCALE).astype(np.int16)


def matrix(samples: NDArray[np.int16]) -> bytes:
    """The `.mat` file's content for int16[C, n]."""
    channels, n = samples.shape
    return (
        struct.pack("<5i4s", _MATLAB_INT16, channels, n, 0, 4, b"val\0") + samples.T.astype("<i2").tobytes()
    )


def header(
    name: str,
    leads: Sequence[str],
    samples: NDArray[np.int16],
    fs: int,
    age: int,
    sex: str,
    codes: Sequence[str],
) -> str:
    """The `.hea` file's text, with each signal's first sample and checksum."""
    checksums = samples.sum(axis=1, dtype=np.int64).astype(np.int16)
    lines = [f"{name} {len(leads)} {fs} {samples.shape[1]}"]
    lines += [
        f"{name}.mat 16+24 {PER_MV}/mV 16 0 {first} {checksum} 0 {lead}"
        for lead, first, checksum in zip(leads, samples[:, 0], checksums, strict=True)
    ]
    lines += [f"#Age: {age}", f"#Sex: {sex}", f"#Dx: {','.join(codes)}"]
    lines += [f"#{comment}: Unknown" for comment in ("Rx", "Hx", "Sx")]
    return "\n".join(lines) + "\n"
