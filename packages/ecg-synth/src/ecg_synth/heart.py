"""Convert the schedule and shape of beats into the heart's dipole, and into the ground truth of every beat.

The dipole is a sum of bumps (`dipole`).

Shapes: K atrial events, N beats. Units: mV and s.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_synth import morphology, rhythm
from ecg_synth.diagnosis import Diagnosis, Range
from ecg_synth.dipole import Array, Bumps, joined
from ecg_synth.morphology import Shape
from ecg_synth.patient import Patient
from ecg_synth.rhythm import Schedule

_P_WAVES = ("sinus", "ectopic")
"""Atrial events with an onset that a human reader could mark."""
_BREATH_SWAY = 0.04
"""Maximum fraction by which breathing changes the height of the QRS."""


@dataclass(frozen=True)
class Beats:
    """Beats of a record: types, R-peaks and boundaries of waves, in s from the first sample of the record.

    Attributes:
        kind: type of each beat as a letter of PhysioBank's annotations, such as N for a normal beat.
        p_onset: onset of the P-wave that the beat follows, NaN if the beat arises without a P-wave.
        qrs_onset: onset of the QRS, after any pacing spike.
        r_peak: time of the R-peak.
        qrs_offset: end of the QRS.
        t_end: time at which the steepest tangent of T's descent meets the baseline.
    """

    kind: NDArray[np.str_]
    p_onset: Array
    qrs_onset: Array
    r_peak: Array
    qrs_offset: Array
    t_end: Array

    def between(self, start: float, end: float) -> "Beats":
        """Return the beats with an R-peak in [start, end).

        Args:
            start: seconds from the first sample.
            end: seconds from the first sample.
        """
        inside = (self.r_peak >= start) & (self.r_peak < end)
        return Beats(**{field.name: getattr(self, field.name)[inside] for field in fields(self)})


def drawn_shape(diagnoses: Sequence[Diagnosis], person: Patient, rng: np.random.Generator) -> Shape:
    """Draw the shape of a patient's beats: a healthy shape that varies randomly, changed by each finding."""
    shape = replace(
        Shape(),
        pr=rng.uniform(0.13, 0.19),
        p_duration=rng.uniform(0.09, 0.11),
        qrs_duration=rng.uniform(0.08, 0.10),
        qtc=float(np.clip(rng.normal(0.405, 0.014) + person.qtc_shift, 0.37, 0.45)),
    )
    for finding in diagnoses:
        change = finding.shapes[int(rng.integers(len(finding.shapes)))]
        shape = replace(shape, **{name: _value(value, rng) for name, value in change.items()})
    p, qrs, t = rng.lognormal(0, 0.12), rng.lognormal(0, 0.14) * person.voltage, rng.lognormal(0, 0.2)
    return replace(shape, p_gain=shape.p_gain * p, qrs_gain=shape.qrs_gain * qrs, t_gain=shape.t_gain * t)


def shapes_by_kind(shape: Shape, rng: np.random.Generator) -> dict[str, Shape]:
    """Return a shape for each type of beat.

    All ventricular beats have the same random shape, because they share a focus. Escape beats have a fixed
    shape. Other types have the patient's shape.
    """
    focus = (morphology.RVOT_BEAT, morphology.LV_BEAT)[int(rng.integers(2))]
    focus = replace(focus, qrs_duration=rng.uniform(0.135, 0.17), qrs_gain=rng.uniform(0.75, 1.15))
    return {
        rhythm.NORMAL: shape,
        rhythm.ATRIAL: shape,
        rhythm.JUNCTIONAL: shape,
        rhythm.PACED: shape,
        rhythm.VENTRICULAR: focus,
        rhythm.ESCAPE: morphology.ESCAPE_BEAT,
    }


def timed(plan: Schedule, shapes: Mapping[str, Shape]) -> Beats:
    """Return all beats with the boundaries of their waves.

    QT depends on the RR interval before the beat, and twice as much on the median RR interval.
    """
    gaps = np.diff(plan.onset, prepend=np.nan)
    usual = float(np.nanmedian(gaps))
    rr = (2 * usual + np.nan_to_num(gaps, nan=usual)) / 3
    duration = _values(plan.kind, shapes, lambda shape: shape.qrs_duration)
    qtc = _values(plan.kind, shapes, lambda shape: shape.qtc)
    peak = _values(plan.kind, shapes, morphology.r_peak)
    p_onset = np.full(plan.onset.size, np.nan)
    led = plan.p_of >= 0
    follows_p = np.zeros(plan.onset.size, dtype=bool)
    follows_p[led] = np.isin(plan.atrial.kind[plan.p_of[led]], _P_WAVES)
    p_onset[follows_p] = plan.atrial.onset[plan.p_of[follows_p]]
    return Beats(
        kind=plan.kind,
        p_onset=p_onset,
        qrs_onset=plan.onset,
        r_peak=plan.onset + peak * duration,
        qrs_offset=plan.onset + duration,
        t_end=plan.onset + morphology.qt_interval(qtc, rr),
    )


def p_onsets(plan: Schedule, start: float, end: float) -> Array:
    """Return the onsets in s of all sinus and ectopic P-waves in [start, end), conducted or not."""
    onset = plan.atrial.onset[np.isin(plan.atrial.kind, _P_WAVES)]
    return np.sort(onset[(onset >= start) & (onset < end)])


def bumps(plan: Schedule, beats: Beats, shapes: Mapping[str, Shape], person: Patient) -> Bumps:
    """Return the bumps of all beats and atrial events. Their sum is the dipole."""
    parts = _atria(plan, shapes[rhythm.NORMAL])
    for kind in np.unique(beats.kind):
        parts += _ventricles(beats, beats.kind == kind, shapes[kind], person)
    return joined(parts)


def _atria(plan: Schedule, shape: Shape) -> list[Bumps]:
    onset, kinds, gain = plan.atrial
    gap = float(np.median(np.diff(onset))) if onset.size > 1 else 0.0
    activity = {
        "sinus": (shape.p, shape.p_duration, shape.p_gain),
        "ectopic": (morphology.ECTOPIC_P, 0.10, 1.0),
        "retrograde": (morphology.RETROGRADE_P, 0.08, 1.0),
        "flutter": (morphology.FLUTTER, gap, 1.0),
        "fibrillation": (morphology.FIBRILLATION, gap, 1.0),
    }
    parts = []
    for kind in np.unique(kinds):
        waves, duration, factor = activity[kind]
        of_kind = kinds == kind
        parts.append(
            morphology.place(waves, onset[of_kind], np.full(of_kind.sum(), duration), factor * gain[of_kind])
        )
    return parts


def _ventricles(beats: Beats, chosen: NDArray[np.bool_], shape: Shape, person: Patient) -> list[Bumps]:
    onset, offset, end = beats.qrs_onset[chosen], beats.qrs_offset[chosen], beats.t_end[chosen]
    sway = 1 + _BREATH_SWAY * person.breathing(onset)
    return [
        morphology.place(shape.qrs, onset, offset - onset, shape.qrs_gain * sway),
        morphology.place(morphology.recovery(shape), offset, end - offset, sway),
    ]


def _values(kinds: NDArray[np.str_], shapes: Mapping[str, Shape], value: Callable[[Shape], float]) -> Array:
    """Return `value` of each beat's shape, float64[N]."""
    distinct, indices = np.unique(kinds, return_inverse=True)
    return np.array([value(shapes[kind]) for kind in distinct])[indices]


def _value(value: object, rng: np.random.Generator) -> Any:
    return rng.uniform(*value) if isinstance(value, Range) else value
