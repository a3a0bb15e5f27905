"""Convert waveforms of clinical formats to a `Record` with standard leads, mV and a pseudonym of the patient.

Shapes: K leads of the file, L samples.
"""

import datetime
import hashlib
import logging
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_records.dx import NO_DIAGNOSIS
from ecg_records.errors import Reason, RecordError
from ecg_records.machine import MachineReport, number
from ecg_records.notes import Note, NoteKind, changed, unused
from ecg_records.record import Candidate, Record, is_regular
from ecg_records.signal.leads import LEADS, find_leads, lead_name
from ecg_records.signal.samples import FASTEST, SLOWEST, unit_in_volts
from ecg_records.stretch import WHOLE, Stretch

BY_NUMBER = {
    **{1: "I", 2: "II", 61: "III", 62: "aVR", 63: "aVL", 64: "aVF"},
    **{number + 2: f"V{number}" for number in range(1, 7)},
    65: "-aVR",
}
"""Leads by number. The numbers are the same in SCP-ECG (5.6.3-9-1) and ISO/IEEE 11073-10101 (2:1)."""
YEAR = 365.25
"""Number of days in a year."""
INFANT, OLDEST = 2, 120
"""Age in years below which ages are fractions, and maximum age in years."""
HALF_A_DAY = 0.5 / YEAR
"""Age in years on the day of birth."""
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ]?(\d\d):?(\d\d):?(\d\d)?)?")


class Waveform(NamedTuple):
    """Recording in a clinical file. Attributes that aren't listed have the same meaning as in a `Record`.

    Attributes:
        names: Names of all leads.
        x_KL: Signals in mV. If `length` is given, only the requested stretch. Otherwise the complete
            recording.
        patient: Patient id in the file, not yet a pseudonym.
        born, acquired: Dates or times in ISO 8601, local time.
        age: Age in years, if the file states the age.
        length: Samples per lead in the file.
        unused: Names of signals that aren't leads.
    """

    names: Sequence[str]
    x_KL: NDArray[np.float64]
    fs: float
    patient: str | None = None
    born: str | None = None
    acquired: str | None = None
    age: float | None = None
    sex: str | None = None
    notes: tuple[Note, ...] = ()
    device: str | None = None
    machine: MachineReport = MachineReport()
    length: int | None = None
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """Reader of a file format.

    Attributes:
        source: Name of the format.
        marks: Patterns of file names, such as `*.dcm`.
        waveform: Function that reads a file or a stretch of it. It may raise any error of its library.
        magic: Offset and bytes that identify the format, or None if only file names identify it.
    """

    source: str
    marks: tuple[str, ...]
    waveform: Callable[[Path, Stretch], Waveform]
    magic: tuple[int, bytes] | None = None

    def knows(self, file: Path) -> bool:
        """Return whether a file has this format.

        The ending decides. If the file has no ending, or a number as its ending, `magic` decides.
        """
        ending = file.suffix.lower()
        if f"*{ending}" in self.marks:
            return True
        unnamed = not ending or ending[1:].isdigit()  # DICOM files often end in a number, or have no ending
        return self.magic is not None and unnamed and is_regular(file) and self.begins(file)

    def begins(self, file: Path) -> bool:
        """Return whether a file has the bytes of `magic`. True for any readable file if `magic` is None."""
        offset, magic = self.magic or (0, b"")
        with suppress(OSError), file.open("rb") as content:
            return content.read(offset + len(magic))[offset:] == magic
        return False

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read a record or a stretch of it. Raises `RecordError` if the record can't be used."""
        if not is_regular(candidate.file):
            raise RecordError(Reason.unreadable, "isn't a regular file")
        if not self.begins(candidate.file):
            problem = f"isn't a {self.source} file, despite its name"
            raise RecordError(Reason.signal_format, problem)
        try:
            with _quiet():
                waveform = self.waveform(candidate.file, stretch)
            return _record(candidate, waveform, stretch)
        except RecordError:
            raise
        except Exception as error:  # the message of a library may contain the patient's name
            problem = f"can't be read as {self.source} ({type(error).__name__})"
            raise RecordError(Reason.unreadable, problem) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence logs and warnings of libraries, because they may contain the patient's name."""
    log = logging.getLogger("pydicom")
    before = log.disabled
    log.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = before


