"""Identify records and patients across data sets by public names."""

import re

PTBXL, CPSC2018 = "ptbxl", "cpsc2018"
"""Names of two data sets whose records are also part of other collections."""
COLLECTIONS = (
    "chapman_shaoxing",
    "cpsc_2018",
    "cpsc_2018_extra",
    "georgia",
    "ningbo",
    "ptb",
    "ptb-xl",
    "st_petersburg_incart",
)
"""Collections of the CinC Challenges 2020/2021."""
_PTBXL_IN_CINC = re.compile(r"HR(\d{5})")


def identity(name: str, source: str) -> str:
    """Return the identity of a record across releases. HRnnnnn in the Challenges is ecg_id nnnnn in PTB-XL.

    Example:
        >>> identity("HR00034", "ptb-xl"), identity("00034", "ptbxl"), identity("A0001", "cpsc_2018")
        ('ptbxl/00034', 'ptbxl/00034', 'cpsc2018/A0001')
    """
    in_cinc = _PTBXL_IN_CINC.fullmatch(name)
    if in_cinc:
        return f"ptbxl/{in_cinc[1]}"
    if source in ("cpsc_2018", CPSC2018):
        return f"{CPSC2018}/{name}"
    return f"{PTBXL}/{name}" if source == PTBXL else name


def published_as(name: str, source: str) -> str | None:
    """Return the public name of a record, or None if its collection isn't published.

    Example:
        >>> published_as("HR00034", "ptb-xl"), published_as("E00001", "georgia"), published_as("1", "mine")
        ('ptbxl/00034', 'georgia/E00001', None)
    """
    who = identity(name, source)
    if dataset_of(who):
        return who
    return f"{source}/{name}" if source in COLLECTIONS else None


def dataset_of(who: str) -> str:
    """Return the data set in the result of `identity`, or "" if it has no data set."""
    return who.rpartition("/")[0]


def patient_of(source: str, patient: str | None) -> str | None:
    """Return an id of the patient that is unique across sources, or None if the patient is unknown."""
    return f"{source}/{patient}" if patient else None
