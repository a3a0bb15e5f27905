"""Join groups of leads to a recording, such as four groups of three leads and a rhythm strip.

Shapes: K leads of the file, L samples.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.notes import Note, NoteKind, unused
from ecg_records.signal.leads import lead_name
from ecg_records.stretch import LONGEST_READ

BEAT = 1.5
"""Maximum duration of a median beat in seconds. Median beats last 1.0 to 1.2 s, and groups of leads last
longer."""
APART = 0.1
"""Time in seconds by which a rhythm strip may extend beyond the other groups."""
_DERIVED = re.compile(r"median|average|averaged|representative|template", re.I)
SEVERAL = Note("several recordings in one file: the longest with most leads is read", NoteKind.unused)


@dataclass(frozen=True)
class Group:
    """Leads that were recorded together.

    Attributes:
        names: Names of the leads.
        samples: Samples per lead.
        fs: Sampling rate in Hz.
        read: Function that returns the signals in mV, [K, L].
        start: Start of the group in seconds, relative to any time that is the same for all groups of a file.
            None if unknown.
        label: Name of the group in the file.
    """

    names: Sequence[str]
    samples: int
    fs: float
    read: Callable[[], NDArray[np.float64]]
    start: float | None = None
    label: str = ""

    @property
    def leads(self) -> list[str]:
        """Standard names of the leads."""
        return list(map(lead_name, self.names))

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.samples / self.fs


def is_derived(label: str) -> bool:
    """Return whether a label names a computed beat, such as a median beat."""
    return bool(_DERIVED.search(label))


def joined(groups: Sequence[Group]) -> tuple[list[str], NDArray[np.float64], float, tuple[Note, ...]]:
    """Join groups of leads to a recording.

    The main group is the longest of the groups with most leads. Groups with further leads and rhythm strips
    are joined to the main group by their time offsets. Samples that were not recorded are NaN.
    Computed beats are ignored.

    Returns:
        Lead names, signals in mV [K, L], sampling rate, and notes.

    Raises:
        RecordError: If there is no recording, or groups with further leads can't be joined.
    """
    recorded = [group for group in groups if group.names and not is_derived(group.label)]
    if not recorded:
        if any(group.names for group in groups):
            raise RecordError(Reason.signal_format, "has derived waveforms only, such as a median beat")
        raise RecordError(Reason.missing_lead, "has none of the twelve leads")
    main = max(recorded, key=lambda group: (group.seconds > BEAT, len(set(group.leads)), group.samples))
    for group in recorded:
        if twice := [lead for lead in group.leads if group.leads.count(lead) > 1]:
            raise RecordError(Reason.duplicated_lead, f"has more than one lead named {twice[0]}")
    taken, further = _partners(main, [group for group in recorded if group is not main])
    derived = unused(dict.fromkeys(group.label for group in groups if is_derived(group.label)))
    if len(taken) == 1:
        notes = (SEVERAL, *derived) if further else derived
        return list(main.names), main.read(), main.fs, notes
    begins = _starts(taken, main.fs)
    length = max(begin + group.samples for begin, group in zip(begins, taken, strict=True))
    recorded_of = {lead: group.samples for group in taken for lead in group.leads}
    origin, reach = _origin(taken), round(APART * main.fs)
    for strip in list(further):
        begin = round(((strip.start or 0) - origin) * main.fs)
        within = -reach <= begin and begin + strip.samples <= length + reach
        longer = any(strip.samples > recorded_of[lead] for lead in strip.leads)
        if strip.fs == main.fs and within and longer:
            further.remove(strip)
            taken, begins = [*taken, strip], [*begins, begin]
    earliest = min(begins)
    length = max(begin - earliest + group.samples for begin, group in zip(begins, taken, strict=True))
    if length > min(LONGEST_READ, 2 * sum(group.samples for group in taken)):
        raise RecordError(
            Reason.shape, "has groups of leads that are too far apart in time for one recording"
        )
    rows: dict[str, NDArray[np.float64]] = {}
    pieces = sorted(zip(begins, taken, strict=True), key=lambda piece: piece[1].samples)
    for begin, group in pieces:  # longer groups overwrite shorter groups
        for lead, x_L in zip(group.leads, group.read(), strict=True):
            row_L = rows.setdefault(lead, np.full(length, np.nan))
            row_L[begin - earliest : begin - earliest + len(x_L)] = x_L
    text = f"{len(taken)} groups of leads joined by their time offsets"
    notes = (Note(text, NoteKind.timing), *([SEVERAL] if further else []), *derived)
    return list(rows), np.stack(list(rows.values())), main.fs, notes


def _partners(main: Group, candidates: Sequence[Group]) -> tuple[list[Group], list[Group]]:
    """Split groups into two lists: `main` and the groups that add leads to it, and separate recordings."""
    taken, further, leads = [main], list[Group](), set(main.leads)
    for group in sorted(candidates, key=lambda candidate: (-len(candidate.names), -candidate.samples)):
        is_beat = group.seconds <= BEAT < main.seconds
        if is_beat or not set(group.leads) - leads:
            further.append(group)
            continue
        if group.fs != main.fs:
            rates = sorted({group.fs, main.fs})
            problem = (
                f"groups of leads must have the same sampling rate, got {rates[0]:g} and {rates[1]:g} Hz"
            )
            raise RecordError(Reason.sampling_rate, problem)
        taken.append(group)
        leads |= set(group.leads)
    return taken, further


def _starts(taken: Sequence[Group], fs: float) -> list[int]:
    """Return the sample of the joined recording at which each group starts.

    Raises `RecordError` if a start is unknown.
    """
    if all(group.start is None for group in taken) and len({group.samples for group in taken}) > 1:
        raise RecordError(
            Reason.shape, "groups of leads with different lengths must have time offsets, got none"
        )
    origin = _origin(taken)
    return [round(((group.start or 0) - origin) * fs) for group in taken]


def _origin(taken: Sequence[Group]) -> float:
    return min(group.start or 0 for group in taken)
