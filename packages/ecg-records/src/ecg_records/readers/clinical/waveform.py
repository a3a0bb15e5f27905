"""Waveforms of clinical formats as a `Record`: leads by name, mV, a pseudonym.

Shapes: K leads as found, L samples.
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
from ecg_records.notes import Note, NoteKind, turned, unused
from ecg_records.record import Candidate, Record, is_regular
from ecg_records.signal.leads import LEADS, find_leads, lead_name
from ecg_records.signal.samples import FASTEST, SLOWEST, unit_in_volts
from ecg_records.stretch import WHOLE, Stretch

BY_NUMBER = {
    **{1: "I", 2: "II", 61: "III", 62: "aVR", 63: "aVL", 64: "aVF"},
    **{number + 2: f"V{number}" for number in range(1, 7)},
    65: "-aVR",
}
"""The leads' numbers, the same in SCP-ECG (5.6.3-9-1) and in ISO/IEEE 11073-10101 (2:1)."""
YEAR = 365.25
"""Days."""
INFANT, OLDEST = 2, 120
"""Years: below the first, an age is a fraction."""
HALF_A_DAY = 0.5 / YEAR
"""The age in years on the day of birth."""
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ]?(\d\d):?(\d\d):?(\d\d)?)?")


class Waveform(NamedTuple):
    """Recording in a clinical file; `x_KL` is in mV, with `names` of all its leads.

    `x_KL` is the stretch that was asked for where `length`, the file's samples per lead, says so, else all.
    `patient` is the number by which the file knows the patient, still as it is; `born` and `acquired` are ISO
    8601 in local time; `age` is in years, if the file says it itself; `unused` are names of signals that are
    no leads. The others are as in a `Record`.
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
    """Reader of one file format.

    `waveform` reads a file, or a stretch of it, and may raise whatever its library raises. `magic` is an
    offset and the bytes that files of the format have there, or None if the names are enough.
    """

    source: str
    marks: tuple[str, ...]
    waveform: Callable[[Path, Stretch], Waveform]
    magic: tuple[int, bytes] | None = None

    def knows(self, file: Path) -> bool:
        """Whether a file has the format: by its ending, or if it has none, by its first bytes."""
        ending = file.suffix.lower()
        if f"*{ending}" in self.marks:
            return True
        unnamed = not ending or ending[1:].isdigit()  # as DICOM's files are, or called by their numbers
        return self.magic is not None and unnamed and is_regular(file) and self.begins(file)

    def begins(self, file: Path) -> bool:
        """Whether a file begins with the format's signature."""
        place, magic = self.magic or (0, b"")
        with suppress(OSError), file.open("rb") as content:
            return content.read(place + len(magic))[place:] == magic
        return False

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read one record, or a stretch. Raises `RecordError` if it can't be used."""
        if not is_regular(candidate.file):
            raise RecordError(Reason.unreadable, "isn't a regular file")
        if not self.begins(candidate.file):
            problem = f"isn't a file of the format {self.source}, whatever its name says"
            raise RecordError(Reason.signal_format, problem)
        try:
            with _quiet():
                waveform = self.waveform(candidate.file, stretch)
            return _record(candidate, waveform, stretch)
        except RecordError:
            raise
        except Exception as error:  # what a library says of a damaged file may quote the patient's name
            problem = f"can't be read as {self.source} ({type(error).__name__})"
            raise RecordError(Reason.unreadable, problem) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep libraries from saying what stands in a file: it may be a name."""
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
        raise RecordError(Reason.sampling_rate, f"{waveform.fs:g} Hz isn't a sampling rate of an ECG")
    length = waveform.x_KL.shape[1] if waveform.length is None else waveform.length
    if not length:
        raise RecordError(Reason.truncated, "has no samples")
    found = find_leads(tuple(waveform.names))
    cut = stretch.samples(waveform.fs, length) if waveform.length is None else slice(None)
    x_KL = np.asarray(found.upright(waveform.x_KL[list(found.rows), cut]), np.float64)
    leads, x_KL, notes = _with_derived(found.leads, x_KL)
    notes = (*notes, *turned(found))
    with np.errstate(over="ignore", invalid="ignore"):  # what isn't a number is found by the quality rules
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
    """The limb leads that follow from I and II (Einthoven, Goldberger), where they are not there."""
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
    """Return the number of a unit in a millivolt. Raises `RecordError`."""
    number_of = unit_in_volts(unit)
    if number_of is None:
        raise RecordError(Reason.units, f"is in {(unit or 'no unit')[:20]!r}, not in volts")
    return number_of


def finite_gain(value: object) -> float:
    """Return the value of one converter step. Raises `RecordError` if it is zero or missing."""
    gain = number(value)
    if not 0 < abs(gain) < np.inf:
        raise RecordError(Reason.gain, "does not say what one step of its samples is worth")
    return gain


def filtered(low: object = None, high: object = None, notch: object = None) -> tuple[Note, ...]:
    """Return a note on the filters in Hz that a file states, if any.

    Example:
        >>> filtered("0.050", 150, "0"), filtered(None, None), filtered(high=40, notch=50)
        (('filtered from 0.05 to 150 Hz',), (), ('filtered to 40 Hz, notch at 50 Hz',))
    """
    words = (("from", _hertz(low)), ("to", _hertz(high)), ("notch at", _hertz(notch)))
    from_, to, at = (f"{word} {hertz:g}" if hertz else "" for word, hertz in words)
    band = " ".join(filter(None, (from_, to)))
    text = ", ".join(f"{limit} Hz" for limit in (band, at) if limit)
    notes = (f"filtered {text}",) if band else (f"filtered with a {text}",) if at else ()
    return tuple(Note(note, NoteKind.filters) for note in notes)


def flagged(statuses: Mapping[str, str]) -> tuple[Note, ...]:
    """Return notes on leads that the device flagged, each with a word.

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
    """Return signals without numbers in the leads that are off."""
    off_K = np.array([name in off for name in names], bool)
    return np.where(off_K[:, None], np.nan, x_KL)


