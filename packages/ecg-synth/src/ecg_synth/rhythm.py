"""Schedule the rhythm of atria and ventricles: pacemaker, conduction through the AV node, early beats.

A rhythm has three parts. The atrium is a function that returns atrial events: `sinus`, `fibrillation`,
`flutter` or `silent`. The conduction is a function that lets ventricular beats follow these events:
`conducted`, `every_nth`, `dropping` or `independent`. The ectopy adds early beats and is optional.
`functools.partial` sets further parameters of the functions. `Rhythm.schedule` runs the atrium, then the
conduction. Atrial early beats are added before the conduction, ventricular early beats after it.

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
"""Seconds by which a schedule extends beyond the start and end of a record, so that no wave is cut off."""
_SHORTEST_RR = 0.30


class Atrial(NamedTuple):
    """K atrial events.

    Attributes:
        onset: time in s.
        kind: "sinus", "ectopic", "retrograde", "flutter" or "fibrillation".
        gain: height relative to a usual wave.
    """

    onset: Array
    kind: NDArray[np.str_]
    gain: Array


class Schedule(NamedTuple):
    """Schedule of a heart: atrial events and N beats.

    Attributes:
        atrial: the atrial events.
        onset: QRS onset of each beat in s.
        kind: type of each beat, such as `NORMAL`.
        p_of: index of the atrial event that each beat follows, or −1.
    """

    atrial: Atrial
    onset: Array
    kind: NDArray[np.str_]
    p_of: NDArray[np.int64]


class Session(NamedTuple):
    """Recording session, for which a rhythm is drawn: patient, duration in s, and random generator."""

    patient: Patient
    seconds: float
    rng: np.random.Generator


Atrium = Callable[[Session], Atrial]
"""Function that returns the atrial events of a session, including events just outside the record."""
Conduction = Callable[[Atrial, float, Session], Schedule]
"""Function that returns the schedule of ventricular beats from the atrial events and PR in s."""


def sinus(
    session: Session, bpm: Between, respiratory: Between = (0.01, 0.05), jitter: float = 0.008
) -> Atrial:
    """Return sinus P-waves.

    Args:
        session: patient, duration and random generator.
        bpm: range of the rate.
        respiratory: range of the respiratory variation, as a fraction of the PP interval.
        jitter: standard deviation of random variation, as a fraction of the PP interval.
    """
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
    """Return fibrillation waves with a mean frequency in the range `hertz`, and a mean gain in `height`."""
    _, seconds, rng = session
    gap = 1 / rng.uniform(*hertz)
    onset = np.cumsum(gap * rng.normal(1, 0.15, _count(gap, seconds))) - _LEAD_IN
    return _atrial(onset, "fibrillation", rng.uniform(*height) * rng.normal(1, 0.35, onset.size))


def flutter(session: Session, per_minute: Between = (240.0, 320.0)) -> Atrial:
    """Return flutter waves: a regular sawtooth without pauses."""
    return _atrial(_regular(60 / session.rng.uniform(*per_minute), session), "flutter")


def silent(session: Session) -> Atrial:
    """Return no atrial events, for atria without visible activity."""
    return _atrial(np.zeros(0), "sinus")


def conducted(atrial: Atrial, pr: float, session: Session) -> Schedule:
    """Return a schedule in which a beat follows each atrial event after PR.

    A beat after an ectopic P-wave has type `ATRIAL`.
    """
    kind = np.where(atrial.kind == "ectopic", ATRIAL, NORMAL)
    return Schedule(atrial, atrial.onset + pr, kind, np.arange(atrial.onset.size))


def every_nth(
    atrial: Atrial, pr: float, session: Session, ratios: tuple[int, ...] = (2, 3, 4), changing: float = 0.35
) -> Schedule:
    """Return a schedule that conducts every n-th flutter wave.

    Args:
        atrial: the flutter waves.
        pr: PR in s.
        session: source of random numbers.
        ratios: choices of n.
        changing: probability that n is drawn anew for each beat, and not once for the whole record.
    """
    count = atrial.onset.size
    mixed = session.rng.random() < changing
    steps = session.rng.choice(ratios, count if mixed else 1)
    passed = np.cumsum(np.broadcast_to(steps, count))
    passed = passed[passed < count]
    return Schedule(atrial, atrial.onset[passed] + pr, np.full(passed.size, NORMAL), passed)


def dropping(atrial: Atrial, pr: float, session: Session, cycle: tuple[int, int], step: Between) -> Schedule:
    """Return a schedule with second-degree AV block: the last P-wave of every cycle isn't conducted.

    Args:
        atrial: the P-waves.
        pr: PR in s of the first beat in a cycle.
        session: source of random numbers.
        cycle: range of the number of P-waves in a cycle.
        step: range of the first increase of PR in s. Later increases in a cycle are smaller (Mobitz I,
            Wenckebach). With (0, 0), PR is constant (Mobitz II).
    """
    length = int(session.rng.integers(cycle[0], cycle[1] + 1))
    position = np.arange(atrial.onset.size) % length
    delay = pr + session.rng.uniform(*step) * (1 - 0.6**position) / 0.4
    passed = np.flatnonzero(position < length - 1)
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
    """Return a schedule of beats that are independent of P-waves, as in fibrillation or with a pacemaker.

    Args:
        atrial: the atrial events. They are kept unless `retrograde` replaces them.
        pr: unused. Every `Conduction` function has this parameter.
        session: duration and random generator.
        bpm: range of the rate.
        irregular: spread of the intervals on a logarithmic scale.
        kinds: choices for the type of the beats.
        retrograde: if given, an inverted P-wave follows each beat after this time in s.
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
    """Early beats.

    An atrial early beat resets the sinus node. A ventricular early beat doesn't, so a fully compensatory
    pause follows.

    Attributes:
        atrial: whether the early beats come from the atria. If False, they come from the ventricles.
        coupling: range of the interval before an early beat, as a fraction of the expected interval.
        every: 2 for bigeminy, 3 for trigeminy. If None, about two early beats occur in ten seconds.
    """

    atrial: bool
    coupling: Between = (0.55, 0.72)
    every: int | None = None

    def advance(self, atrial: Atrial, seconds: float, rng: np.random.Generator) -> Atrial:
        """Make some atrial events ectopic and early. Later events move, because the sinus node is reset."""
        onset, kind = atrial.onset.copy(), atrial.kind.copy()
        for k in self._chosen(onset, seconds, rng):
            onset[k:] -= (1 - rng.uniform(*self.coupling)) * (onset[k] - onset[k - 1])
            kind[k] = "ectopic"
        return Atrial(onset, kind, atrial.gain)

    def usurp(self, plan: Schedule, seconds: float, rng: np.random.Generator) -> Schedule:
        """Replace some beats by early ventricular beats. P-waves of replaced beats remain without a beat."""
        onset, kind, p_of = plan.onset.copy(), plan.kind.copy(), plan.p_of.copy()
        coupling = rng.uniform(*self.coupling)
        for k in self._chosen(onset, seconds, rng):
            onset[k] = onset[k - 1] + coupling * (onset[k] - onset[k - 1])
            kind[k], p_of[k] = VENTRICULAR, -1
        return Schedule(plan.atrial, onset, kind, p_of)

    def _chosen(self, onset: Array, seconds: float, rng: np.random.Generator) -> list[int]:
        """Return the ascending indices of the early beats.

        The first beat is never early, and two successive beats are never both early.
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
        """Return all atrial events and beats of a record of `seconds` length, and some outside it.

        Waves of events shortly before the start or after the end may extend into the record.
        """
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
    """Return a number of events that certainly fills the record and its margins.

    The number has a reserve, because early beats and irregular gaps shorten the schedule.
    """
    return int(np.ceil(1.35 * (_LEAD_IN + seconds + _LEAD_OUT) / gap)) + 2
