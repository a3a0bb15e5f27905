"""Draw a patient's age and sex, with their effects on prevalence, rate and voltage."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ecg_synth.dipole import Array

_AGES = np.arange(18, 96)
_AGE_WEIGHT = np.exp(-0.5 * ((_AGES - 60) / 17) ** 2)


@dataclass(frozen=True)
class Patient:
    """Patient: age in years, sex, and the frequency (Hz) and phase (rad) of breathing.

    Breathing modulates heart rate, QRS amplitude and baseline.
    """

    age: int
    sex: Literal["Male", "Female"]
    breath_hz: float
    breath_phase: float

    @property
    def youth(self) -> float:
        """Factor on the respiratory variation of the sinus rate: 1 up to 20 years, 0 from 90 years on."""
        return float(np.clip((90 - self.age) / 70, 0, 1))

    @property
    def rate_shift(self) -> float:
        """Shift of the heart rate in bpm. Young people and women have slightly higher rates."""
        return 0.08 * (60 - self.age) + (2 if self.sex == "Female" else -2)

    @property
    def qtc_shift(self) -> float:
        """Shift of QTc in s. Women have a longer QTc (Rautaharju et al., Can J Cardiol 8 (1992) 690)."""
        return 0.008 if self.sex == "Female" else -0.004

    @property
    def voltage(self) -> float:
        """Factor on the QRS. Men and young people have taller complexes."""
        return (0.92 if self.sex == "Female" else 1.05) * (1 + 0.15 * (self.youth - 0.43))

    def breathing(self, time: Array) -> Array:
        """Return the sine of the breath's phase at `time` in s."""
        return np.asarray(np.sin(2 * np.pi * self.breath_hz * time + self.breath_phase))


def likelihood(age: float, male: bool, per_decade: float, male_odds: float) -> float:
    """Return the odds of a finding, relative to a woman of 60 years.

    Args:
        age: age in years.
        male: whether the patient is a man.
        per_decade: odds ratio per decade of age.
        male_odds: odds ratio of men to women.
    """
    return float(per_decade ** ((age - 60) / 10) * (male_odds if male else 1.0))


def drawn(per_decade: float, male_odds: float, rng: np.random.Generator) -> Patient:
    """Draw a patient who has a finding, from the finding's odds ratios.

    By Bayes' rule, the weight of an age from 18 to 95 is the odds at that age, times the frequency of the age
    among all patients (a normal distribution around 60 years). Sexes are weighted by their odds.
    """
    by_age = _AGE_WEIGHT * per_decade ** ((_AGES - 60) / 10)
    male = rng.random() < male_odds / (1 + male_odds)
    return Patient(
        age=int(rng.choice(_AGES, p=by_age / by_age.sum())),
        sex="Male" if male else "Female",
        breath_hz=float(rng.uniform(0.2, 0.33)),
        breath_phase=float(rng.uniform(0, 2 * np.pi)),
    )