def _hertz(value: object) -> float | None:
    """A frequency; 0 stands for none."""
    hertz = number(value)
    return hertz if 0 < hertz < 1e6 else None


def stacked(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Stack leads of equal length to [K, L]. Raises `RecordError`."""
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise RecordError(Reason.shape, f"has leads of {lengths[0]} and of {lengths[-1]} samples")
    if not rows:
        raise RecordError(Reason.missing_lead, "has none of the twelve leads")
    return np.stack(rows)


def pseudonym(number: str | None) -> str | None:
    """Hash a patient number into a stable name; a list of the numbers reverses it."""
    text = (number or "").strip()
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16] if text else None


def moment(text: str | None) -> str | None:
    """Return a date, or date and time, as ISO 8601; None for other texts.

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
    """Return an age in years, as a fraction for infants; None if it can't be one.

    Args:
        value: Number of units.
        unit: Word or letter, such as `YEARS` or `M`.

    Example:
        >>> years("006", "M"), years(21, "MONTHS"), years("42", "Y"), years("", "Y")
        (0.5, 1.75, 42.0, None)
    """
    days = {"Y": 365.25, "M": 365.25 / 12, "W": 7, "D": 1, "H": 1 / 24}.get(unit.strip().upper()[:1])
    if days is None or not number(value) >= 0:
        return None
    age = number(value) * days / YEAR
    if days < 1 or (days == 1 and not age):
        age = max(age, HALF_A_DAY)  # an age of 0 years may be any month of the first
    return age if age <= OLDEST else None


def _age(waveform: Waveform) -> float | None:
    """The age that the file states; by the date of birth if there is none, or of an infant whole years."""
    stated, by_dates = waveform.age, _years_between(waveform.born, waveform.acquired)
    if stated is None or (by_dates is not None and stated in (0, 1) and by_dates < INFANT):
        return by_dates if by_dates is not None else stated
    return stated


def _years_between(born: str | None, acquired: str | None) -> float | None:
    """Completed years between two dates; under two years a fraction."""
    if born is None or acquired is None:
        return None
    first, last = (datetime.date.fromisoformat(day[:10]) for day in (born, acquired))
    completed = last.year - first.year - ((last.month, last.day) < (first.month, first.day))
    if completed < 0 or completed > OLDEST:
        return None
    return max((last - first).days / YEAR, HALF_A_DAY) if completed < INFANT else float(completed)
