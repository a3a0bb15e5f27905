"""Find damaged leads of a recording by a few rules, and mend or hide them.

The MAR-ECG paper (§Signal preprocessing) excludes recordings with extreme amplitudes, clipping saturation or
excessive zero-fraction on any of the 12 leads. `QualityLimits` holds the thresholds and the number of leads
that may be hidden.

Shapes: C leads (the twelve by default), L samples.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from ecg_records.errors import Reason, RecordError
from ecg_records.notes import Note, NoteKind
from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import median

Signal = NDArray[np.float32]
CONTRADICT = Note("limb leads contradict one another: a wrong name, sign or gain?", NoteKind.contradict)
LIMB = {"I": (1, 0), "II": (0, 1), "III": (-1, 1), "aVR": (-0.5, -0.5), "aVL": (1, -0.5), "aVF": (-0.5, 1)}
"""The limb leads in terms of I and II (Einthoven, Goldberger).

Any two limb leads determine the other four.
"""


class QualityLimits(BaseModel):
    """Limits at which a lead counts as damaged, and limits on the number of damaged leads."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    amplitude_limit: float = Field(
        default=10.0,
        gt=0,
        description="mV from the median; above every QRS, below artefacts of real files (12)",
    )
    bridge_limit: float = Field(
        default=0.1, ge=0, lt=1, description="largest share of a lead that is bridged; 0 disables bridging"
    )
    bridge_margin: float = Field(default=0.1, ge=0, description="seconds added before and after an artefact")
    hidden_limit: int = Field(
        default=3, ge=0, le=6, description="largest number of hidden chest leads; 0 hides none"
    )
    clip_level: float = Field(
        default=0.2, ge=0, description="mV from the median below which a constant lead isn't clipped"
    )
    clip_limit: float = Field(
        default=0.02, gt=0, description="share of a lead; unclipped records stay below 0.01"
    )
    zero_limit: float = Field(
        default=0.25, gt=0, description="share of a lead; below 0.13 in good leads, above 0.7 if unplugged"
    )
    flat_range: float = Field(
        default=0.01, gt=0, description="mV peak to peak; two steps of a coarse converter"
    )
    montage_limit: float = Field(
        default=0.3, gt=0, description="contradiction between limb leads; below 0.03 in good records"
    )


@dataclass(frozen=True)
class Measures:
    """Measures of a recording, which the rules compare with limits. Arrays [C] have a value per lead.

    Attributes:
        seconds: length of the measured signal.
        amplitude_C: largest |x − median| in mV. Subtracting the median removes the offset of the amplifier.
        range_C: largest minus smallest value in mV.
        zero_C: share of samples that are exactly zero.
        clipped_C: share of samples equal to the lead's largest or smallest value. A value within
            `clip_level` of the median doesn't count.
        nan_C: share of samples that are NaN or infinite.
        montage: deviation of the limb leads from Einthoven's and Goldberger's laws, relative to their size.
            It is 0 unless there are twelve leads.
    """

    seconds: float
    amplitude_C: NDArray[np.float64]
    range_C: NDArray[np.float64]
    zero_C: NDArray[np.float64]
    clipped_C: NDArray[np.float64]
    nan_C: NDArray[np.float64]
    montage: float

    def worst(self, among_C: NDArray[np.bool_]) -> dict[str, float]:
        """Return the worst values among the chosen leads, and `montage`.

        The keys are `amplitude_mv`, `zero_fraction`, `clipped_fraction`, `range_mv` (the smallest range) and
        `montage`.
        """
        return {
            "amplitude_mv": float(self.amplitude_C[among_C].max()),
            "zero_fraction": float(self.zero_C[among_C].max()),
            "clipped_fraction": float(self.clipped_C[among_C].max()),
            "range_mv": float(self.range_C[among_C].min()),
            "montage": self.montage,
        }


@np.errstate(over="ignore", invalid="ignore")  # the rule extreme-amplitude reports samples like 1e30
def measure(x_CL: Signal, fs: float, limits: QualityLimits) -> Measures:
    """Measure a recording in mV. Don't resample it before, because this blurs clipping and zeros."""
    length = x_CL.shape[1]
    bottom_C, top_C = x_CL.min(axis=1), x_CL.max(axis=1)
    absent_C = np.zeros(len(x_CL), np.intp)
    if not np.isfinite(top_C - bottom_C).all():
        finite_CL = np.isfinite(x_CL)
        absent_C = length - _count(finite_CL)
        x_CL = np.where(finite_CL, x_CL, 0)
        bottom_C, top_C = x_CL.min(axis=1), x_CL.max(axis=1)
    middle_C = median(x_CL)
    clipped_C = sum(
        np.where(np.abs(rail_C - middle_C) > limits.clip_level, _count(x_CL == rail_C[:, None]), 0)
        for rail_C in (top_C, bottom_C)
    )
    return Measures(
        seconds=length / fs,
        amplitude_C=np.maximum(top_C - middle_C, middle_C - bottom_C).astype(np.float64),
        range_C=(top_C - bottom_C).astype(np.float64),
        zero_C=(_count(x_CL == 0) - absent_C) / length,
        clipped_C=clipped_C / length,
        nan_C=absent_C / length,
        montage=_montage(x_CL) if len(x_CL) == len(LEADS) else 0.0,
    )