def _record(candidate: Candidate, waveform: Waveform, stretch: Stretch) -> Record:
    if not SLOWEST <= waveform.fs <= FASTEST:
        problem = f"the sampling rate must be {SLOWEST} to {FASTEST} Hz, got {waveform.fs:g} Hz"
        raise RecordError(Reason.sampling_rate, problem)
    length = waveform.x_KL.shape[1] if waveform.length is None else waveform.length
    if not length:
        raise RecordError(Reason.truncated, "has no samples")
    found = find_leads(tuple(waveform.names))
    cut = stretch.samples(waveform.fs, length) if waveform.length is None else slice(None)
    x_KL = np.asarray(found.upright(waveform.x_KL[list(found.rows), cut]), np.float64)
    leads, x_KL, notes = _with_derived(found.leads, x_KL)
    notes = (*notes, *changed(found))
    with np.errstate(over="ignore", invalid="ignore"):  # the quality rules report NaN and infinity
        mv_KL = np.ascontiguousarray(x_KL, np.float32)
    return Record(
        id=candidate.file.stem,
        source=candidate.source,
        path=candidate.file,
        x_KL=mv_KL,
        fs=waveform.fs,
        length=length,
        age=_age(waveform),
        sex=waveform.sex,
        patient=pseudonym(waveform.patient),
        notes=(*notes, *waveform.notes, *unused(waveform.unused), Note(NO_DIAGNOSIS, NoteKind.codes)),
        leads=leads,
        acquired=waveform.acquired,
        device=(waveform.device or "").strip() or None,
        machine=waveform.machine,
    )


def _with_derived(
    leads: tuple[str, ...], x_KL: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64], tuple[Note, ...]]:
    """Compute missing limb leads from I and II (Einthoven, Goldberger)."""
    missing = [lead for lead in LEADS[2:6] if lead not in leads]
    if not missing or not {"I", "II"} <= set(leads):
        return leads, x_KL, ()
    rows = dict(zip(leads, x_KL, strict=True))
    i, ii = rows["I"], rows["II"]
    follow = {"III": ii - i, "aVR": -(i + ii) / 2, "aVL": i - ii / 2, "aVF": ii - i / 2}
    rows |= {lead: follow[lead] for lead in missing}
    complete = tuple(lead for lead in LEADS if lead in rows)
    note = Note(f"{', '.join(missing)} computed from I and II", NoteKind.computed, missing)
    return complete, np.stack([rows[lead] for lead in complete]), (note,)


def per_mv(unit: str | None) -> float:
    """Return the number of units in a millivolt. Raises `RecordError` if the unit isn't a voltage."""
    number_of = unit_in_volts(unit)
    if number_of is None:
        raise RecordError(
            Reason.units,
            f"signals must be in volts, got the unit {unit[:20]!r}" if unit else "signals have no unit",
        )
    return number_of


def finite_gain(value: object) -> float:
    """Return a number that scales samples, such as a gain. Raises `RecordError` if it is zero or missing."""
    gain = number(value)
    if not 0 < abs(gain) < np.inf:
        raise RecordError(Reason.gain, "doesn't state the gain of its samples")
    return gain


def filtered(low: object = None, high: object = None, notch: object = None) -> tuple[Note, ...]:
    """Return a note on the filters that a file states in Hz, or () if there are none.

    Example:
        >>> filtered("0.050", 150, "0"), filtered(None, None), filtered(high=40, notch=50)
        (('filtered from 0.05 to 150 Hz',), (), ('filtered to 40 Hz, notch at 50 Hz',))
    """
    words = (("from", _hertz(low)), ("to", _hertz(high)), ("notch at", _hertz(notch)))
    from_, to, notch_text = (f"{word} {hertz:g}" if hertz else "" for word, hertz in words)
    band = " ".join(filter(None, (from_, to)))
    text = ", ".join(f"{limit} Hz" for limit in (band, notch_text) if limit)
    notes = (f"filtered {text}",) if band else (f"filtered with a {text}",) if notch_text else ()
    return tuple(Note(note, NoteKind.filters) for note in notes)


