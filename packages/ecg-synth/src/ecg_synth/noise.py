"""Noise of a recorder, drawn for each electrode.

Noise arises at the nine electrodes (right arm, left arm, left leg, C1–C6). It reaches the leads through the
same differences as the heart's potential, so Einthoven's law also holds for noisy records.

Shapes: n samples. Units: mV, Hz and s.
"""

from dataclasses import dataclass, replace

import numpy as np

from ecg_synth.dipole import Array

_LIMB = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
ELECTRODES_TO_LEADS = np.block([[_LIMB, np.zeros((2, 6))], [np.full((6, 3), -1 / 3), np.eye(6)]])
"""[8, 9]: I = LA − RA, II = LL − RA, and each chest electrode against Wilson's central terminal."""


@dataclass(frozen=True)
class Noise:
    """Strength of each kind of electrode noise in mV: standard deviation, for `motion` the maximum."""

    wander: float = 0.03
    mains: float = 0.003
    muscle: float = 0.005
    motion: float = 0.25
    motion_per_minute: float = 1.5
    mains_hz: tuple[float, ...] = (50.0, 60.0)

    def times(self, factor: float) -> "Noise":
        """Return the noise with all strengths multiplied by a factor.

        Args:
            factor: factor on all strengths. 0 gives a clean record.
        """
        strengths = ("wander", "mains", "muscle", "motion")
        return replace(self, **{name: factor * getattr(self, name) for name in strengths})


def lead_noise(noise: Noise, fs: float, n: int, breath_hz: float, rng: np.random.Generator) -> Array:
    """Draw the noise of the independent leads, float64[8, n] in mV."""
    time = np.arange(n) / fs
    loudness = rng.lognormal(0.0, 0.6, 3)
    electrodes = _waves(noise, loudness, time, breath_hz, rng)
    electrodes += noise.muscle * loudness[2] * _muscle(fs, n, rng)
    electrodes += _motion(noise, time, rng)
    return np.asarray(ELECTRODES_TO_LEADS @ electrodes)


def _waves(noise: Noise, loudness: Array, time: Array, breath_hz: float, rng: np.random.Generator) -> Array:
    """Draw baseline wander (breathing, three slow drifts) and mains hum with its third harmonic, [9, n]."""
    mains_hz = rng.choice(noise.mains_hz)
    hertz = np.array([breath_hz, *rng.uniform(0.03, 0.5, 3), mains_hz, 3 * mains_hz])
    wander, hum = noise.wander * loudness[0], noise.mains * loudness[1]
    height = np.array([wander, *rng.uniform(0.3, 1.0, 3) * wander, hum, 0.15 * hum])
    angle = 2 * np.pi * hertz[:, None] * time
    basis = np.concatenate([np.cos(angle), np.sin(angle)])
    return np.asarray((rng.standard_normal((9, 12)) * np.tile(height, 2)) @ basis)


def _muscle(fs: float, n: int, rng: np.random.Generator) -> Array:
    """Draw tremor of unit variance between 20 and 100 Hz, shaped in the frequency domain, [9, n]."""
    hertz = np.fft.rfftfreq(n, 1 / fs)
    gain = 1 / np.sqrt((1 + (20 / np.maximum(hertz, 1e-6)) ** 4) * (1 + (hertz / 100) ** 4))
    spectrum = rng.standard_normal((9, hertz.size, 2)).view(np.complex128)[..., 0] * gain
    return np.asarray(np.fft.irfft(spectrum, n) * n / np.sqrt(4 * np.sum(gain**2)))


def _motion(noise: Noise, time: Array, rng: np.random.Generator) -> Array:
    """Draw jumps of electrodes that settle within about half a second, [9, n]."""
    jumps = np.zeros((9, time.size))
    duration = time.size * (time[1] - time[0])
    for _ in range(rng.poisson(noise.motion_per_minute * duration / 60)):
        since = time - rng.uniform(0, duration)
        decay = np.exp(-np.maximum(since, 0) / rng.uniform(0.2, 0.6)) / (
            1 + np.exp(-np.clip(since, -0.5, 0.5) / 0.02)
        )
        jumps[rng.integers(9)] += rng.uniform(-noise.motion, noise.motion) * decay
    return jumps
