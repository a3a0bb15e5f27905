"""Make a synthetic record: twelve leads with given diagnoses, and the ground truth of every beat."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_base import UsageError
from ecg_synth import findings, heart, patient
from ecg_synth.diagnoses import DIAGNOSES
from ecg_synth.dipole import Array, project, twelve, vectorcardiogram
from ecg_synth.heart import Beats
from ecg_synth.noise import Noise, lead_noise
from ecg_synth.patient import Patient

_AXIS_SPREAD = 0.16
"""Standard deviation of the heart's rotation around each axis, in rad."""


@dataclass(frozen=True)
class SyntheticRecord:
    """Synthetic record with its ground truth.

    Attributes:
        leads_mv: float64[12, n] in mV, in the order of `LEADS`.
        vcg_mv: the heart's dipole without noise, float64[3, n] in mV.
        fs: samples per second.
        patient: the drawn patient.
        diagnoses: abbreviations of the findings.
        codes: diagnostic codes of the findings.
        beats: the true beats.
        p_onsets: onsets in s of all sinus and ectopic P-waves, conducted or not.
    """

    leads_mv: Array
    vcg_mv: Array
    fs: int
    patient: Patient
    diagnoses: tuple[str, ...]
    codes: tuple[str, ...]
    beats: Beats
    p_onsets: Array


def record(
    *diagnoses: str,
    rng: np.random.Generator,
    fs: int = 500,
    seconds: float = 10.0,
    noise: Noise | None = None,
) -> SyntheticRecord:
    """Return a record with the given findings. If no finding is a rhythm, the record has normal sinus rhythm.

    Args:
        diagnoses: abbreviations, keys of `DIAGNOSES`.
        rng: source of all randomness.
        fs: sampling rate in Hz.
        seconds: length of the record.
        noise: `Noise()` by default. `Noise().times(0)` gives a clean record.

    Raises:
        UsageError: an abbreviation is unknown, two findings exclude each other, or the record has no length.

    Example:
        >>> block = record("LBBB", "1AVB", rng=np.random.default_rng(0))
        >>> block.leads_mv.shape, block.diagnoses
        ((12, 5000), ('LBBB', '1AVB', 'NSR'))
    """
    names = findings.completed(diagnoses)
    return _recorded(names, patient.drawn(*findings.odds(names), rng), rng, fs, seconds, noise or Noise())


def drawn_record(
    shares: Mapping[str, float],
    rng: np.random.Generator,
    fs: int = 500,
    seconds: float = 10.0,
    noise: Noise | None = None,
) -> SyntheticRecord:
    """Draw a leading finding, a patient and accompanying findings, and return their record.

    Args:
        shares: weights of the possible leading findings, by abbreviation.
        rng: source of all randomness.
        fs: sampling rate in Hz.
        seconds: length of the record.
        noise: as for `record`.
    """
    leading = findings.weighted(shares, rng)
    person = patient.drawn(*findings.odds([leading]), rng)
    return _recorded(
        findings.with_companions(leading, person, rng), person, rng, fs, seconds, noise or Noise()
    )


def _recorded(
    names: tuple[str, ...], person: Patient, rng: np.random.Generator, fs: int, seconds: float, noise: Noise
) -> SyntheticRecord:
    n = round(fs * seconds)
    if n < 1:
        problem = f"a record must have at least one sample, got {seconds} s at {fs} Hz"
        raise UsageError(problem, remedy="Give a positive length and sampling rate")
    causes = [DIAGNOSES[name] for name in names]
    shape = heart.drawn_shape(causes, person, rng)
    plan = findings.rhythm_of(names).schedule(shape.pr, person, seconds, rng)
    shapes = heart.shapes_by_kind(shape, rng)
    beats = heart.timed(plan, shapes)
    vcg = _turn(rng) @ vectorcardiogram(heart.bumps(plan, beats, shapes, person), fs, n)
    leads = project(vcg) + lead_noise(noise, fs, n, person.breath_hz, rng)
    codes = [code for cause in causes for code in (str(rng.choice(cause.codes)), *cause.also)]
    return SyntheticRecord(
        leads_mv=twelve(leads),
        vcg_mv=vcg,
        fs=fs,
        patient=person,
        diagnoses=names,
        codes=tuple(dict.fromkeys(codes)),
        beats=beats.between(0, seconds),
        p_onsets=heart.p_onsets(plan, 0, seconds),
    )


def _turn(rng: np.random.Generator) -> Array:
    """Return a small random rotation of the heart, [3, 3], as the Cayley transform of a skew matrix."""
    x, y, z = rng.normal(0, _AXIS_SPREAD / 2, 3)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.linalg.solve(np.eye(3) - skew, np.eye(3) + skew))


_DECIMALS = 4


def truth(record: SyntheticRecord) -> dict[str, Any]:
    """Return the ground truth of a record, ready for JSON.

    Times are in s from the first sample, and `r_sample` is the index of a sample. A value is null if the beat
    has no such wave or interval. `intervals` are medians over the beats that have the interval. `rr` is the
    time since the previous beat.

    Args:
        record: result of `record` or `drawn_record`.
    """
    beats = record.beats
    per_beat = {
        "rr": np.diff(beats.r_peak, prepend=np.nan),
        "pr": beats.qrs_onset - beats.p_onset,
        "qrs": beats.qrs_offset - beats.qrs_onset,
        "qt": beats.t_end - beats.qrs_onset,
    }
    times = ("p_onset", "qrs_onset", "r_peak", "qrs_offset", "t_end")
    return {
        "fs": record.fs,
        "samples": record.leads_mv.shape[1],
        "age": record.patient.age,
        "sex": record.patient.sex,
        "diagnoses": list(record.diagnoses),
        "codes": list(record.codes),
        "intervals": {name: _median(values) for name, values in per_beat.items()},
        "p_onsets": _listed(record.p_onsets),
        "beats": {
            "kind": beats.kind.tolist(),
            "r_sample": r_samples(record).tolist(),
            **{name: _listed(getattr(beats, name)) for name in times},
            **{name: _listed(values) for name, values in per_beat.items()},
        },
    }


def r_samples(record: SyntheticRecord) -> NDArray[np.int64]:
    """Return the indices of the samples nearest to the R-peaks, int64[N].

    Args:
        record: result of `record` or `drawn_record`.
    """
    nearest = np.rint(record.beats.r_peak * record.fs).astype(np.int64)
    return np.asarray(np.minimum(nearest, record.leads_mv.shape[1] - 1))


def _median(values: Array) -> float | None:
    present = values[~np.isnan(values)]
    return round(float(np.median(present)), _DECIMALS) if present.size else None


def _listed(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), _DECIMALS) for value in values]
