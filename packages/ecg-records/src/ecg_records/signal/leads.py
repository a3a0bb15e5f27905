"""Standard leads: their order, and their names as files spell them."""

from collections.abc import Sequence

from ecg_base import UsageError
from ecg_records.errors import Reason, RecordError

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
"""The twelve leads, in the order of every signal's rows."""

_BY_NAME = {lead.lower(): lead for lead in LEADS}


def lead_places(names: Sequence[str]) -> list[int]:
    """Return the places of named leads among the twelve, ignoring case.

    Raises:
        UsageError: a name is unknown or stands there twice, or there is none.
    """
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        remedy = f"Use names out of {', '.join(LEADS)}"
        raise UsageError(f"leads {names!r} aren't a sequence of names", remedy=remedy)
    leads = [_BY_NAME.get(name.strip().lower()) for name in names]
    unknown = [name for name, lead in zip(names, leads, strict=True) if lead is None]
    if unknown or not leads or len(set(leads)) != len(leads):
        fault = f"unknown {unknown}" if unknown else "one is named twice" if leads else "none is named"
        raise UsageError(f"leads {list(names)}: {fault}", remedy=f"Use names out of {', '.join(LEADS)}")
    return [LEADS.index(lead) for lead in leads if lead]


def known_leads(names: Sequence[str]) -> tuple[str, ...]:
    """Return the standard leads in `names`, ignoring case, in the order of `LEADS`.

    Raises `RecordError` (`missing-lead`) where there is none.
    """
    lower = {name.strip().lower() for name in names}
    leads = tuple(lead for lead in LEADS if lead.lower() in lower)
    if not leads:
        raise RecordError(Reason.missing_lead, "has none of the twelve leads")
    return leads


def lead_rows(names: Sequence[str], leads: Sequence[str] = LEADS) -> list[int]:
    """Return the row in `names` of each of the `leads`, ignoring case; `names` may hold others.

    Raises `RecordError` (`missing-lead` or `duplicated-lead`).
    """
    present = [_BY_NAME.get(name.strip().lower()) for name in names]
    twice = [lead for lead in leads if present.count(lead) > 1]
    if twice:
        raise RecordError(Reason.duplicated_lead, f"has more than one lead named {', '.join(twice)}")
    missing = [lead for lead in leads if lead not in present]
    if missing:
        raise RecordError(Reason.missing_lead, f"lacks the leads {', '.join(missing)}")
    return [present.index(lead) for lead in leads]
