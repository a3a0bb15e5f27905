"""Find the scope of cues: which findings in a sentence are denied, doubted, requested or past.

A cue is a word such as "no" or "possible". Its scope is the text that it applies to. A sentence is a list of
items (words, phrases and punctuation marks that the lexicon knows), and a place is the number of an item. A
term is a word of a finding, and a delimiter is a punctuation mark or a conjunction.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from ecg_ontology.statements.findings_in_text import FindingInText, Region
from ecg_ontology.statements.lexicon import Item

Certainty = Literal["certain", "probable", "possible", "asked"]
_LISTING = frozenset({"and", "or"})
_PROBABLE = ("prob", "likely", "wahrsch", "waarsch", "prov", "verosim", "presum", "vermut", "am ehesten")
_BASIC = frozenset({"NSR", "STach", "SBrad", "SinusA", "Paced", "Normal"})
"""Basic rhythms. A basic rhythm after a denied rhythm is the actual rhythm, so it isn't denied."""
_RHYTHMS = frozenset({"AF", "AFL", "SVT", "AT", "VT", "VF", "JR", "PAC", "PVC"})


class CueScopes:
    """Cues of a sentence, and the findings that they mark as denied, doubted, requested or past."""

    def __init__(self, items: Sequence[Item], regions: Sequence[Region]) -> None:
        self._items = items
        self._region = {term.place: number for number, region in enumerate(regions) for term in region.terms}
        self._regions = regions
        taken = {place for region in regions for finding in region.findings for place in finding.places}
        self._denied: set[int] = set()
        self._past: set[int] = set()
        self._asked: set[int] = set()
        self._unsure: dict[int, Certainty] = {}
        self._taken = taken
        for place, item in enumerate(items):
            if place not in taken and item.cues:
                self._apply(place, item)
        self._either()

    def _apply(self, place: int, item: Item) -> None:
        cues = item.cues
        follows = self._follows(place) and not self._is_behind(place)
        if ("denied-after" in cues and not ("denied-before" in cues and follows)) or self._answers(place):
            self._denied |= self._before(place)
        elif "denied-before" in cues:
            self._denied |= self._after(place, listing=True)
        if "asked-before" in cues and (follows or "asked-after" not in cues):
            self._asked |= self._after(place, listing=True)
        elif "asked-after" in cues:
            self._asked |= self._before(place)
        if "uncertain-before" in cues and (follows or "uncertain-after" not in cues):
            self._doubt(self._after(place, listing=self._ends_in_or(place)), item)
        elif "uncertain-after" in cues:
            self._doubt(self._before(place, nearest=True), item)
        if "past-before" in cues and (follows or "past-after" not in cues):
            self._past |= self._after(place, listing=True)
        elif "past-after" in cues:
            self._past |= self._before(place)
        if "family-before" in cues:
            self._past |= set(range(place, len(self._items)))
        if "context-before" in cues:
            self._past |= self._section(place)
        if "becomes" in cues and self._holds(range(place, len(self._items)), _BASIC | _RHYTHMS):
            self._past |= {index for index in range(place) if self._holds([index], _BASIC | _RHYTHMS)}
        if "now" in cues and self._holds(range(place, len(self._items)), _BASIC):
            self._past |= {index for index in range(place) if self._holds([index], _RHYTHMS)}

    def _doubt(self, places: set[int], item: Item) -> None:
        level: Certainty = "probable" if item.words.startswith(_PROBABLE) else "possible"
        for place in places:
            self._unsure.setdefault(place, level)

    def _follows(self, place: int) -> bool:
        """Return whether a term comes between this place and the next delimiter."""
        for item in self._items[place + 1 :]:
            if item.sign or item.cues & (_LISTING | {"with", "but"}):
                return False
            if item.terms:
                return True
        return False

    def _is_behind(self, place: int) -> bool:
        """Return whether a cue between two findings applies to the first, as in "LVH möglich LBBB"."""
        item = self._items[place]
        if "behind" not in item.cues:
            return False
        if "en" in item.languages and item.words.isalpha() and "fr" in item.languages:
            elsewhere = [other.languages for other in self._items if other.languages and other is not item]
            if not any("fr" in languages and "en" not in languages for languages in elsewhere):
                return False
        before = next((left for left in range(place - 1, -1, -1) if self._parts(left)), None)
        after = next((right for right in range(place + 1, len(self._items)) if self._parts(right)), None)
        if before is None or self._items[before].sign or self._items[before].cues & _LISTING:
            return False
        return after is None or after not in self._region or bool(self._regions[self._region[after]].findings)

    def _parts(self, place: int) -> bool:
        """Return whether an item can end the search for a neighbouring finding: a term or a delimiter."""
        item = self._items[place]
        return bool(item.terms or item.sign or item.cues & _LISTING)

    def _answers(self, place: int) -> bool:
        """Return whether a denial answers the finding before it, as in "LBBB: no"."""
        sign = self._items[place - 1].sign if place else ""
        last = place + 1 == len(self._items) or bool(self._items[place + 1].sign)
        return "answer" in self._items[place].cues and last and sign in {":", "-", "("}

    def _section(self, head: int) -> set[int]:
        """Return the places of a heading such as "Indication:" and of its text, up to the next heading."""
        colons = [place for place in range(head, len(self._items)) if self._items[place].sign == ":"]
        if not colons or colons[0] != head + 1:
            return set()
        end = colons[1] - 1 if len(colons) > 1 else len(self._items)
        return set(range(head, end))

    def _after(self, place: int, *, listing: bool) -> set[int]:
        """Return the places after a cue that are in its scope.

        If `listing`, the scope doesn't end at a comma within a list such as "no LVH, LBBB or AF".
        """
        covered: set[int] = set()
        for here in range(place + 1, len(self._items)):
            item = self._items[here]
            if item.cues & {"but", "with", "now", "otherwise"} and here not in self._taken:
                break
            if (
                item.cues & {"denied-after", "uncertain-after"}
                and here not in self._taken
                and not self._follows(here)
            ):
                continue
            passed = item.first > self._items[place].last + 1
            if item.sign in {",", ")", ":", "-"} and passed:
                if not (listing and item.sign == "," and self._listed(here)):
                    break
            elif item.cues & _LISTING and (
                ("and" in item.cues and self._holds(self._span(here), _BASIC))
                or (covered & self._taken and self._is_affirmed(here))
            ):
                break
            covered.add(here)
        return covered

    def _ends_in_or(self, place: int) -> bool:
        """Return whether the sentence has an "or" after this place."""
        return any("or" in item.cues for item in self._items[place + 1 :])

    def _is_affirmed(self, place: int) -> bool:
        """Return whether the text after a conjunction affirms a finding, as in "no LVH and AF present"."""
        return any("present" in self._items[here].cues for here in self._span(place))

    def _span(self, place: int) -> list[int]:
        span = []
        for here in range(place + 1, len(self._items)):
            if self._items[here].sign or self._items[here].cues & (_LISTING | {"with", "but"}):
                break
            span.append(here)
        return span

    def _listed(self, comma: int) -> bool:
        """Return whether a comma belongs to a list that ends in "and" or "or".

        A list with a basic rhythm such as sinus rhythm doesn't count, because this rhythm is the actual
        rhythm.
        """
        span = self._span(comma)
        rest = range(comma + 1, len(self._items))
        basic = _BASIC - {"Paced"} if self._ends_in_or(comma) else _BASIC
        if self._holds(span, basic) or any(
            self._items[here].cues - {"known"} and here not in self._taken for here in span
        ):
            return False
        after = comma + 1 + (span[-1] - comma if span else 0)
        if after not in rest:
            return False
        if not span:
            return bool(self._items[after].cues & _LISTING)
        item = self._items[after]
        return bool(item.cues & _LISTING) or (item.sign == "," and self._listed(after))

    def _before(self, place: int, *, nearest: bool = False) -> set[int]:
        """Return the places before a cue that are in its scope.

        If `nearest`, only the nearest of several adjacent findings is in the scope.
        """
        covered: set[int] = set()
        for here in range(place - 1, -1, -1):
            item = self._items[here]
            if item.sign or (item.cues & {"with", "but"} and here not in self._taken):
                if covered & self._region.keys():
                    break
                continue
            covered.add(here)
        if nearest and (terms := covered & self._region.keys()):
            region = self._regions[self._region[max(terms)]]
            findings = [finding for finding in region.findings if finding.places & covered]
            findings.sort(key=lambda finding: max(finding.places & covered))
            for finding in findings[:-1]:
                covered -= finding.places - findings[-1].places
        return covered

    def _holds(self, places: Sequence[int] | range, names: frozenset[str]) -> bool:
        """Return whether any finding at these places has a concept with any of these names."""
        searched = set(places)
        return any(
            chain[0] in names
            for region in self._regions
            for finding in region.findings
            if finding.places & searched
            for chain in finding.concepts
        )

    def _either(self) -> None:
        """Mark two findings as possible if they are joined by "or", "versus" or a slash."""
        for before, after in pairwise(self._regions):
            first = min(term.place for term in after.terms)
            between = [item for item in self._items[:first][-2:] if item.cues]
            if (
                not (before.findings and after.findings)
                or before.findings[0].concepts == after.findings[0].concepts
            ):
                continue
            slash = self._is_slash(first)
            if after.link == "or" or slash or any(item.words in {"versus", "vs", "dd"} for item in between):
                last = max(before.findings, key=lambda finding: max(finding.places))
                next_ = min(after.findings, key=lambda finding: min(finding.places))
                for place in last.places | next_.places:
                    self._unsure.setdefault(place, "possible")

    def _is_slash(self, first: int) -> bool:
        """Return whether a slash without blanks, perhaps with a hyphen, comes directly before a term."""
        slash = first - 1
        if slash > 0 and self._items[slash].sign == "-":
            slash -= 1
        if slash < 1 or self._items[slash].words != "/":
            return False
        names = self._items[slash - 1 : first + 1]
        return bool(names[0].terms) and names[-1].first - names[0].last == len(names) - 1

    def conducts(self) -> bool:
        """Return whether a ratio such as 2:1 describes flutter or tachycardia, and not a block."""
        return self._holds(range(len(self._items)), frozenset({"AFL", "AT"}))

    def otherwise(self, finding: FindingInText) -> bool:
        """Return whether "otherwise" qualifies a finding, as in "otherwise normal ECG"."""
        first = min(finding.places)
        return any("otherwise" in item.cues for item in self._items[max(0, first - 2) : first + 4])

    def of(self, finding: FindingInText) -> tuple[bool, bool, Certainty]:
        """Return whether a finding is denied, whether it is past, and its certainty."""
        places = finding.places
        certainty: Certainty = next(
            (self._unsure[place] for place in sorted(places) if place in self._unsure), "certain"
        )
        if places & self._asked:
            certainty = "asked"
        return bool(places & self._denied), bool(places & self._past), certainty
