"""Parse the comments of WFDB headers, and the diagnostic codes in the `#Dx` comment of the CinC Challenges.

The comment holds SNOMED CT codes, or in some records the labels of the data set CPSC2018, such as `STE`.
"""

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
"""The nine labels of CPSC2018 with their SNOMED CT codes, from the column CPSC of the CinC Challenge's table
`Dx_map.csv`."""

NO_DIAGNOSIS = "no diagnosis"
"""Note on a record without codes."""

_LONGEST_WORD = 1 << 5
"""Maximum number of characters of a malformed code in a note."""

_SCTID = re.compile(r"[1-9]\d{5,17}")
_LINE_END = re.compile(r"\r\n?|\n")
_COMMENT = re.compile(r"#\s*(?P<key>[A-Za-z][A-Za-z ]*?)\s*:\s*(?P<value>.*)")


@dataclass(frozen=True)
class Diagnoses:
    """Content of a ``#Dx`` comment.

    Attributes:
        codes: Codes in file order without duplicates.
        notes: Notes on codes that were translated or ignored.
        words: All parts of the comment between commas, without duplicates, even if they aren't codes.
    """

    codes: tuple[str, ...]
    notes: tuple[str, ...]
    words: tuple[str, ...] = ()


def header_lines(text: str) -> list[str]:
    r"""Return the stripped lines of a WFDB header, without blank lines. Lines end in LF, CR LF or CR.

    Example:
        >>> header_lines("a 12 500 5000\r\n\n  #Dx: 164889003 ")
        ['a 12 500 5000', '#Dx: 164889003']
    """
    return [line for part in _LINE_END.split(text) if (line := part.strip())]


def header_comments(text: str) -> dict[str, str]:
    r"""Return the ``# key: value`` comments of a WFDB header by lower-case key.

    If a key occurs several times, its first comment is returned.

    Args:
        text: Text of a WFDB header.

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
    """Parse the value of a ``#Dx`` comment. Unknown codes are kept.

    Args:
        text: Value of the comment.

    Example:
        >>> diagnoses("427084000,,STE").codes
        ('427084000', '164931005')
        >>> diagnoses("427084000,,STE").notes
        ('an empty code', "label 'STE' read as 164931005")
    """
    if not text.strip():
        return Diagnoses((), (NO_DIAGNOSIS,))
    codes: dict[str, None] = {}  # a dict stays fast with a hundred thousand codes
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
    """Return the codes in each WFDB header below a folder, in the order of the headers' paths.

    Labels of CPSC2018 are translated to codes. Other words are returned unchanged, so that callers can count
    them.

    Raises:
        InputError: If there is no header, or a header can't be read.
    """
    headers = sorted(path for path in folder.rglob("*.hea") if not path.is_dir())
    if not headers:
        problem = "contains no WFDB header (.hea)"
        raise InputError(problem, where=folder, remedy="Give the folder that contains the records")
    return tuple(_words_as_codes(header) for header in headers)


def _words_as_codes(header: Path) -> tuple[str, ...]:
    refuse_pipe(header, "Remove it, or give another folder", InputError)
    try:
        text = header.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=header) from error
    words = diagnoses(header_comments(text).get("dx", "")).words
    return tuple(dict.fromkeys(CPSC_LABELS.get(word, word) for word in words))
