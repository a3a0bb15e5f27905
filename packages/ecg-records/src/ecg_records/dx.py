"""Comments of WFDB headers, and CinC's `#Dx`: SNOMED-CT codes, or CPSC2018's labels."""

import re
from dataclasses import dataclass
from pathlib import Path

from ecg_base import InputError, refuse_pipe

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

_LONGEST_WORD = 1 << 5
"""How much of a malformed code a note repeats."""

_SCTID = re.compile(r"[1-9]\d{5,17}")
_LINE_END = re.compile(r"\r\n?|\n")
_COMMENT = re.compile(r"#\s*(?P<key>[A-Za-z][A-Za-z ]*?)\s*:\s*(?P<value>.*)")


@dataclass(frozen=True)
class Diagnoses:
    """Content of a ``#Dx`` comment.

    Attributes:
        codes: in the order given, each once.
        notes: on what was translated or passed over.
        words: what stands there between the commas, each once, codes or not.
    """

    codes: tuple[str, ...]
    notes: tuple[str, ...]
    words: tuple[str, ...] = ()


def header_lines(text: str) -> list[str]:
    r"""Return the stripped lines of a WFDB header without blank ones; LF or CR ends a line.

    Example:
        >>> header_lines("a 12 500 5000\r\n\n  #Dx: 164889003 ")
        ['a 12 500 5000', '#Dx: 164889003']
    """
    return [line for part in _LINE_END.split(text) if (line := part.strip())]


def header_comments(text: str) -> dict[str, str]:
    r"""Return a WFDB header's comments ``# key: value`` by lower-case key, the first of equal keys.

    Args:
        text: of a WFDB header.

    Example:
        >>> header_comments("a 12 500 5000\n# Dx : 164889003\n#Sex: Female")
        {'dx': '164889003', 'sex': 'Female'}
    """
    comments: dict[str, str] = {}
    for line in header_lines(text):
        comment = _COMMENT.fullmatch(line)
        if comment:
            comments.setdefault(comment["key"].lower(), comment["value"].strip())
    return comments


def diagnoses(text: str) -> Diagnoses:
    """Return the content of a ``#Dx``. Codes are kept whether or not anybody knows them.

    Args:
        text: the value of the comment.

    Example:
        >>> diagnoses("427084000,,STE").codes
        ('427084000', '164931005')
        >>> diagnoses("427084000,,STE").notes
        ('an empty code', "label 'STE' read as 164931005")
    """
    if not text.strip():
        return Diagnoses((), (NO_DIAGNOSIS,))
    codes: dict[str, None] = {}  # a hundred thousand of them, too, are found at once
    notes: list[str] = []
    words = [part.strip() for part in text.split(",")]
    for word in words:
        code = CPSC_LABELS.get(word, word)
        if not word:
            notes.append("an empty code")
        elif not _SCTID.fullmatch(code):
            notes.append(f"malformed code {word[:_LONGEST_WORD]!r} passed over")
        elif code in codes:
            notes.append(f"code {code} given twice")
        else:
            codes[code] = None
            if code != word:
                notes.append(f"label {word!r} read as {code}")
    return Diagnoses(tuple(codes), tuple(notes), tuple(dict.fromkeys(filter(None, words))))


def codes_in_headers(folder: Path) -> tuple[tuple[str, ...], ...]:
    """Return the codes that each WFDB header below a folder names, by the headers' paths.

    CPSC2018's labels are read as codes; other words are kept as they are, so that they can be counted.

    Raises:
        InputError: there is no header, or one can't be read.
    """
    headers = sorted(path for path in folder.rglob("*.hea") if not path.is_dir())
    if not headers:
        problem = "holds no WFDB header (.hea)"
        raise InputError(problem, where=folder, remedy="Give the folder that holds the records")
    return tuple(_words_as_codes(header) for header in headers)


def _words_as_codes(header: Path) -> tuple[str, ...]:
    refuse_pipe(header, "Remove it, or give another folder", InputError)
    try:
        text = header.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=header) from error
    words = diagnoses(header_comments(text).get("dx", "")).words
    return tuple(dict.fromkeys(CPSC_LABELS.get(word, word) for word in words))
