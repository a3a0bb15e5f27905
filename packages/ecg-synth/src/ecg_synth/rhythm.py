"""Rhythm of atria and ventricles: pacemaker, conduction through the AV node, early beats.

A rhythm has an atrium (`sinus`, `fibrillation`, `flutter`, `silent`), a conduction (`conducted`, `every_nth`,
`dropping`, `independent`) and an optional `Ectopy`. The other parameters of both functions are already bound.
`schedule` runs atrium, conduction and ectopy.

Shapes: K atrial events, N beats. Units: s and bpm.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_synth.dipole import Array
from ecg_synth.patient import Patient

Between = tuple[float, float]

NORMAL, ATRIAL, VENTRICULAR, JUNCTIONAL, ESCAPE, PACED = "N", "A", "V", "j", "E", "/"
"""Beat types in PhysioBank's annotation letters. j and E are escape beats."""

_LEAD_IN, _LEAD_OUT = 3.0, 1.5
"""Seconds by which a schedule extends past the start and end of a record, so that no wave is cut off."""
_SHORTEST_RR = 0.30


class Atrial(NamedTuple):
    """K atrial events: onset, kind and height (1: usual).

    Kinds are sinus, ectopic, retrograde, flutter and fibrillation.
    """

    onset: Array
    kind: NDArray[np.str_]
    gain: Array


class Schedule(NamedTuple):
    """Schedule of a heart: atrial events, and N beats with QRS onset, type and preceding event (−1: none)."""

    atrial: Atrial
    onset: Array
    kind: NDArray[np.str_]
    p_of: NDArray[np.int64]


class Session(NamedTuple):
    """Recording session: patient, seconds, and random generator."""

    patient: Patient
    seconds: float
    rng: np.random.Generator


Atrium = Callable[[Session], Atrial]
"""Function that returns the atrial events, from before the start of the record to after its end."""
Conduction = Callable[[Atrial, float, Session], Schedule]
"""Function that returns the ventricular beats, PR in s after atrial events or independent of them."""


def sinus(
    session: Session, bpm: Between, respiratory: Between = (0.01, 0.05), jitter: float = 0.008
) -> Atrial:
    """Return sinus P-waves by rate, respiratory variation and jitter (fractions of the PP interval)."""
    patient, _, rng = session
    low, high = bpm
    rate = np.clip(low + (high - low) * rng.beta(2, 2) + patient.rate_shift, low, high)
    still, deep = respiratory
    sway = still + (deep - still) * rng.uniform(0.5, 1.0) * (0.3 + 0.7 * patient.youth)
    pp = 60 / rate
    regular = _regular(pp, session)
    gaps = pp * (1 + sway * patient.breathing(regular) + jitter * rng.standard_normal(regular.size))
    return _atrial(regular[0] + np.cumsum(gaps), "sinus")


def fibrillation(session: Session, hertz: Between = (5.0, 7.5), height: Between = (0.6, 1.5)) -> Atrial:
    """Return fibrillatory waves, fine or coarse and all different, with a mean frequency in Hz."""
    _, seconds, rng = session
    gap = 1 / rng.uniform(*hertz)
    onset = np.cumsum(gap * rng.normal(1, 0.15, _count(gap, seconds))) - _LEAD_IN
    return _atrial(onset, "fibrillation", rng.uniform(*height) * rng.normal(1, 0.35, onset.size))


def flutter(session: Session, per_minute: Between = (240.0, 320.0)) -> Atrial:
    """Return the flutter waves of a macro-re-entry: an even sawtooth without pauses."""
    return _atrial(_regular(60 / session.rng.uniform(*per_minute), session), "flutter")


def silent(session: Session) -> Atrial:
    """Return no atrial events, for atria without visible activity."""
    return _atrial(np.zeros(0), "sinus")


def conducted(atrial: Atrial, pr: float, session: Session) -> Schedule:
    """Return a schedule with a beat PR after each atrial event, `ATRIAL` after an ectopic P-wave."""
    kind = np.where(atrial.kind == "ectopic", ATRIAL, NORMAL)
    return Schedule(atrial, atrial.onset + pr, kind, np.arange(atrial.onset.size))


def every_nth(
    atrial: Atrial, pr: float, session: Session, ratios: tuple[int, ...] = (2, 3, 4), changing: float = 0.35
) -> Schedule:
    """Return a schedule that conducts every second, third or fourth flutter wave, or a changing mixture."""
    count = atrial.onset.size
    mixed = session.rng.random() < changing
    steps = session.rng.choice(ratios, count if mixed else 1)
    answered = np.cumsum(np.broadcast_to(steps, count))
    answered = answered[answered < count]
    return Schedule(atrial, atrial.onset[answered] + pr, np.full(answered.size, NORMAL), answered)


def dropping(atrial: Atrial, pr: float, session: Session, cycle: tuple[int, int], step: Between) -> Schedule:
    """Return a schedule with second-degree AV block: the last P-wave of every `cycle` isn't conducted.

    With a `step` in s, PR grows within the cycle by ever smaller steps (Mobitz I, Wenckebach). With a step of
    0, PR is constant (Mobitz II).
    """
    length = int(session.rng.integers(cycle[0], cycle[1] + 1))
    place = np.arange(atrial.onset.size) % length
    delay = pr + session.rng.uniform(*step) * (1 - 0.6**place) / 0.4
    passed = np.flatnonzero(place < length - 1)
    return Schedule(atrial, (atrial.onset + delay)[passed], np.full(passed.size, NORMAL), passed)


