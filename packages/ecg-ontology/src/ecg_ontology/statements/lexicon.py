"""Match the words of reports with a lexicon: terms of findings, and cues of denial, doubt and past.

The lexicon consists of packaged tables: words by term and language, and cues by kind and language. A text is
folded (put in lower case without accents), split into tokens, and matched with the longest phrases in the
tables.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ecg_ontology.base.text_folding import fold

TABLES = Path(__file__).parents[1] / "data" / "reading"
_TOKEN = re.compile(
    r"\d+:\d+|\([-–—−]\)|[-=]*[-=]>|→|[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+|[.,;:/()+&?|!\n\-–—，。；、：（）]"
)
_HYPHEN = re.compile(r"(?<=\w)[-‐‑–](?=\w)")
_HAN = re.compile(r"[\u3400-\u9fff]")
_SHORTENED = frozenset(
    {
        *(
            "dr",
            "st",
            "ca",
            "bzw",
            "lt",
            "ggf",
            "evtl",
            "max",
            "min",
            "vs",
            "ant",
            "inf",
            "lat",
            "post",
            "sept",
        ),
        *("sog", "susp", "pos", "neg", "resp", "mod", "incl", "prob", "poss", "abnl", "abn", "nonspec", "nr"),
        *("hx", "dx", "no", "sec", "deg"),
    }
)
"""Abbreviations with a full stop that doesn't end a sentence."""
_LONG = 6
"""Minimum number of letters of an unknown word that can be treated as misspelt or as a compound."""
_LEAST_LETTERS = 4
"""Minimum number of letters of a word that is shortened with a full stop, such as "supraventr."."""
_ANY = "_"
"""Placeholder for an arbitrary word in a phrase of the tables."""
_COMPOUNDING = frozenset({"de", "nl"})
_JOINTS = ("", "s", "n", "e", "en", "es", "er", "ns")
_LIKENESS = 0.86
_LONGEST_ENDING = 3
"""Maximum number of letters after a stem at the end of a compound."""


class Token(NamedTuple):
    """Word or sign of a text: folded form, original form, and position."""

    fold: str
    text: str
    start: int
    end: int


class Phrase(NamedTuple):
    """Phrase in the tables: words, the terms or the cue that they stand for, and language.

    If `capitals` is true, the phrase is an abbreviation that must be in capitals.
    """

    words: tuple[str, ...]
    terms: tuple[str, ...]
    cue: str
    language: str
    capitals: bool


@dataclass(frozen=True)
class Item:
    """Phrase or sign in a text.

    Attributes:
        first: number of the first token.
        last: number of the last token.
        terms: terms of findings that the phrase stands for.
        cues: kinds of cue that the phrase stands for.
        sign: the punctuation mark, or "" for a phrase.
        words: the folded words, or the original sign, for example a slash with or without blanks.
        languages: languages of the phrase.
    """

    first: int
    last: int
    terms: tuple[str, ...]
    cues: frozenset[str]
    sign: str
    words: str
    languages: frozenset[str] = frozenset()


