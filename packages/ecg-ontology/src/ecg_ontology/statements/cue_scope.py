"""Scope of cues: which findings of a sentence are denied, doubted, asked for or past."""

from collections.abc import Sequence
from typing import Literal

from ecg_ontology.statements.findings_in_text import FindingInText, Region
from ecg_ontology.statements.lexicon import Item

Certainty = Literal["certain", "probable", "possible", "asked"]
_LISTING = frozenset({"and", "or"})
_PROBABLE = ("prob", "likely", "wahrsch", "waarsch", "prov", "verosim", "presum", "vermut", "am ehesten")
_BASIC = frozenset({"NSR", "STach", "SBrad", "SinusA", "Paced", "Normal"})
"""What a heart does instead: named after a denied rhythm it is what holds."""
_RHYTHMS = frozenset({"AF", "AFL", "SVT", "AT", "VT", "VF", "JR", "PAC", "PVC"})


class CueScopes:
    """Cues of one sentence, and the findings that they deny, doubt, ask for or put into the past."""

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
        follows = self._follows(place)
        if "denied-after" in cues and not ("denied-before" in cues and follows):
            self._denied |= self._before(place)
        elif "denied-before" in cues:
            self._denied |= self._after(place, listing=True)
        if "asked-before" in cues:
            self._asked |= self._after(place, listing=True)
        if "uncertain-before" in cues and (follows or "uncertain-after" not in cues):
            self._doubt(self._after(place, listing=self._ends_in_or(place)), item)
        elif "uncertain-after" in cues:
            self._doubt(self._before(place), item)
        if "past-before" in cues and (follows or "past-after" not in cues):
            self._past |= self._after(place, listing=True)
        elif "past-after" in cues:
            self._past |= self._before(place)
        if "family-before" in cues:
            self._past |= set(range(place, len(self._items)))
        if "now" in cues and self._holds(range(place, len(self._items)), _BASIC):
            self._past |= {index for index in range(place) if self._holds([index], _RHYTHMS)}

    def _doubt(self, places: set[int], item: Item) -> None:
        level: Certainty = "probable" if item.words.startswith(_PROBABLE) else "possible"
        for place in places:
            self._unsure.setdefault(place, level)

    def _follows(self, place: int) -> bool:
        """Whether a term follows before the next delimiter."""
        for item in self._items[place + 1 :]:
            if item.sign or item.cues & (_LISTING | {"with", "but"}):
                return False
            if item.terms:
                return True
        return False

    def _after(self, place: int, *, listing: bool) -> set[int]:
        """The places that a cue before them covers."""
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
                self._holds(self._span(here), _BASIC) or (covered & self._taken and self._is_affirmed(here))
            ):
                break
            covered.add(here)
        return covered

    def _ends_in_or(self, place: int) -> bool:
        """Whether the list that follows is one of alternatives."""
        return any("or" in item.cues for item in self._items[place + 1 :])

    def _is_affirmed(self, place: int) -> bool:
        """Whether what follows a conjunction is said to be there."""
        return any("present" in self._items[here].cues for here in self._span(place))

    def _span(self, place: int) -> list[int]:
        span = []
        for here in range(place + 1, len(self._items)):
            if self._items[here].sign or self._items[here].cues & (_LISTING | {"with", "but"}):
                break
            span.append(here)
        return span

    def _listed(self, comma: int) -> bool:
        """Whether a comma is one of a list that "and" or "or" ends, and no basic rhythm is in it."""
        span = self._span(comma)
        rest = range(comma + 1, len(self._items))
        if self._holds(span, _BASIC) or any(
            self._items[here].cues - {"known"} and here not in self._taken for here in span
        ):
            return False
        after = comma + 1 + (span[-1] - comma if span else 0)
        if not span or after not in rest:
            return False
        item = self._items[after]
        return bool(item.cues & _LISTING) or (item.sign == "," and self._listed(after))

    def _before(self, place: int) -> set[int]:
        """The places that a cue after them covers."""
        covered: set[int] = set()
        for here in range(place - 1, -1, -1):
            item = self._items[here]
            if item.sign or (item.cues & {"with", "but"} and here not in self._taken):
                if covered & self._region.keys():
                    break
                continue
            covered.add(here)
        return covered

    def _holds(self, places: Sequence[int] | range, names: frozenset[str]) -> bool:
        """Whether one of the findings at these places is one of these."""
        at = set(places)
        return any(
            chain[0] in names
            for region in self._regions
            for finding in region.findings
            if finding.places & at
            for chain in finding.concepts
        )

    def _either(self) -> None:
        """Doubt both of two findings that "or" or "versus" joins."""
        for before, after in zip(self._regions, self._regions[1:], strict=False):
            first = min(term.place for term in after.terms)
            between = [item for item in self._items[:first][-2:] if item.cues]
            if (
                not (before.findings and after.findings)
                or before.findings[0].concepts == after.findings[0].concepts
            ):
                continue
            if after.link == "or" or any(item.words in {"versus", "vs", "dd"} for item in between):
                for finding in (*before.findings, *after.findings):
                    for place in finding.places:
                        self._unsure.setdefault(place, "possible")

    def conducts(self) -> bool:
        """Whether a ratio belongs to a flutter's or tachycardia's conduction, not to a block."""
        return self._holds(range(len(self._items)), frozenset({"AFL", "AT"}))

    def otherwise(self, finding: FindingInText) -> bool:
        """Whether a finding is qualified by "otherwise", as in "otherwise normal ECG"."""
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