def verdict(
    measures: Measures, limits: QualityLimits, leads: Sequence[str] = LEADS
) -> list[tuple[Reason, str]]:
    """Return the rules that a recording breaks, each with a message, the most important rule first."""
    broken: list[tuple[Reason, str]] = []
    for reason, bad_C, problem in _lead_rules(measures, limits):
        if bad_C.any():
            names = ", ".join(lead for lead, bad in zip(leads, bad_C, strict=True) if bad)
            broken.append((reason, f"{'all leads' if bad_C.all() else names}: {problem}"))
    return broken


def _lead_rules(measures: Measures, limits: QualityLimits) -> list[tuple[Reason, NDArray[np.bool_], str]]:
    """Return the reason, the leads that break the rule, and a message for every rule.

    The most important rule comes first. A rule that no lead breaks is also listed.
    """
    zero, clip, high = (
        f"zero for over {limits.zero_limit:.0%} of the time",
        f"clipped for over {limits.clip_limit:.0%} of the time",
        f"beyond {limits.amplitude_limit:g} mV around its median",
    )
    return [
        (Reason.nan, measures.nan_C > 0, "more missing samples than can be bridged"),
        (Reason.flat_lead, measures.range_C < limits.flat_range, f"flat within {limits.flat_range:g} mV"),
        (Reason.zero_fraction, measures.zero_C > limits.zero_limit, zero),
        (Reason.clipping, measures.clipped_C > limits.clip_limit, clip),
        (Reason.extreme_amplitude, measures.amplitude_C > limits.amplitude_limit, high),
    ]


class Mended(NamedTuple):
    """Signal after damaged leads were mended or hidden.

    Attributes:
        x_CL: the signal, with zeros in hidden leads.
        hidden_C: True for hidden leads.
        measures: the measures before leads were hidden.
        notes: notes on what was mended or hidden.
    """

    x_CL: Signal
    hidden_C: NDArray[np.bool_]
    measures: Measures
    notes: tuple[Note, ...] = ()


def mended(
    x_CL: Signal, fs: float, limits: QualityLimits, leads: Sequence[str] = LEADS, judged: int | None = None
) -> Mended:
    """Bridge short artefacts, compute damaged limb leads from good limb leads, and hide other damaged leads.

    A hidden lead is set to zero. A computed limb lead is hidden if it is still damaged. For example, it is
    flat if an arm electrode was off and no lead recorded its voltage.

    Args:
        x_CL: signals in mV.
        fs: sampling rate in Hz.
        limits: limits of the rules.
        leads: names of the leads.
        judged: number of samples to which the rules apply, from the start. All by default.
    """
    measures = measure(x_CL[:, :judged], fs, limits)
    notes: tuple[Note, ...] = ()
    if (measures.amplitude_C > limits.amplitude_limit).any() or measures.nan_C.any():
        first_CL, notes = bridged(x_CL[:, :judged], fs, limits, leads)
        x_CL = np.concatenate([first_CL, x_CL[:, first_CL.shape[1] :]], axis=1)
        measures = measure(first_CL, fs, limits)
    faults = _faults(measures, limits)
    if not faults:
        return Mended(x_CL, np.zeros(len(x_CL), bool), measures, notes)
    x_CL = _from_limb_leads(x_CL, faults, leads, limits, judged)
    measures = measure(x_CL[:, :judged], fs, limits)
    hidden_C = np.isin(np.arange(len(x_CL)), [*_faults(measures, limits)])
    alike: dict[tuple[str, NoteKind], list[str]] = {}
    for row, problem in faults.items():
        note_kind = NoteKind.hidden if hidden_C[row] else NoteKind.derived
        alike.setdefault((problem, note_kind), []).append(leads[row])
    notes += tuple(
        Note(f"{', '.join(names)}: {problem}: {note_kind}", note_kind, names)
        for (problem, note_kind), names in alike.items()
    )
    return Mended(np.where(hidden_C[:, None], np.float32(0), x_CL), hidden_C, measures, notes)


def unmended(x_CL: Signal, fs: float, limits: QualityLimits, judged: int | None = None) -> Mended:
    """Reject a recording with a damaged lead, as the MAR-ECG paper does (§Signal preprocessing).

    The rules apply to the first `judged` samples.

    Returns:
        The unchanged signal, with no hidden leads.

    Raises:
        RecordError: one of the twelve leads is damaged.
    """
    measures = measure(x_CL[:, :judged], fs, limits)
    if broken := verdict(measures, limits):
        raise RecordError(broken[0][0], "; ".join(problem for _, problem in broken))
    return Mended(x_CL, np.zeros(len(x_CL), bool), measures)