class Lexicon:
    """Phrases of the tables, indexed by their first word."""

    def __init__(self) -> None:
        self._phrases: dict[str, list[Phrase]] = {}
        self._words: dict[str, set[str]] = {}
        for term, language, words in table_rows("words.tsv"):
            for word in words.split(", "):
                name, _, stated = word.partition("@")
                self._add(name, tuple((stated.replace("+", " ") or term).split()), "", language)
        for cue, language, words in table_rows("cues.tsv"):
            for word in words.split(", "):
                self._add(word, (), cue, language)
        self._compounding = {
            word
            for word, languages in self._words.items()
            if languages & _COMPOUNDING and len(word.rstrip("*")) > 2
        }
        self._abbreviated = {
            phrase.words[0]
            for phrases in self._phrases.values()
            for phrase in phrases
            if len(phrase.words) == 1 and (phrase.terms or phrase.cue.startswith("uncertain"))
        }
        self.forms = lru_cache(maxsize=1 << 14)(self._forms)
        self.parts = lru_cache(maxsize=1 << 14)(self._parts)
        self.whole = lru_cache(maxsize=1 << 14)(self._whole)

    def _add(self, phrase: str, terms: tuple[str, ...], cue: str, language: str) -> None:
        words = tuple(_folded(word) for word in _HYPHEN.sub(" ", phrase).split())
        capitals = phrase.isupper() and phrase.isascii() and len(phrase) > 1
        self._phrases.setdefault(words[0], []).append(Phrase(words, terms, cue, language, capitals))
        for word in words:
            self._words.setdefault(word, set()).add(language)

    def _forms(self, word: str) -> tuple[str, ...]:
        """Return the words and stems in the tables that match a token, longest first."""
        stems = [f"{word[:end]}*" for end in range(len(word), 1, -1)]
        return tuple(form for form in (word, *stems) if form in self._words)

    def _parts(self, word: str) -> tuple[str, ...]:
        """Return known words for an unknown word: the parts of a compound, or else the most similar word."""
        if word in self._words or len(word) < _LONG or not word.isalpha():
            return (word,)
        stem = next(iter(self.forms(word)), "")
        if len(word) - len(stem) < _LONGEST_ENDING and stem:
            return (word,)
        parts = self._split(word)
        if len(parts) > 1 or (parts and not stem):
            return parts
        if stem:
            return (word,)
        candidates = [
            known.rstrip("*")
            for known in self._words
            if known[0] == word[0] and abs(len(known.rstrip("*")) - len(word)) <= 2 and len(known) >= _LONG
        ]
        return tuple(get_close_matches(word, candidates, n=1, cutoff=_LIKENESS)) or (word,)

    def _whole(self, word: str) -> str:
        """Return the word of the tables that a word such as "supraventr." shortens, or ""."""
        if len(word) < _LEAST_LETTERS or self.forms(word) or word in _SHORTENED or not word.isalpha():
            return ""
        longer = [known.rstrip("*") for known in self._abbreviated if known.startswith(word)]
        return min(longer, key=lambda known: (len(known), known), default="")

    def _split(self, word: str) -> tuple[str, ...]:
        """Return the parts of a German or Dutch compound, or () if the word isn't a compound."""
        for end in range(len(word), 2, -1):
            head = word[:end]
            stem = f"{head}*" in self._compounding
            if head not in self._compounding and not stem:
                continue
            rest = word[end:]
            for joint in _JOINTS:
                if rest.startswith(joint) and (tail := self._split(rest[len(joint) :])):
                    return (head, *tail)
            if not rest or (stem and len(rest) <= _LONGEST_ENDING):
                return (head,)
        return ()

    def items(self, tokens: list[Token], *, small: bool = False) -> Iterator[Item]:
        """Yield the phrases and signs of a text in order. Other words are skipped.

        Args:
            tokens: tokens of the text.
            small: whether abbreviations may be in lower case, because the whole text is in lower case.
        """
        place = 0
        while place < len(tokens):
            token = tokens[place]
            if not token.fold[0].isalnum() and token.fold != "?":
                yield Item(place, place, (), frozenset(), token.fold, token.text)
                place += 1
                continue
            phrases = self._longest(tokens, place, small)
            if phrases:
                length = len(phrases[0].words)
                terms = next((phrase.terms for phrase in phrases if phrase.terms), ())
                cues = frozenset(phrase.cue for phrase in phrases if phrase.cue)
                words = " ".join(token.fold for token in tokens[place : place + length])
                languages = frozenset(phrase.language for phrase in phrases)
                yield Item(place, place + length - 1, terms, cues, "", words, languages)
                place += length
            else:
                place += 1

    def _longest(self, tokens: list[Token], place: int, small: bool) -> list[Phrase]:
        """Return the phrases that start at a token and have the most words. Longer words come first."""
        forms = self.forms(tokens[place].fold)
        phrases = [
            phrase
            for form in forms
            for phrase in self._phrases.get(form, ())
            if (small or not phrase.capitals or tokens[place].text.removesuffix("s").isupper())
            and place + len(phrase.words) <= len(tokens)
            and all(
                word in self.forms(token.fold) or (word == _ANY and token.fold.isalpha())
                for word, token in zip(phrase.words[1:], tokens[place + 1 :], strict=False)
            )
        ]
        most = max((len(phrase.words) for phrase in phrases), default=0)
        longest = [phrase for phrase in phrases if len(phrase.words) == most]
        return sorted(longest, key=lambda phrase: -sum(len(word.rstrip("*")) for word in phrase.words))

    def tokens(self, text: str) -> list[Token]:
        """Split a text into tokens in folded form. Compounds are split, abbreviations lose full stops."""
        found: list[Token] = []
        text = _HYPHEN.sub(" ", text)
        matches = list(_TOKEN.finditer(text))
        for number, match in enumerate(matches):
            word = match[0]
            if not word[0].isalnum():
                after = matches[number + 1] if number + 1 < len(matches) else None
                before = matches[number - 1] if number else None
                is_cut = word == "." and before is not None and self.whole(fold(before[0])) != ""
                if not is_cut and not _is_shortening(word, text, before, after, match):
                    asks = word == "?" and after is not None and after.start() == match.end()
                    sign = _ASKING if asks else _BECOMING if word[-1] in ">→" else _SIGNS.get(word, word)
                    blanks = (
                        word == "/" and text[match.start() - 1] == text[match.end() : match.end() + 1] == " "
                    )
                    written = " / " if blanks else word
                    found.append(Token(sign, written, match.start(), match.end()))
                continue
            if _HAN.match(word):
                found += self._han(word, match.start())
                continue
            folded = fold(word).replace(" ", "")
            if text[match.end() : match.end() + 1] == "." and (full := self.whole(folded)):
                found.append(Token(full, word, match.start(), match.end()))
                continue
            for part in self.parts(folded) if folded else ():
                found.append(Token(part, word, match.start(), match.end()))
        return found

    def _han(self, text: str, start: int) -> Iterator[Token]:
        """Yield the known words of a Chinese text, which has no blanks. Longer words are preferred."""
        place = 0
        while place < len(text):
            for end in range(min(len(text), place + 8), place, -1):
                word = text[place:end]
                if word in self._words:
                    yield Token(word, word, start + place, start + end)
                    place = end
                    break
            else:
                place += 1


