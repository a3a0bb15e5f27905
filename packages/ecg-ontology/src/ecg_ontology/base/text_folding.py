"""Words as people type them: letter case, accents, hyphens and spelling variants are equal.

Texts may hold characters that no reader sees or that look like others: `disguise` names them.
"""

import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

_NO_WORD = re.compile(r"[^\w]+|_+")
_DIGRAPH = re.compile("ae|oe")
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l"})
"""Letters that Unicode does not take apart."""
_WORD = re.compile(r"\w+")
UNSEEN = r"\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
"""Soft hyphen, blanks of no width, and what turns the direction of a text."""
_UNSEEN = re.compile(f"[{UNSEEN}]")
_LONG = 5
"""From this length on a word's ae and oe are spelling (ischaemia, oedema); LAE stays itself."""


@lru_cache(maxsize=1 << 14)  # a search compares every text of the ontology
def fold(text: str) -> str:
    """Return `text` for comparison: small letters without accents, words separated by one blank.

    Example:
        >>> fold("Ischämie – ISCHAEMIA, ST-T (LAE)")
        'ischamie ischemia st t lae'
    """
    plain = text.casefold() if text.isascii() else _plain(text)
    return " ".join(
        _DIGRAPH.sub("e", word) if len(word) >= _LONG else word for word in _NO_WORD.sub(" ", plain).split()
    )


def _plain(text: str) -> str:
    """Small letters without accents."""
    one_form = unicodedata.normalize("NFKD", text)  # first: a letter of a formula has no small one of its own
    letters = unicodedata.normalize("NFKD", one_form.casefold().translate(_LIGATURES))
    unseen = ("Cf", "Mn", "Me")  # formats such as a soft hyphen, and marks
    return "".join(letter for letter in letters if unicodedata.category(letter) not in unseen)


def nearest(text: str, names: Iterable[str], n: int = 3) -> list[str]:
    """Return up to `n` of `names` that are spelt like `text`, the nearest first."""
    by_fold: dict[str, str] = {}
    for name in names:
        by_fold.setdefault(fold(name), name)
    return [by_fold[near] for near in get_close_matches(fold(text), by_fold, n=n, cutoff=0.6)]


def disguise(text: str) -> str:
    """Name the unseen or look-alike characters of a text; "" if there are none.

    Example:
        >>> disguise("\u0410trial fibrillation"), disguise("мерцание предсердий")
        ("letters of two alphabets that look alike in 'Аtrial'", '')
    """
    if unseen := _UNSEEN.search(text):
        return f"the character U+{ord(unseen[0]):04X}, which isn't seen"
    word = look_alike(text)
    return f"letters of two alphabets that look alike in {word!r}" if word else ""


def look_alike(text: str) -> str:
    """Return the first word that mixes Latin letters with others that look like them, or ""."""
    words = () if text.isascii() else _WORD.findall(text)
    return next((word for word in words if _latin_look_alikes(word)), "")


def undisguised(text: str) -> str:
    """Return a text without unseen characters, with look-alikes in Latin words as Latin letters."""
    return _WORD.sub(lambda word: _as_it_looks(word[0]), _UNSEEN.sub("", text))


def _as_it_looks(word: str) -> str:
    twins = _latin_look_alikes(word)
    return "".join(twins.get(letter, letter) for letter in word)


@lru_cache(maxsize=1 << 12)
def _latin_look_alikes(word: str) -> dict[str, str]:
    """The Latin letters that letters of other alphabets look like, where a word has both; else {}."""
    if word.isascii():
        return {}
    from confusable_homoglyphs import categories, confusables  # Unicode's table, 200 kB: only where needed

    aliases = {letter: categories.alias(letter) for letter in word}
    strange = "".join(letter for letter, alias in aliases.items() if alias in ("CYRILLIC", "GREEK"))
    if not strange or "LATIN" not in aliases.values():
        return {}
    found = confusables.is_confusable(strange, greedy=True, preferred_aliases=["latin"]) or []
    return {
        entry["character"]: next(
            twin["c"] for twin in entry["homoglyphs"] if categories.alias(twin["c"]) == "LATIN"
        )
        for entry in found
        if any(categories.alias(twin["c"]) == "LATIN" for twin in entry["homoglyphs"])
    }
