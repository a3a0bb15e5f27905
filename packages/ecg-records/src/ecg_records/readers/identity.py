"""Identify records and patients across data sets by public names.

The PhysioNet/CinC Challenges contain records of PTB-XL and CPSC2018 under other names. The same record needs
the same identity, so that it isn't both in training and test data.
"""

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
    """Return a name of a record that is the same in all releases that contain the record.

    For example, HR00034 in the PhysioNet/CinC Challenges is the record with `ecg_id` 34 in PTB-XL. A
    record that is neither in PTB-XL nor in CPSC2018 keeps its name, without a data set before it.

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
    """Return the published data set and name of a record, or None if its data set isn't public.

    Example:
        >>> published_as("HR00034", "ptb-xl"), published_as("E00001", "georgia"), published_as("1", "mine")
        ('ptbxl/00034', 'georgia/E00001', None)
    """
    who = identity(name, source)
    if dataset_of(who):
        return who
    return f"{source}/{name}" if source in COLLECTIONS else None


def dataset_of(who: str) -> str:
    """Return the data set in a result of `identity`, or "" if the result is only a record name."""
    return who.rpartition("/")[0]


def patient_of(source: str, patient: str | None) -> str | None:
    """Return an id of the patient that is unique across sources, or None if the patient is unknown."""
    return f"{source}/{patient}" if patient else None
