"""Define notes on a record: texts about everything that was repaired, ignored or missing while reading."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ecg_records.signal.leads import Found


class NoteKind(StrEnum):
    """Subject of a note."""

    # Leads that were repaired (`quality.mended`).
    bridged = "bridged"
    derived = "derived"
    hidden = "hidden"
    # Contents of the file, or missing contents.
    unused = "unused"  # signals or recordings that were not read
    computed = "computed"  # limb leads computed from other leads, or inverted
    timing = "timing"  # recordings or samples that were joined, shifted or sorted, or are missing
    off = "off"  # leads that the device flagged
    checksum = "checksum"
    contradict = "contradict"  # limb leads that contradict one another
    # Facts that don't put the signal in doubt.
    filters = "filters"
    codes = "codes"
    other = "other"


MENDED = (NoteKind.bridged, NoteKind.derived, NoteKind.hidden)
"""Kinds of repairs of damaged leads."""
DOUBTS = frozenset({NoteKind.off, NoteKind.checksum, NoteKind.contradict})
"""Kinds of notes that put leads in doubt."""
FACTS = frozenset({NoteKind.filters, NoteKind.codes})
"""Kinds of notes that don't put the signal in doubt."""
_SAVED = (
    (re.compile(r".*\bbridged"), NoteKind.bridged),
    (re.compile(r".*: derived"), NoteKind.derived),
    (re.compile(r".*: hidden"), NoteKind.hidden),
    (re.compile(r"not used: .*|several recordings in one file.*"), NoteKind.unused),
    (re.compile(r".* computed from .*|.* inverted: .*|.* turned round.*"), NoteKind.computed),
    (re.compile(r".*\b(joined|shifted|sorted|missing in)\b.*"), NoteKind.timing),
    (re.compile(r".*: flagged .*"), NoteKind.off),
    (re.compile(r"checksum differs in .*"), NoteKind.checksum),
    (re.compile(r"limb leads contradict .*"), NoteKind.contradict),
    (re.compile(r"filtered .*"), NoteKind.filters),
    (
        re.compile(
            r"no diagnosis|an empty code|malformed code .*|code .* given twice|label .* read as .*"
            r"|reason for admission .*|exam .* is not in .*"
        ),
        NoteKind.codes,
    ),
)
"""Patterns that find the kind of a note from its text, because a corpus saves only the texts. The first match
counts."""


class Note(str):
    """Text of a note, with its kind and the leads it concerns.

    A note is a string, so tables and JSON files hold its text.
    """

    kind: NoteKind
    leads: tuple[str, ...]

    def __new__(cls, text: str, kind: NoteKind | None = None, leads: Iterable[str] = ()) -> "Note":
        """Make a note. If `kind` is None, it is derived from the text, because a corpus saves only texts."""
        note = super().__new__(cls, text)
        note.kind = _kind_of(text) if kind is None else kind
        note.leads = tuple(leads)
        return note


def reported(notes: Iterable[str]) -> tuple[Note, ...]:
    """Return the notes that a user should see: all notes except plain facts, such as filter settings.

    Example:
        >>> reported(["filtered to 40 Hz", "checksum differs in V6", "no diagnosis"])
        ('checksum differs in V6',)
    """
    known = (note if isinstance(note, Note) else Note(note) for note in notes)
    return tuple(note for note in known if note.kind not in FACTS)


def unused(names: Iterable[str]) -> tuple[Note, ...]:
    """Return a note on signals that were not read, or () if `names` is empty.

    Example:
        >>> unused(["RESP", "PLETH"]), unused([])
        (('not used: RESP, PLETH',), ())
    """
    listed = ", ".join(name.strip()[:40] or "a signal without a name" for name in names)
    return (Note(f"not used: {listed}", NoteKind.unused),) if listed else ()


def changed(found: "Found") -> tuple[Note, ...]:
    """Return notes on leads that the file stores inverted (−aVR), and on signals read under another name."""
    notes = []
    if found.turned:
        text = f"{', '.join(found.turned)} inverted: stored with the opposite sign"
        notes.append(Note(text, NoteKind.computed, found.turned))
    if found.renamed:
        listed = ", ".join(f"{name} as {lead}" for name, lead in found.renamed)
        notes.append(Note(f"read as named: {listed}", NoteKind.other))
    return tuple(notes)


def _kind_of(text: str) -> NoteKind:
    return next((kind for pattern, kind in _SAVED if pattern.fullmatch(text)), NoteKind.other)
