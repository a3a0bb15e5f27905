"""Define the twelve standard leads, and recognise the spellings of their names in files.

Shapes: K leads of a file, L samples.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_base import UsageError
from ecg_records.errors import Reason, RecordError

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
"""The twelve leads, in the row order of every signal."""

_LABEL = re.compile(
    r"(?P<minus>[-−–])?\s*"
    r"(?:MDC_ECG_LEAD_|(?:ECG|EKG|LEAD|ABLEITUNG|ABL\.?|DERIVATION|DERIVACI[OÓ]N)[ _.:-]*)*"
    r"(?P<lead>[DL]?(?:III|II|I)|D[123]|AV[RLF]|V[ _]?[1-6])(?P<neg>NEG)?"
    r"(?:[ _-]*REF)?"
    r"(?:\s*\((?P<round>[^()]*)\)|\s*\[(?P<square>[^\[\]]*)\]|[ _](?P<plain>[MUNµμ\ufffd]?V))?",
    re.I,
)
"""Spellings of lead names in files: `DII`, `ECG II`, `MDC_ECG_LEAD_AVR`, `V1-Ref`, `I (uV)`, `-aVR`."""
_UNIT = re.compile(r"(?P<name>.*?)\s*[(\[](?P<unit>[^()\[\]]*)[)\]]")
"""Any name with a unit, such as `MLII (uV)`."""
_PLAIN = {lead.lower(): lead for lead in LEADS}
_CANONICAL = {
    **{lead.upper(): lead for lead in LEADS},
    **{f"{letter}{lead}": lead for letter in "DL" for lead in LEADS[:3]},
    **{f"D{number}": lead for number, lead in enumerate(LEADS[:3], 1)},
}


_GIVEN: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("lead names", default=())
"""Pairs of a signal name in lower case and the lead as which `signals_as` reads the signal."""


@contextmanager
def signals_as(leads: Mapping[str, str] | Sequence[tuple[str, str]]) -> Iterator[None]:
    """Read signals with other names as standard leads.

    The names are valid for all records that are found or read inside the `with` block.

    Raises:
        UsageError: a name isn't one of the twelve leads, or two signals have the same lead.

    Example:
        >>> with signals_as({"MLII": "II"}):
        ...     lead_name("MLII")
        'II'
    """
    lead_of_signal = dict(leads)
    indices = lead_places(list(lead_of_signal.values())) if lead_of_signal else []
    pairs = zip(lead_of_signal, indices, strict=True)
    token = _GIVEN.set(tuple((name.strip().lower(), LEADS[index]) for name, index in pairs))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def given_leads() -> tuple[tuple[str, str], ...]:
    """Return the signal names and their leads, as defined by the enclosing `with signals_as(…)` block."""
    return _GIVEN.get()


def parse_leads(text: str) -> dict[str, str]:
    """Parse the user's text that names signals and their leads, such as `MLII=II,V5=V5`.

    Raises `UsageError` if the text has another form.
    """
    pairs = [pair.rpartition("=") for pair in text.split(",")] if text else []
    if not all(name.strip() and lead.strip() for name, _, lead in pairs):
        raise UsageError(f"named leads must look like MLII=II,V5=V5, got {text!r}")
    leads = {name.strip(): lead.strip() for name, _, lead in pairs}
    if len({name.lower() for name in leads}) != len(pairs):
        raise UsageError(f"named leads must name each signal once, got {text!r}")
    return leads


class Label(NamedTuple):
    """Parts of a signal's name: the lead, whether it is inverted (−aVR), and the unit or None."""

    lead: str
    negative: bool = False
    unit: str | None = None


def read_label(text: str) -> Label | None:
    """Parse a signal's name. Return None if it isn't the name of a standard lead.

    Names from the enclosing `signals_as` have priority. They match with or without a unit in brackets.

    Example:
        >>> read_label("DII"), read_label("I (uV)"), read_label("-aVR"), read_label("RESP")
        (Label(lead='II', negative=False, unit=None), Label(lead='I', negative=False, unit='uV'),
         Label(lead='aVR', negative=True, unit=None), None)
    """
    name = _bare(text)
    if leads_by_name := dict(_GIVEN.get()):
        match = _UNIT.fullmatch(name)
        without_unit, unit = (match["name"], match["unit"].strip()) if match else (name, None)
        if lead := leads_by_name.get(name.lower()) or leads_by_name.get(without_unit.lower()):
            return Label(lead, unit=unit)
    return _label(name)


def _bare(text: str) -> str:
    return text.strip().strip('"').strip()


@lru_cache(maxsize=1024)
def _label(name: str) -> Label | None:
    match = _LABEL.fullmatch(name)
    if match is None:
        return None
    lead = _CANONICAL[re.sub(r"[ _]", "", match["lead"]).upper()]
    about = match["round"] or match["square"] or match["plain"]
    return Label(lead, bool(match["minus"]) != bool(match["neg"]), about.strip() if about else None)


