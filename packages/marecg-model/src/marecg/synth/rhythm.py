"""When the atria and the ventricles fire: who paces, what the AV node lets through, and what comes too early.

A rhythm is three parts that are data: an atrium (`Sinus`, `Fibrillation`, `Flutter`, `Silent`), a conduction
(`Conducted`, `EveryNth`, `Dropping`, `Independent`) and, maybe, an `Ectopy`. `schedule` runs them in this
order.

Shapes: K atrial events, N beats. Units: s and bpm.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from marecg.synth.dipole import Array
from marecg.synth.patient import Patient

Between = tuple[float, float]

NORMAL, ATRIAL, VENTRICULAR, JUNCTIONAL, ESCAPE, PACED = "N", "A", "V", "j", "E", "/"
"""Beat types, by the letters of PhysioBank's annotations; j and E are escape beats."""

_LEAD_IN, _LEAD_OUT = 3.0, 1.5
"""Seconds that a schedule reaches beyond both ends of a record, so that no wave is cut off."""
_SHORTEST_RR = 0.30


class Atrial(NamedTuple):
    """K atrial events: onset, kind (sinus, ectopic, retrograde, flutter, fibrillation), height (1: usual)."""

    onset: Array
    kind: NDArray[np.str_]
    gain: Array


class Schedule(NamedTuple):
    """Atrial events and N beats: QRS onset, type, and the index of the atrial event before it (−1: none)."""

    atrial: Atrial
    onset: Array
    kind: NDArray[np.str_]
    p_of: NDArray[np.int64]


class Session(NamedTuple):
    """Who is recorded, for how many seconds, and what draws."""

    patient: Patient
    seconds: float
    rng: np.random.Generator


class Atrium(Protocol):
    """What drives the atria."""

    def fire(self, session: Session) -> Atrial:
        """Atrial events from before the record's start to after its end."""


class Conduction(Protocol):
    """What makes the ventricles answer, or beat on their own."""

    def beats(self, atrial: Atrial, pr: float, session: Session) -> Schedule:
        """Beats for these atrial events; `pr` in s."""


@dataclass(frozen=True)
class Sinus:
    """The sinus node: rate, how far breathing sways it, and jitter (both as fractions of the PP interval)."""

    bpm: Between
    respiratory: Between = (0.01, 0.05)
    jitter: float = 0.008

    def fire(self, session: Session) -> Atrial:
        """P-waves at the drawn rate."""
        patient, _, rng = session
        low, high = self.bpm
        bpm = np.clip(low + (high - low) * rng.beta(2, 2) + patient.rate_shift, low, high)
        still, deep = self.respiratory
        sway = still + (deep - still) * rng.uniform(0.5, 1.0) * (0.3 + 0.7 * patient.youth)
        pp = 60 / bpm
        regular = _regular(pp, session)
        gaps = pp * (1 + sway * patient.breathing(regular) + self.jitter * rng.standard_normal(regular.size))
        return _atrial(regular[0] + np.cumsum(gaps), "sinus")


@dataclass(frozen=True)
class Fibrillation:
    """Fibrillatory waves: no two alike, with a mean frequency in Hz."""

    hertz: Between = (5.0, 7.5)
    height: Between = (0.6, 1.5)

    def fire(self, session: Session) -> Atrial:
        """f-waves, fine or coarse."""
        _, seconds, rng = session
        gap = 1 / rng.uniform(*self.hertz)
        onset = np.cumsum(gap * rng.normal(1, 0.15, _count(gap, seconds))) - _LEAD_IN
        return _atrial(onset, "fibrillation", rng.uniform(*self.height) * rng.normal(1, 0.35, onset.size))


@dataclass(frozen=True)
class Flutter:
    """A macro-re-entry: identical waves without a pause between them."""

    per_minute: Between = (240.0, 320.0)

    def fire(self, session: Session) -> Atrial:
        """F-waves, the saw's teeth."""
        return _atrial(_regular(60 / session.rng.uniform(*self.per_minute), session), "flutter")


@dataclass(frozen=True)
class Silent:
    """Atria whose activity can't be seen."""

    def fire(self, session: Session) -> Atrial:
        """Nothing."""
        return _atrial(np.zeros(0), "sinus")


@dataclass(frozen=True)
class Conducted:
    """Each atrial event is followed by a beat, PR later."""

    def beats(self, atrial: Atrial, pr: float, session: Session) -> Schedule:
        """One beat per P-wave; one that an ectopic P-wave leads to is `ATRIAL`."""
        kind = np.where(atrial.kind == "ectopic", ATRIAL, NORMAL)
        return Schedule(atrial, atrial.onset + pr, kind, np.arange(atrial.onset.size))


@dataclass(frozen=True)
class EveryNth:
    """The AV node answers every second, third or fourth flutter wave, or a changing mixture of these."""

    ratios: tuple[int, ...] = (2, 3, 4)
    changing: float = 0.35

    def beats(self, atrial: Atrial, pr: float, session: Session) -> Schedule:
        """Beats at whole multiples of the flutter interval."""
        changing = session.rng.random() < self.changing
        steps = session.rng.choice(self.ratios, atrial.onset.size if changing else 1)
        answered = np.cumsum(np.broadcast_to(steps, atrial.onset.size))
        answered = answered[answered < atrial.onset.size]
        return Schedule(atrial, atrial.onset[answered] + pr, np.full(answered.size, NORMAL), answered)


