"""Define the shape of a heartbeat: tables of waves, and their layout in time.

A beat has three segments: P, QRS and recovery (from the J point to the end of T). The times of a `Wave` are
fractions of its segment, so that a table fits narrow and wide complexes.
Dipoles are in mV along Frank's axes (X left, Y feet, Z back).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ecg_synth.dipole import Array, Bumps

Dipole = tuple[float, float, float]


class Wave(NamedTuple):
    """Bump in a segment: peak and flanks (standard deviations) as fractions of the segment."""

    peak: float
    left: float
    right: float
    dipole: Dipole


Waves = tuple[Wave, ...]


@dataclass(frozen=True)
class Shape:
    """Shape of a beat: durations in s, dipoles in mV. The defaults are for a healthy adult at 60 bpm."""

    p: Waves = (Wave(0.36, 0.14, 0.14, (0.03, 0.09, -0.06)), Wave(0.64, 0.14, 0.14, (0.07, 0.06, 0.04)))
    p_duration: float = 0.10
    pr: float = 0.16
    qrs: Waves = (
        Wave(0.20, 0.08, 0.08, (-0.12, -0.05, -0.30)),
        Wave(0.45, 0.11, 0.11, (1.18, 0.62, 0.32)),
        Wave(0.66, 0.11, 0.13, (-0.15, -0.10, 0.62)),
    )
    qrs_duration: float = 0.09
    st: Dipole = (0.01, 0.01, -0.02)
    t: Dipole = (0.35, 0.20, -0.12)
    qtc: float = 0.41
    p_gain: float = 1.0
    qrs_gain: float = 1.0
    st_gain: float = 1.0
    t_gain: float = 1.0


# QRS waves in conduction disorders, infarction and hypertrophy. Times are fractions of the QRS duration.
LBBB: Waves = (
    Wave(0.22, 0.09, 0.12, (0.25, 0.15, 0.25)),
    Wave(0.45, 0.12, 0.13, (0.75, 0.35, 0.72)),
    Wave(0.71, 0.12, 0.11, (0.72, 0.05, 0.62)),
)
RBBB: Waves = (
    Wave(0.13, 0.05, 0.06, (-0.12, -0.05, -0.30)),
    Wave(0.31, 0.08, 0.08, (1.00, 0.65, 0.30)),
    Wave(0.72, 0.14, 0.11, (-0.52, -0.05, -0.62)),
)
IRBBB: Waves = (
    Wave(0.17, 0.07, 0.07, (-0.12, -0.05, -0.28)),
    Wave(0.40, 0.10, 0.10, (1.05, 0.68, 0.42)),
    Wave(0.77, 0.10, 0.09, (-0.30, 0.00, -0.42)),
)
LAFB: Waves = (
    Wave(0.20, 0.08, 0.08, (-0.10, 0.25, -0.25)),
    Wave(0.47, 0.11, 0.11, (0.95, -0.60, 0.35)),
    Wave(0.68, 0.11, 0.12, (0.10, -0.50, 0.40)),
)
WPW_LEFT: Waves = (
    Wave(0.32, 0.13, 0.17, (0.10, 0.26, -0.36)),
    Wave(0.58, 0.11, 0.11, (0.55, 0.65, -0.45)),
    Wave(0.80, 0.08, 0.08, (0.30, -0.05, 0.10)),
)
WPW_RIGHT: Waves = (
    Wave(0.32, 0.13, 0.17, (0.40, 0.14, 0.08)),
    Wave(0.58, 0.10, 0.10, (1.05, 0.50, 0.45)),
    Wave(0.80, 0.08, 0.08, (0.10, -0.10, 0.45)),
)
Q_ANTERIOR: Waves = (
    Wave(0.25, 0.10, 0.10, (-0.05, -0.05, 0.40)),
    Wave(0.46, 0.11, 0.11, (0.85, 0.60, 0.62)),
    Wave(0.66, 0.11, 0.13, (-0.10, -0.10, 0.45)),
)
Q_INFERIOR: Waves = (
    Wave(0.22, 0.09, 0.11, (0.05, -0.45, -0.20)),
    Wave(0.52, 0.11, 0.11, (1.05, 0.45, 0.30)),
    Wave(0.70, 0.11, 0.11, (-0.10, 0.00, 0.42)),
)
LVH: Waves = (
    Wave(0.19, 0.07, 0.08, (-0.12, -0.03, -0.22)),
    Wave(0.46, 0.11, 0.11, (1.32, 0.45, 0.55)),
    Wave(0.67, 0.11, 0.13, (0.00, -0.05, 0.50)),
)
RVH: Waves = (
    Wave(0.24, 0.09, 0.09, (0.35, 0.20, -0.25)),
    Wave(0.47, 0.11, 0.11, (-0.45, 0.60, -0.75)),
    Wave(0.74, 0.09, 0.10, (-0.50, 0.05, 0.15)),
)
PACED: Waves = (
    Wave(-0.03, 0.007, 0.007, (0.50, 0.90, 0.40)),
    Wave(0.26, 0.10, 0.12, (0.20, -0.40, 0.25)),
    Wave(0.50, 0.13, 0.13, (0.70, -0.80, 0.70)),
    Wave(0.75, 0.11, 0.10, (0.40, -0.60, 0.50)),
)
J_NOTCH: Waves = (*Shape.qrs, Wave(0.98, 0.07, 0.09, (0.22, 0.20, -0.02)))

# Waves of atrial activity that doesn't start in the sinus node. The names are kinds of `rhythm.Atrial`.
ECTOPIC_P: Waves = (Wave(0.38, 0.15, 0.15, (0.02, -0.10, 0.03)), Wave(0.66, 0.13, 0.13, (-0.05, -0.07, 0.05)))
RETROGRADE_P: Waves = (Wave(0.50, 0.18, 0.18, (0.00, -0.11, -0.03)),)
FLUTTER: Waves = (Wave(0.62, 0.26, 0.10, (0.02, -0.22, -0.02)), Wave(0.98, 0.09, 0.12, (0.00, 0.07, -0.11)))
FIBRILLATION: Waves = (Wave(0.50, 0.20, 0.16, (0.01, 0.045, -0.085)),)

RVOT_BEAT = Shape(
    qrs=(
        Wave(0.28, 0.11, 0.12, (0.00, 0.50, 0.35)),
        Wave(0.53, 0.13, 0.13, (0.45, 1.40, 0.95)),
        Wave(0.77, 0.10, 0.09, (0.20, 0.50, 0.50)),
    ),
    qrs_duration=0.155,
    st=(-0.05, -0.10, -0.08),
    t=(-0.20, -0.55, -0.45),
    qtc=0.44,
)
LV_BEAT = Shape(
    qrs=(
        Wave(0.28, 0.11, 0.12, (-0.25, -0.25, -0.55)),
        Wave(0.53, 0.13, 0.13, (-0.65, -0.95, -1.05)),
        Wave(0.77, 0.10, 0.09, (-0.45, -0.40, -0.30)),
    ),
    qrs_duration=0.16,
    st=(0.06, 0.08, 0.08),
    t=(0.40, 0.50, 0.45),
    qtc=0.44,
)
ESCAPE_BEAT = Shape(qrs=LBBB, qrs_duration=0.145, st=(-0.08, 0.00, -0.10), t=(-0.28, -0.10, -0.35), qtc=0.43)

_PLATEAU = ((0.12, 0.13), (0.35, 0.13), (0.58, 0.13))
"""Three bumps (peak, standard deviation) that form the ST segment. From the J point to the start of T, their
sum varies by less than 5 %."""
_PLATEAU_HEIGHT = 1.4
_T_PEAK, _T_LEFT, _T_RIGHT = 0.70, 0.20, 0.15
"""Peak and flanks of T, as fractions of recovery.