def lead_name(text: str) -> str:
    """Return the standard name of a lead, with a minus if it is inverted. Other text is only stripped.

    Example:
        >>> [lead_name(text) for text in ("MDC_ECG_LEAD_AVR", "ECG II", "Lead I (Einthoven)", "EEG Fp1")]
        ['aVR', 'II', 'I', 'EEG Fp1']
    """
    label = read_label(text)
    if label is None:
        return text.strip()
    return f"-{label.lead}" if label.negative else label.lead


def is_lead(text: str) -> bool:
    """Return whether a text is the name of a standard lead, possibly inverted."""
    return read_label(text) is not None


class Found(NamedTuple):
    """Standard leads among named signals, in the order of `LEADS`.

    Attributes:
        leads: names of the leads.
        rows: index of each lead among the signals.
        turned: leads that the file stores inverted, so their sign must be changed.
        unused: names of all other signals.
        renamed: pairs of a signal's name and the standard lead as which `signals_as` reads the signal.
    """

    leads: tuple[str, ...]
    rows: tuple[int, ...]
    turned: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def upright(self, x_KL: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the signals of `leads` with the sign of the leads in `turned` changed."""
        if not self.turned:
            return x_KL
        signs_K = np.array([-1 if lead in self.turned else 1 for lead in self.leads], x_KL.dtype)
        return x_KL * signs_K[:, None]


def find_leads(names: tuple[str, ...]) -> Found:
    """Find the standard leads among the names of a file's signals.

    An inverted signal is ignored if the file also has the same lead upright.

    Raises:
        RecordError: `missing-lead` if there is no standard lead, `duplicated-lead` if a lead occurs twice.
    """
    labels = list(map(read_label, names))
    upright = {label.lead for label in labels if label and not label.negative}
    used = [label if label and not (label.negative and label.lead in upright) else None for label in labels]
    places: dict[str, list[int]] = {}
    for row, label in enumerate(used):
        if label:
            places.setdefault(label.lead, []).append(row)
    if not places:
        raise RecordError(Reason.missing_lead, "has none of the twelve leads")
    twice = [lead for lead in LEADS if len(places.get(lead, ())) > 1]
    if twice:
        raise RecordError(Reason.duplicated_lead, f"has more than one lead named {', '.join(twice)}")
    leads = tuple(lead for lead in LEADS if lead in places)
    return Found(
        leads,
        tuple(places[lead][0] for lead in leads),
        tuple(lead for lead in leads if (label := used[places[lead][0]]) and label.negative),
        tuple(name for name, label in zip(names, used, strict=True) if label is None),
        tuple(
            (names[places[lead][0]], lead)
            for lead in leads
            if (own := _label(_bare(names[places[lead][0]]))) is None or own.lead != lead
        ),
    )


def lead_places(names: Sequence[str]) -> list[int]:
    """Return the index in `LEADS` of each named lead.

    Raises:
        UsageError: a name is unknown or occurs twice, or there are no names.
    """
    names = names.tolist() if isinstance(names, np.ndarray) else names
    if (
        isinstance(names, str)
        or not isinstance(names, Sequence)
        or not all(isinstance(name, str) for name in names)
    ):
        problem = f"leads must be a sequence of names, got {names!r}"
        raise UsageError(problem, remedy=f"Choose from {', '.join(LEADS)}")
    leads = [_upright(name) for name in names]
    unknown = [name for name, lead in zip(names, leads, strict=True) if lead is None]
    if unknown or not leads or len(set(leads)) != len(leads):
        rule = f"have different names, got {list(names)}" if leads else "not be empty"
        problem = f"unknown leads {unknown}" if unknown else f"leads must {rule}"
        raise UsageError(problem, remedy=f"Choose from {', '.join(LEADS)}")
    return [LEADS.index(lead) for lead in leads if lead]


def lead_rows(names: Sequence[str], leads: Sequence[str] = LEADS) -> list[int]:
    """Return the index in `names` of each lead in `leads`. `names` may also contain other names.

    Raises:
        RecordError: `missing-lead` or `duplicated-lead`.
    """
    present = [_upright(name) for name in names]
    twice = [lead for lead in leads if present.count(lead) > 1]
    if twice:
        raise RecordError(Reason.duplicated_lead, f"has more than one lead named {', '.join(twice)}")
    missing = [lead for lead in leads if lead not in present]
    if missing:
        raise RecordError(Reason.missing_lead, f"lacks the leads {', '.join(missing)}")
    return [present.index(lead) for lead in leads]


def _upright(name: str) -> str | None:
    plain = _PLAIN.get(name.strip().lower())
    if plain:  # torch can't trace the regular expressions below
        return plain
    label = read_label(name)
    return None if label is None or label.negative else label.lead