_SIGNS = {
    "(-)": "absent",
    "(–)": "absent",
    "(—)": "absent",
    "(−)": "absent",
    "，": ",",
    "、": ",",
    "。": ".",
    "；": ";",
    "：": ":",
    "（": "(",
    "）": ")",
    "–": "-",
    "—": "-",
}


_ASKING = "questionmark"
"""Token for a question mark before a word, which casts doubt on the word. After a word, the token is "?"."""
_BECOMING = "becomes"
"""Token for an arrow between two rhythms."""


def _folded(word: str) -> str:
    if word == _ANY:
        return word
    stem = word.endswith("*")
    return (fold(word.rstrip("*")).replace(" ", "") or word) + ("*" if stem else "")


def _is_shortening(
    sign: str, text: str, before: re.Match[str] | None, after: re.Match[str] | None, match: re.Match[str]
) -> bool:
    """Return whether a sign isn't a delimiter: the full stops in V.a., the slash in s/p, a decimal point."""
    if before is None:
        return False
    word = before[0]
    touching = before.end() == match.start()
    if sign == ".":
        if after is None:
            return False
        if len(word) == 1 or word.casefold() in _SHORTENED:
            return touching
        return touching and (word.isdigit() or not text[match.end() : after.start()])
    return sign == "/" and len(word) == 1 and after is not None and len(after[0]) == 1 and touching


@cache
def lexicon() -> Lexicon:
    """Return the packaged lexicon, which is loaded on first use."""
    return Lexicon()


def table_rows(name: str) -> Iterator[list[str]]:
    """Yield the cells of each row of a packaged table, such as `findings.tsv`."""
    lines = (TABLES / name).read_text("utf-8").splitlines()
    yield from (
        line.split("\t")
        for line in lines[1:]
        if line and not line.startswith(("#", "term", "kind", "machine"))
    )