The steepest downward tangent of T meets the baseline at 0.70 + 2 × 0.15 = 1, which is the end of T by the
tangent method (Lepeschkin & Surawicz, Circulation 6 (1952) 378).
"""


def recovery(shape: Shape) -> Waves:
    """Return the waves of the ST plateau and T. Their times are fractions of recovery."""
    st = scaled(shape.st, shape.st_gain / _PLATEAU_HEIGHT)
    plateau = tuple(Wave(peak, width, width, st) for peak, width in _PLATEAU)
    return (*plateau, Wave(_T_PEAK, _T_LEFT, _T_RIGHT, scaled(shape.t, shape.t_gain)))


def scaled(dipole: Dipole, gain: float) -> Dipole:
    """Return a dipole multiplied by a gain."""
    x, y, z = dipole
    return x * gain, y * gain, z * gain


def place(waves: Waves, onset: Array, duration: Array, gain: Array) -> Bumps:
    """Place `waves` in N segments.

    Args:
        waves: waves of a segment.
        onset: starts of the segments in s, float64[N].
        duration: lengths of the segments in s, float64[N].
        gain: factors on the dipoles, float64[N].
    """
    peak, left, right = (np.array([wave[i] for wave in waves]) for i in range(3))
    dipole = np.array([wave.dipole for wave in waves])
    return Bumps(
        (onset[:, None] + duration[:, None] * peak).ravel(),
        (duration[:, None] * left).ravel(),
        (duration[:, None] * right).ravel(),
        (gain[:, None, None] * dipole).reshape(-1, 3),
    )


def r_peak(shape: Shape) -> float:
    """Return the time at which the QRS dipole is longest, as a fraction of the QRS.

    Waves that peak before the QRS are pacing spikes and don't count.
    """
    time = np.linspace(0, 1, 401)
    peak, left, right = (np.array([wave[i] for wave in shape.qrs])[:, None] for i in range(3))
    height = np.exp(-0.5 * ((time - peak) / np.where(time < peak, left, right)) ** 2)
    length = np.linalg.norm(np.array([wave.dipole for wave in shape.qrs]).T @ (height * (peak > 0)), axis=0)
    return float(time[np.argmax(length)])


def qt_interval(qtc: Array, rr: Array) -> Array:
    """Return QT in s from QTc and RR in s, by Fridericia's formula QT = QTc · RR^(1/3)."""
    return np.asarray(qtc * np.cbrt(rr))