def refuse_damaged(mend: Mended, limits: QualityLimits) -> None:
    """Check that a twelve-lead recording has all limb leads and enough chest leads that aren't hidden.

    Raises:
        RecordError: a limb lead or more than `limits.hidden_limit` chest leads are hidden. `reason` is the
            first broken rule, and the message lists all broken rules.
    """
    hidden = {lead for lead, is_hidden in zip(LEADS, mend.hidden_C, strict=True) if is_hidden}
    if len(hidden) > limits.hidden_limit or hidden & {*LIMB}:
        broken = verdict(mend.measures, limits)
        raise RecordError(broken[0][0], "; ".join(problem for _, problem in broken))


def _faults(measures: Measures, limits: QualityLimits) -> dict[int, str]:
    """Return the rows of damaged leads, each with the message of the most important broken rule."""
    faults: dict[int, str] = {}
    for _, bad_C, problem in _lead_rules(measures, limits):
        for row in np.flatnonzero(bad_C).tolist():
            faults.setdefault(row, problem)
    return dict(sorted(faults.items()))


def _from_limb_leads(
    x_CL: Signal, faulty: Collection[int], leads: Sequence[str], limits: QualityLimits, judged: int | None
) -> Signal:
    """Compute faulty limb leads from good limb leads, if at least two are good and consistent."""
    limb = [row for row, lead in enumerate(leads) if lead in LIMB]
    good, bad = [row for row in limb if row not in faulty], [row for row in limb if row in faulty]
    if not bad or len(good) < 2:
        return x_CL
    parts_C2 = np.array([LIMB[leads[row]] for row in good])
    leads_i_ii_2L = np.linalg.pinv(parts_C2) @ x_CL[good]
    misfit_CL = (parts_C2 @ leads_i_ii_2L - x_CL[good])[:, :judged]
    if misfit_CL.std(axis=1).max() <= limits.montage_limit * x_CL[good, :judged].std(axis=1).max():
        x_CL = x_CL.copy()
        x_CL[bad] = np.array([LIMB[leads[row]] for row in bad]) @ leads_i_ii_2L
    return x_CL


@np.errstate(invalid="ignore")  # infinite samples count as beyond the limit, like NaN
def bridged(
    x_CL: Signal, fs: float, limits: QualityLimits, leads: Sequence[str] = LEADS
) -> tuple[Signal, tuple[Note, ...]]:
    """Replace short stretches of extreme amplitude or NaN by straight lines.

    So a short movement of an electrode doesn't spoil the rest of the recording. A lead stays unchanged if
    more than the share `limits.bridge_limit` of its samples would be replaced, margins included.

    Returns:
        The signal, and a note per bridged lead.
    """
    from scipy.ndimage import maximum_filter1d  # noqa: PLC0415 (slow to import, which settings save)

    away_CL = np.abs(x_CL - median(x_CL)[:, None])
    beyond_CL = ~(away_CL <= limits.amplitude_limit)  # true for NaN
    reach = round(limits.bridge_margin * fs)
    notes: list[Note] = []
    for lead in np.flatnonzero(beyond_CL.any(axis=1)).tolist():
        bad_L = maximum_filter1d(beyond_CL[lead], 2 * reach + 1, mode="constant")
        if np.count_nonzero(bad_L) > limits.bridge_limit * len(bad_L):
            continue
        x_CL = x_CL.copy() if not notes else x_CL
        good, bad = np.flatnonzero(~bad_L), np.flatnonzero(bad_L)
        x_CL[lead, bad] = np.interp(bad, good, x_CL[lead, good])
        content = "extreme amplitude" if np.isfinite(away_CL[lead]).all() else "missing samples"
        text = f"{leads[lead]}: {len(bad) / fs:.2f} s of {content} bridged"
        notes.append(Note(text, NoteKind.bridged, [leads[lead]]))
    return x_CL, tuple(notes)


def _count(where_CL: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Count the true samples of each lead, in a loop because numpy's `axis` argument takes twice as long."""
    return np.array([np.count_nonzero(where_L) for where_L in where_CL], np.intp)


def _montage(x_CL: Signal) -> float:
    """Return the largest misfit of III = II − I, aVR = −(I + II)/2, aVL = I − II/2 and aVF = II − I/2.

    The misfit of an equation is the rms of the difference of its sides, divided by the rms of the limb leads.
    """
    limb_CL = x_CL[:6] - x_CL[:6].mean(axis=1, keepdims=True)
    lead_i, lead_ii, lead_iii, right, left, foot = limb_CL
    misfits = np.empty((4, x_CL.shape[1]), x_CL.dtype)
    np.add(lead_iii - lead_ii, lead_i, out=misfits[0])
    np.add(right, (lead_i + lead_ii) / 2, out=misfits[1])
    np.add(left - lead_i, lead_ii / 2, out=misfits[2])
    np.add(foot - lead_ii, lead_i / 2, out=misfits[3])
    largest = np.sqrt(np.mean(np.square(misfits, out=misfits), axis=1)).max()
    return float(largest / max(np.sqrt(np.mean(np.square(limb_CL, out=limb_CL))), 1e-6))