def flagged(statuses: Mapping[str, str]) -> tuple[Note, ...]:
    """Return notes on leads that the device flagged. `statuses` maps each lead to its status.

    Example:
        >>> flagged({"V3": "DISCONNECTED", "V4": "DISCONNECTED"})
        ('V3, V4: flagged as disconnected',)
    """
    leads_of: dict[str, list[str]] = {}
    for lead, status in statuses.items():
        leads_of.setdefault(status.lower()[:40], []).append(lead_name(lead))
    return tuple(
        Note(f"{', '.join(leads)}: flagged as {status}", NoteKind.off, leads)
        for status, leads in leads_of.items()
    )


def silenced(names: Sequence[str], x_KL: NDArray[np.float64], off: Collection[str]) -> NDArray[np.float64]:
    """Replace the signals of the leads in `off`, which the device flagged, by NaN."""
    off_K = np.array([name in off for name in names], bool)
    return np.where(off_K[:, None], np.nan, x_KL)


def _hertz(value: object) -> float | None:
    """Return a frequency as a number, or None for 0 and values that aren't numbers."""
    hertz = number(value)
    return hertz if 0 < hertz < 1e6 else None


def stacked(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Stack leads to [K, L]. Raises `RecordError` if their lengths differ or there are no leads."""
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise RecordError(
            Reason.shape, f"leads must have the same length, got {lengths[0]} and {lengths[-1]} samples"
        )
    if not rows:
        raise RecordError(Reason.missing_lead, "has none of the twelve leads")
    return np.stack(rows)


def pseudonym(number: str | None) -> str | None:
    """Hash a patient id to a stable pseudonym. Anyone with a list of all patient ids can reverse the hash."""
    text = (number or "").strip()
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16] if text else None


def moment(text: str | None) -> str | None:
    """Return a date, or a date with time, in ISO 8601, or None if the text isn't a date.

    Example:
        >>> moment("20130125105919.000"), moment("19710123"), moment("00000000")
        ('2013-01-25T10:59:19', '1971-01-23', None)
    """
    match = _MOMENT.match((text or "").strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        when = datetime.datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    return when.date().isoformat() if match[4] is None else when.isoformat()


def years(value: object, unit: str) -> float | None:
    """Convert an age to years. Returns None for an impossible age.

    Args:
        value: Age in the unit.
        unit: Unit as a word or letter, such as `YEARS` or `M`.

    Example:
        >>> years("006", "M"), years(21, "MONTHS"), years("42", "Y"), years("", "Y")
        (0.5, 1.75, 42.0, None)
    """
    days = {"Y": 365.25, "M": 365.25 / 12, "W": 7, "D": 1, "H": 1 / 24}.get(unit.strip().upper()[:1])
    if days is None or not number(value) >= 0:
        return None
    age = number(value) * days / YEAR
    if days < 1 or (days == 1 and not age):
        age = max(age, HALF_A_DAY)  # an age of 0 years may be any month of the first year
    return age if age <= OLDEST else None


def _age(waveform: Waveform) -> float | None:
    """Return the stated age, or the age computed from dates.

    Dates are used if no age is stated, or if the stated age is too coarse for an infant.
    """
    stated, by_dates = waveform.age, _years_between(waveform.born, waveform.acquired)
    if stated is None or (by_dates is not None and stated in (0, 1) and by_dates < INFANT):
        return by_dates if by_dates is not None else stated
    return stated


def _years_between(born: str | None, acquired: str | None) -> float | None:
    """Return the completed years between two dates, or a fraction for less than two years."""
    if born is None or acquired is None:
        return None
    first, last = (datetime.date.fromisoformat(day[:10]) for day in (born, acquired))
    completed = last.year - first.year - ((last.month, last.day) < (first.month, first.day))
    if completed < 0 or completed > OLDEST:
        return None
    return max((last - first).days / YEAR, HALF_A_DAY) if completed < INFANT else float(completed)
