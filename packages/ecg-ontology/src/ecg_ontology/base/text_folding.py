"""Fold text for comparison: ignore case, accents, hyphens and spelling variants."""

import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

_NO_WORD = re.compile(r"[^\w]+|_+")
_DIGRAPH = re.compile("ae|oe")
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l"})
"""Letters that Unicode normalisation doesn't split into simple letters."""
UNSEEN = r"\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
"""Soft hyphen, zero-width blanks, and characters that control the direction of text."""
_UNSEEN = re.compile(f"[{UNSEEN}]")
MAX_LETTERS = 100_000
"""Maximum number of letters that are read from a text. Reports and labels have fewer."""
_LONG = 5
"""Minimum length of words in which ae and oe become e (ischaemia, oedema). LAE stays unchanged."""


@lru_cache(maxsize=1 << 14)  # cached, because each search folds every label of the ontology
def fold(text: str) -> str:
    """Return `text` in lower case without accents and punctuation, for comparison with other folded text.

    Example:
        >>> fold("Ischämie – ISCHAEMIA, ST-T (LAE)")
        'ischamie ischemia st t lae'
    """
    plain = text.casefold() if text.isascii() else _plain(text)
    return " ".join(
        _DIGRAPH.sub("e", word) if len(word) >= _LONG else word for word in _NO_WORD.sub(" ", plain).split()
    )


def _plain(text: str) -> str:
    """Return a text in lower case without accents."""
    decomposed = unicodedata.normalize("NFKD", text)  # before `casefold`, which ignores mathematical letters
    letters = unicodedata.normalize("NFKD", decomposed.casefold().translate(_LIGATURES))
    unseen = ("Cf", "Mn", "Me")  # categories of format characters, such as soft hyphens, and of marks
    return "".join(letter for letter in letters if unicodedata.category(letter) not in unseen)


def nearest(text: str, names: Iterable[str], n: int = 3) -> list[str]:
    """Return up to `n` of `names` whose spelling is similar to `text`, most similar first."""
    by_fold: dict[str, str] = {}
    for name in names:
        by_fold.setdefault(fold(name), name)
    return [by_fold[match] for match in get_close_matches(fold(text), by_fold, n=n, cutoff=0.6)]


def plain(text: str) -> str:
    """Return a text in Unicode's normal form NFKC, without invisible characters, cut at `MAX_LETTERS`.

    Example:
        >>> plain("atrial ﬂu\u200btter")
        'atrial flutter'
    """
    text = text[:MAX_LETTERS]
    return text if text.isascii() else unicodedata.normalize("NFKC", _UNSEEN.sub("", text))