def independent(
    atrial: Atrial,
    pr: float,
    session: Session,
    bpm: Between,
    irregular: float = 0.005,
    kinds: tuple[str, ...] = (NORMAL,),
    retrograde: float | None = None,
) -> Schedule:
    """Return a schedule of beats that ignore P-waves: fibrillation, re-entry, escape, pacemaker, VT.

    If `retrograde` is given, an inverted P-wave follows each beat after this time in s.
    """
    _, seconds, rng = session
    gap = 60 / rng.uniform(*bpm)
    spread = rng.lognormal(-(irregular**2) / 2, irregular, _count(gap, seconds))
    onset = np.cumsum(np.maximum(gap * spread, _SHORTEST_RR)) - _LEAD_IN - gap * rng.random()
    if retrograde is not None:
        atrial = _atrial(onset + retrograde, "retrograde")
    kind = np.full(onset.size, rng.choice(kinds))
    return Schedule(atrial, onset, kind, np.full(onset.size, -1))


@dataclass(frozen=True)
class Ectopy:
    """Early beats, at a fraction (`coupling`) of the interval to the next expected beat.

    If `every` is 2, the rhythm is a bigeminy, and if 3, a trigeminy. If None, about two early beats are
    scattered over ten seconds. An atrial early beat resets the sinus node. A ventricular early beat doesn't,
    so that the pause after it is fully compensatory.
    """

    atrial: bool
    coupling: Between = (0.55, 0.72)
    every: int | None = None

    def advance(self, atrial: Atrial, seconds: float, rng: np.random.Generator) -> Atrial:
        """Make the chosen atrial events ectopic and early, and shift all later ones."""
        onset, kind = atrial.onset.copy(), atrial.kind.copy()
        for k in self._chosen(onset, seconds, rng):
            onset[k:] -= (1 - rng.uniform(*self.coupling)) * (onset[k] - onset[k - 1])
            kind[k] = "ectopic"
        return Atrial(onset, kind, atrial.gain)

    def usurp(self, plan: Schedule, seconds: float, rng: np.random.Generator) -> Schedule:
        """Replace the chosen beats by early ventricular beats. Their P-waves stay without a beat."""
        onset, kind, p_of = plan.onset.copy(), plan.kind.copy(), plan.p_of.copy()
        coupling = rng.uniform(*self.coupling)
        for k in self._chosen(onset, seconds, rng):
            onset[k] = onset[k - 1] + coupling * (onset[k] - onset[k - 1])
            kind[k], p_of[k] = VENTRICULAR, -1
        return Schedule(plan.atrial, onset, kind, p_of)

    def _chosen(self, onset: Array, seconds: float, rng: np.random.Generator) -> list[int]:
        """Return the ascending indices of the early beats.

        The first beat is never early, nor are two in a row.
        """
        if self.every is not None:
            return list(range(int(rng.integers(1, self.every + 1)), onset.size, self.every))
        visible = np.flatnonzero((onset > 1.0) & (onset < seconds - 1.0))
        count = 1 + rng.binomial(max(1, round(seconds / 5)), 0.5)
        chosen: list[int] = []
        for k in rng.permutation(visible[visible > 0]):
            if len(chosen) < count and all(abs(k - other) > 1 for other in chosen):
                chosen.append(int(k))
        return sorted(chosen)


@dataclass(frozen=True)
class Rhythm:
    """Rhythm in three parts: pacemaker, conduction and early beats."""

    atrium: Atrium
    conduction: Conduction = conducted
    ectopy: Ectopy | None = None

    def schedule(self, pr: float, patient: Patient, seconds: float, rng: np.random.Generator) -> Schedule:
        """Return all atrial events and beats that are visible in a record of `seconds`."""
        session = Session(patient, seconds, rng)
        atrial = self.atrium(session)
        if self.ectopy and self.ectopy.atrial:
            atrial = self.ectopy.advance(atrial, seconds, rng)
        plan = self.conduction(atrial, pr, session)
        if self.ectopy and not self.ectopy.atrial:
            plan = self.ectopy.usurp(plan, seconds, rng)
        return plan


def _atrial(onset: Array, kind: str, gain: Array | None = None) -> Atrial:
    return Atrial(
        onset, np.full(onset.size, kind, dtype="<U12"), np.ones(onset.size) if gain is None else gain
    )


def _regular(gap: float, session: Session) -> Array:
    count = _count(gap, session.seconds)
    return np.arange(count, dtype=np.float64) * gap - _LEAD_IN - gap * session.rng.random()


def _count(gap: float, seconds: float) -> int:
    """Return enough events to fill the span even if ectopy or irregularity draws them together."""
    return int(np.ceil(1.35 * (_LEAD_IN + seconds + _LEAD_OUT) / gap)) + 2
