"""Index labels by their words. Rare words have more weight, and word order has little influence.

Labels in Chinese characters are compared by pairs of characters. A misspelt word counts as the most similar
known word.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from math import log
from typing import Generic, TypeVar

from ecg_ontology.base.text_folding import fold

T = TypeVar("T")
_BETWEEN = re.compile(
    r"\s*(?:[,;+&/|，、；。]|\b(?:and|with|plus|und|mit|sowie|y|con|et|avec)\b|[和及与并伴])\s*",
    re.IGNORECASE,
)
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on by with and or due to ecg ekg electrocardiogram finding disorder "
        "der die das des bei mit und im de del la el en con y los las por",
    )
)
"""Words without information about a finding."""
_SAME = {
    "infarct": "infarction",
    **dict.fromkeys(("atrioventricular", "auriculoventricular"), "av"),
    **dict.fromkeys(("complex", "complexes", "beat", "beats", "extrasystole", "ectopics"), "contraction"),
    **dict.fromkeys(("degree", "grades", "grad"), "grade"),
    **dict.fromkeys(("1st", "1", "i", "primer", "ersten"), "first"),
    **dict.fromkeys(("2nd", "2", "ii", "segundo", "zweiten"), "second"),
    **dict.fromkeys(("3rd", "3", "iii", "tercer", "dritten"), "third"),
}
_LONGER = {"mi": ("myocardial", "infarction"), "avb": ("av", "block"), "chb": ("complete", "av", "block")}
_HAN = re.compile(r"[\u3400-\u9fff]+")
_FUZZY = 5
"""Minimum number of letters of a word that can be treated as misspelt."""


def parts_of(label: str) -> list[str]:
    """Split a label with several findings, such as "AF with LBBB". Returns [] for a label with one part."""
    parts = [part for part in _BETWEEN.split(label) if part.strip()]
    return parts if len(parts) > 1 else []


def words_of(text: str) -> frozenset[str]:
    """Return the distinctive words of a text in a uniform form, for example "first" for "1st"."""
    words: set[str] = set()
    for word in fold(_HAN.sub(lambda han: f" {han[0]} ", text)).split():
        if _HAN.fullmatch(word):
            words |= {word[start : start + 2] for start in range(max(1, len(word) - 1))}
        elif word not in _EMPTY:
            words.update(_LONGER.get(word, (_SAME.get(word, word),)))
    return frozenset(words)


def _as_written(text: str) -> set[str]:
    """Return the words of a text. Short words keep their case, because they may be abbreviations."""
    words = (
        word if word.islower() else re.sub(r"(?<=[A-Z])s$", "", word) for word in re.findall(r"\w+", text)
    )
    return {word if len(word) < _FUZZY - 1 else word.casefold() for word in words}


@lru_cache(maxsize=1 << 15)
def _letters_alike(text: str, other: str) -> float:
    return SequenceMatcher(None, text, other, autojunk=False).ratio()


class LabelIndex(Generic[T]):
    """Index of texts that finds the texts most similar to a label.

    Each text belongs to an object, for example a concept. A search returns both.
    """

    def __init__(self, texts: Iterable[tuple[str, T]]) -> None:
        self._texts = [(text, fold(text), words_of(text), of) for text, of in texts if text.strip()]
        frequency = Counter(word for words in {words for _, _, words, _ in self._texts} for word in words)
        self._weight = {word: 1 + log(len(self._texts) / count) for word, count in frequency.items()}
        self._weights = [sum(self._weight[word] for word in words) for _, _, words, _ in self._texts]
        self._rare = 1 + log(len(self._texts) or 1)
        self._by_word: dict[str, list[int]] = defaultdict(list)
        for number, (_, _, words, _) in enumerate(self._texts):
            for word in words:
                self._by_word[word].append(number)
        self._normal_form = lru_cache(maxsize=1 << 14)(self._nearest)

    def same(self, label: str) -> Iterator[tuple[float, str, T]]:
        """Yield (1.0, text, object) for each text that equals the label after `fold`."""
        folded = fold(label)
        words = frozenset(self._normal_form(word) for word in words_of(label))
        rarest = min(words, key=lambda word: len(self._by_word.get(word, ())), default="")
        for number in self._by_word.get(rarest, ()):
            text, its_fold, _, of = self._texts[number]
            if its_fold == folded:
                yield 1.0, text, of

    def near(self, label: str, least: float) -> Iterator[tuple[float, str, T]]:
        """Yield (similarity, text, object) for each text with a common word and at least this similarity."""
        folded, written = fold(label), _as_written(label)
        words = frozenset(self._normal_form(word) for word in words_of(label))
        total = sum(self._weight.get(word, self._rare) for word in words)
        common: dict[int, float] = defaultdict(float)
        for word in words:
            for number in self._by_word.get(word, ()):
                common[number] += self._weight[word]
        for number, shared in sorted(common.items()):
            text, its_fold, its_words, of = self._texts[number]
            if its_fold == folded:
                yield 1.0, text, of
                continue
            alike = shared / (total + self._weights[number] - shared)
            if its_words <= words and (
                len(its_words) > 1 or len(text) > _FUZZY or _as_written(text) <= written
            ):
                score = 0.6 + 0.38 * alike  # the label contains all words of the text
            elif alike > least / 2:
                score = 0.6 * alike + 0.4 * _letters_alike(folded, its_fold)
            else:
                continue
            if score >= least:
                yield round(min(score, 0.98), 2), text, of

    def _nearest(self, word: str) -> str:
        """Return the most similar known word. Known words and very short words are returned unchanged."""
        if word in self._weight or word.removesuffix("s") in self._weight:
            return word if word in self._weight else word[:-1]
        if len(word) < _FUZZY:
            return word
        return next(iter(get_close_matches(word, self._weight, n=1, cutoff=0.82)), word)
