"""The `#Dx` comment of a CinC header: SNOMED-CT codes, or the text labels of early CPSC headers."""

import re
from dataclasses import dataclass

CPSC_LABELS = {
    "Normal": "426783006",
    "AF": "164889003",
    "I-AVB": "270492004",
    "LBBB": "164909002",
    "RBBB": "59118001",
    "PAC": "284470004",
    "PVC": "164884008",
    "STD": "429622005",
    "STE": "164931005",
}
"""CPSC2018's nine labels → the codes under which the official Dx map counts its records (column CPSC)."""

NO_DIAGNOSIS = "no diagnosis"
"""The note on a record without any code."""

_SCTID = re.compile(r"[1-9]\d{5,17}")


@dataclass(frozen=True)
class Diagnoses:
    """Codes in the order given, each once, and notes on what was translated or passed over."""

    codes: tuple[str, ...]
    notes: tuple[str, ...]


def diagnoses(text: str) -> Diagnoses:
    """Parse the value of a `#Dx` comment.

    Codes that no map knows are kept: whether a code can be routed is the ontology's answer, not the reader's.

    Example:
        >>> diagnoses("427084000,,STE")
        Diagnoses(codes=('427084000', '164931005'), notes=('an empty code', "label 'STE' read as 164931005"))
    """
    if not text.strip():
        return Diagnoses((), (NO_DIAGNOSIS,))
    codes: list[str] = []
    notes: list[str] = []
    for token in (part.strip() for part in text.split(",")):
        code = CPSC_LABELS.get(token, token)
        if not token:
            notes.append("an empty code")
        elif not _SCTID.fullmatch(code):
            notes.append(f"malformed code {token[:40]!r} passed over")
        elif code in codes:
            notes.append(f"code {code} given twice")
        else:
            codes.append(code)
            if code != token:
                notes.append(f"label {token!r} read as {code}")
    return Diagnoses(tuple(codes), tuple(notes))
