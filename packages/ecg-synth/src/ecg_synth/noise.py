"""Draw the noise of a recorder.

Noise arises at the nine electrodes (right arm, left arm, left leg, C1–C6). Each lead is a difference of
electrode potentials, so Einthoven's law also holds for records with noise.

Shapes: n samples. Units: mV, Hz and s.
"""

from dataclasses import dataclass, replace

import numpy as np

from ecg_synth.dipole import Array

_LIMB = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
ELECTRODES_TO_LEADS = np.block([[_LIMB, np.zeros((2, 6))], [np.full((6, 3), -1 / 3), np.eye(6)]])
"""Matrix [8, 9] from the electrodes to the independent leads.

I = LA − RA and II = LL − RA. V1–V6 are chest electrodes minus Wilson's central terminal.
"""


@dataclass(frozen=True)
class Noise:
    """Strengths of electrode noise.

    Attributes:
        wander: standard deviation of the baseline wander in mV.
        mains: standard deviation of the mains hum in mV.
        muscle: standard deviation of the muscle tremor in mV.
        motion: largest jump of an electrode in mV.
        motion_per_minute: mean number of jumps per minute.
        mains_hz: mains frequencies. Each record gets a random choice.
    """

    wander: float = 0.03
    mains: float = 0.003
    muscle: float = 0.005
    motion: float = 0.25
    motion_per_minute: float = 1.5
    mains_hz: tuple[float, ...] = (50.0, 60.0)

    def times(self, factor: float) -> "Noise":
        """Return the noise with `wander`, `mains`, `muscle` and `motion` multiplied by a factor.

        Args:
            factor: the factor. 0 gives a clean record.
        """
        strengths = ("wander", "mains", "muscle", "motion")
        return replace(self, **{name: factor * getattr(self, name) for name in strengths})


def lead_noise(noise: Noise, fs: float, n: int, breath_hz: float, rng: np.random.Generator) -> Array:
    """Draw the noise of I, II and V1–V6, float64[8, n] in mV."""
    time = np.arange(n) / fs
    loudness = rng.lognormal(0.0, 0.6, 3)
    electrodes = _waves(noise, loudness, time, breath_hz, rng)
    electrodes += noise.muscle * loudness[2] * _muscle(fs, n, rng)
    electrodes += _motion(noise, time, rng)
    return np.asarray(ELECTRODES_TO_LEADS @ electrodes)


def _waves(noise: Noise, loudness: Array, time: Array, breath_hz: float, rng: np.random.Generator) -> Array:
    """Draw baseline wander and mains hum, [9, n].

    Wander is a wave at the frequency of breathing and three slow drifts. Hum has a third
    harmonic.
    """
    mains_hz = rng.choice(noise.mains_hz)
    hertz = np.array([breath_hz, *rng.uniform(0.03, 0.5, 3), mains_hz, 3 * mains_hz])
    wander, hum = noise.wander * loudness[0], noise.mains * loudness[1]
    height = np.array([wander, *rng.uniform(0.3, 1.0, 3) * wander, hum, 0.15 * hum])
    angle = 2 * np.pi * hertz[:, None] * time
    basis = np.concatenate([np.cos(angle), np.sin(angle)])
    return np.asarray((rng.standard_normal((9, 12)) * np.tile(height, 2)) @ basis)


def _muscle(fs: float, n: int, rng: np.random.Generator) -> Array:
    """Draw muscle tremor of unit variance, mainly between 20 and 100 Hz, [9, n]."""
    hertz = np.fft.rfftfreq(n, 1 / fs)
    gain = 1 / np.sqrt((1 + (20 / np.maximum(hertz, 1e-6)) ** 4) * (1 + (hertz / 100) ** 4))
    spectrum = rng.standard_normal((9, hertz.size, 2)).view(np.complex128)[..., 0] * gain
    return np.asarray(np.fft.irfft(spectrum, n) * n / np.sqrt(4 * np.sum(gain**2)))


def _motion(noise: Noise, time: Array, rng: np.random.Generator) -> Array:
    """Draw jumps of electrode potentials that decay within about half a second, [9, n]."""
    jumps = np.zeros((9, time.size))
    duration = time.size * (time[1] - time[0])
    for _ in range(rng.poisson(noise.motion_per_minute * duration / 60)):
        since = time - rng.uniform(0, duration)
        decay = np.exp(-np.maximum(since, 0) / rng.uniform(0.2, 0.6)) / (
            1 + np.exp(-np.clip(since, -0.5, 0.5) / 0.02)
        )
        jumps[rng.integers(9)] += rng.uniform(-noise.motion, noise.motion) * decay
    return jumps