@dataclass(frozen=True)
class Dropping:
    """Second-degree AV block: of every `cycle` P-waves the last is not conducted.

    With `step` (s) PR grows within the cycle by ever smaller steps (Mobitz I, Wenckebach); without it PR is
    constant (Mobitz II).
    """

    cycle: tuple[int, int]
    step: Between

    def beats(self, atrial: Atrial, pr: float, session: Session) -> Schedule:
        """All beats but the dropped ones."""
        cycle = int(session.rng.integers(self.cycle[0], self.cycle[1] + 1))
        place = np.arange(atrial.onset.size) % cycle
        step = session.rng.uniform(*self.step)
        delay = pr + step * (1 - 0.6**place) / 0.4
        passed = np.flatnonzero(place < cycle - 1)
        return Schedule(atrial, (atrial.onset + delay)[passed], np.full(passed.size, NORMAL), passed)


@dataclass(frozen=True)
class Independent:
    """Ventricles that follow no P-wave: fibrillation, re-entry, an escape rhythm, a pacemaker, VT."""

    bpm: Between
    irregular: float = 0.005
    kinds: tuple[str, ...] = (NORMAL,)
    retrograde: float | None = None

    def beats(self, atrial: Atrial, pr: float, session: Session) -> Schedule:
        """Beats at the drawn rate; `retrograde` s after each, if given, follows an inverted P-wave."""
        _, seconds, rng = session
        gap = 60 / rng.uniform(*self.bpm)
        spread = rng.lognormal(-(self.irregular**2) / 2, self.irregular, _count(gap, seconds))
        onset = np.cumsum(np.maximum(gap * spread, _SHORTEST_RR)) - _LEAD_IN - gap * rng.random()
        if self.retrograde is not None:
            atrial = _atrial(onset + self.retrograde, "retrograde")
        kind = np.full(onset.size, rng.choice(self.kinds))
        return Schedule(atrial, onset, kind, np.full(onset.size, -1))


@dataclass(frozen=True)
class Ectopy:
    """Beats that come too early, at a fraction (`coupling`) of the interval before the next expected one.

    `every` 2 is bigeminy, 3 trigeminy; None scatters about two in ten seconds. An atrial one resets the
    sinus node; a ventricular one leaves it alone, so that the pause after it is fully compensatory.
    """

    atrial: bool
    coupling: Between = (0.55, 0.72)
    every: int | None = None

    def advance(self, atrial: Atrial, seconds: float, rng: np.random.Generator) -> Atrial:
        """Atrial events of which the chosen ones are ectopic and early, and all later ones shifted."""
        onset, kind = atrial.onset.copy(), atrial.kind.copy()
        for k in self._chosen(onset, seconds, rng):
            onset[k:] -= (1 - rng.uniform(*self.coupling)) * (onset[k] - onset[k - 1])
            kind[k] = "ectopic"
        return Atrial(onset, kind, atrial.gain)

    def usurp(self, plan: Schedule, seconds: float, rng: np.random.Generator) -> Schedule:
        """Beats of which the chosen ones are ventricular and early; their P-waves stay, without a beat."""
        onset, kind, p_of = plan.onset.copy(), plan.kind.copy(), plan.p_of.copy()
        coupling = rng.uniform(*self.coupling)
        for k in self._chosen(onset, seconds, rng):
            onset[k] = onset[k - 1] + coupling * (onset[k] - onset[k - 1])
            kind[k], p_of[k] = VENTRICULAR, -1
        return Schedule(plan.atrial, onset, kind, p_of)

    def _chosen(self, onset: Array, seconds: float, rng: np.random.Generator) -> list[int]:
        """Indices of the early ones: in rising order, never the first, never two in a row."""
        if self.every is not None:
            return list(range(int(rng.integers(1, self.every + 1)), onset.size, self.every))
        seen = np.flatnonzero((onset > 1.0) & (onset < seconds - 1.0))
        count = 1 + rng.binomial(max(1, round(seconds / 5)), 0.5)
        chosen: list[int] = []
        for k in rng.permutation(seen[seen > 0]):
            if len(chosen) < count and all(abs(k - other) > 1 for other in chosen):
                chosen.append(int(k))
        return sorted(chosen)


@dataclass(frozen=True)
class Rhythm:
    """Who paces, what is conducted, what comes early."""

    atrium: Atrium
    conduction: Conduction = Conducted()
    ectopy: Ectopy | None = None

    def schedule(self, pr: float, patient: Patient, seconds: float, rng: np.random.Generator) -> Schedule:
        """Every atrial event and beat that can be seen in a record of `seconds`."""
        session = Session(patient, seconds, rng)
        atrial = self.atrium.fire(session)
        if self.ectopy and self.ectopy.atrial:
            atrial = self.ectopy.advance(atrial, seconds, rng)
        plan = self.conduction.beats(atrial, pr, session)
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
    """Events enough to fill the span even where ectopy or irregularity draws them together."""
    return int(np.ceil(1.35 * (_LEAD_IN + seconds + _LEAD_OUT) / gap)) + 2
