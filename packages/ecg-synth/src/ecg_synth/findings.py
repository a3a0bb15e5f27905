"""Combine diagnoses in a record.

A record has a leading finding, to which random companions are added. Their probability depends on the
patient's age and sex. Findings that exclude each other are never combined.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ecg_base import UsageError, suggest
from ecg_synth import patient
from ecg_synth.diagnoses import DIAGNOSES, UNDERLYING
from ecg_synth.patient import Patient
from ecg_synth.rhythm import Rhythm


def checked(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names without duplicates. Raise `UsageError` for an unknown abbreviation."""
    unknown = [name for name in names if name not in DIAGNOSES]
    if unknown:
        problem = f"unknown diagnosis: {', '.join(unknown)}"
        raise UsageError(problem, remedy=suggest(unknown[0], DIAGNOSES))
    return tuple(dict.fromkeys(names))


def completed(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, with normal sinus rhythm added if no name is a rhythm.

    Raises:
        UsageError: an abbreviation is unknown, or two findings exclude each other.
    """
    names = checked(names)
    for i, name in enumerate(names):
        for other in names[i + 1 :]:
            if not compatible([name], other):
                problem = f"{name} and {other} can't be combined in a record"
                raise UsageError(problem, remedy=f"Remove {name} or {other}")
    return names if "atrium" in _claims(names) else (*names, "NSR")


def compatible(names: Sequence[str], other: str) -> bool:
    """Return whether `other` can be combined with `names`: they set or hide no feature in common."""
    return not _claims(names) & DIAGNOSES[other].claims


def rhythm_of(names: Sequence[str]) -> Rhythm:
    """Return the rhythm of a record with these findings. Parts that no finding sets are normal."""
    parts = {
        part: value
        for name in names
        for part in ("atrium", "conduction", "ectopy")
        if (value := getattr(DIAGNOSES[name], part)) is not None
    }
    return Rhythm(**parts)


def odds(names: Sequence[str]) -> tuple[float, float]:
    """Return the products of the findings' odds ratios: per decade of age, and of men to women."""
    causes = [DIAGNOSES[name] for name in names]
    per_decade = np.prod([cause.per_decade for cause in causes])
    male = np.prod([cause.male for cause in causes])
    return float(per_decade), float(male)


def with_companions(leading: str, person: Patient, rng: np.random.Generator) -> tuple[str, ...]:
    """Return the leading finding and findings that accompany it, drawn at random for this patient.

    If none of them is a rhythm, a random rhythm is added.
    """
    names = [leading]
    for name, probability in DIAGNOSES[leading].companions.items():
        if rng.random() < probability * _prevalence(name, person) and compatible(names, name):
            names.append(name)
    if "atrium" not in _claims(names):
        rhythms = {name: share for name, share in UNDERLYING.items() if compatible(names, name)}
        names.append(
            weighted({name: share * _prevalence(name, person) for name, share in rhythms.items()}, rng)
        )
    return tuple(names)


def weighted(shares: Mapping[str, float], rng: np.random.Generator) -> str:
    """Draw a name with probability proportional to its weight."""
    weights = np.array(list(shares.values()))
    return list(shares)[int(rng.choice(weights.size, p=weights / weights.sum()))]


def _claims(names: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*(DIAGNOSES[name].claims for name in names))


def _prevalence(name: str, person: Patient) -> float:
    finding = DIAGNOSES[name]
    return patient.likelihood(person.age, person.sex == "Male", finding.per_decade, finding.male)
