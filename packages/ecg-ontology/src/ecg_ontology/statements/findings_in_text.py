"""Find the findings in a sentence: terms that belong together, in any order and language.

A term is a language-independent name for words of the lexicon, for example INFARCT.

A sentence is divided into regions at commas, conjunctions and cues. Within a region, the finding with the
most adjacent terms is taken first. A region without its own finding qualifies the region before it ("MI,
old"), or shares terms with a neighbour ("ST elevation or depression"). A place is the number of an item in
the sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from ecg_ontology.statements.finding_patterns import WALLS, Pattern, patterns
from ecg_ontology.statements.lexicon import Item

_DELIMITERS = frozenset({"and", "or", "with", "due", "but", "becomes"})
_BEFORE = frozenset(
    {"denied-before", "asked-before", "uncertain-before", "past-before", "family-before", "otherwise"}
)
_SHARING = frozenset({"and", "or", "/"})
_QUALIFIERS = frozenset(
    {
        *(
            "ACUTE",
            "OLD",
            "UNDATED",
            "COMPLETE",
            "INCOMPLETE",
            "PROLONGED",
            "SHORT",
            "NONSPECIFIC",
            "INVERTED",
        ),
        *("ANTERIOR", "INFERIOR", "LATERAL", "POSTERIOR", "SEPTAL", "FIRST", "SECOND", "THIRD", "MOBITZ"),
        *("HIGHGRADE", "RATIO", "LOW", "FLAT", "ELEVATION", "DEPRESSION", "NORMAL", "BIGEMINY"),
    }
)
"""Terms that may follow a finding after a comma and qualify it."""
_OPPOSITES = (
    frozenset({"LEFT", "RIGHT"}),
    frozenset({"COMPLETE", "INCOMPLETE"}),
    frozenset({"ELEVATION", "DEPRESSION"}),
    frozenset({"FIRST", "SECOND", "THIRD"}),
)
"""Mutually exclusive terms. A region with a term of a set takes no other term of this set from a
neighbour."""
_ACUITY = {"OLD": "old", "ACUTE": "acute", "UNDATED": "age undetermined"}
_AGED = {"old": "OMI", "acute": "AMI"}
_GAP = 1.1
"""Cost of an unrelated term between two terms of a finding. A matched term has the value 1."""
_SPREAD = 0.01
"""Cost per place between the first and last term of a finding, so that closer terms are preferred."""
_MOST = 64
"""Maximum number of combinations of occurrences that are compared for a pattern."""


class Occurrence(NamedTuple):
    """Term, such as INFARCT, with the place of the word or phrase that stands for it."""

    term: str
    place: int


@dataclass
class Region:
    """Part of a sentence between two commas, conjunctions or cues.

    Attributes:
        link: what precedes the region: a sign such as ",", a word such as "and", "cue", or "" for nothing.
        terms: terms in the region.
        findings: findings in the region.
    """

    link: str = ""
    terms: list[Occurrence] = field(default_factory=list)
    findings: list["FindingInText"] = field(default_factory=list)


@dataclass(frozen=True)
class FindingInText:
    """Finding in a text.

    Attributes:
        concepts: names of the concepts. Each is a tuple of alternatives in order of preference.
        places: places of the items that name the finding.
        shared: places of further items in a neighbouring region, which the finding shares.
        acuity: ``acute``, ``old``, ``age undetermined`` or "".
        incomplete: whether the text describes the finding as incomplete.
        ratio: whether a conduction ratio such as 2:1 names the finding.
    """

    concepts: tuple[tuple[str, ...], ...]
    places: frozenset[int]
    shared: frozenset[int] = frozenset()
    acuity: str = ""
    incomplete: bool = False
    ratio: bool = False


def regions_of(items: Sequence[Item]) -> list[Region]:
    """Return the regions of a sentence with their findings."""
    regions = [Region()]
    for place, item in enumerate(items):
        link = item.sign or next(iter(sorted(item.cues & _DELIMITERS)), "")
        if not link and item.cues & _BEFORE and not item.terms:
            link = "cue"
        if link:
            if regions[-1].terms:
                regions.append(Region(link))
            elif regions[-1].link in {"", ",", "cue", "-"}:
                regions[-1].link = link
        regions[-1].terms += [Occurrence(term, place) for term in item.terms]
    regions = _with_degrees([region for region in regions if region.terms])
    for region in regions:
        region.findings = _findings(region.terms)
    for number, region in enumerate(regions):
        if not region.findings:
            _complete(regions, number)
    return regions


def _with_degrees(regions: Sequence[Region]) -> list[Region]:
    """Join regions such as "sinoatrial block, Mobitz II". A separate "Mobitz II" would mean an AV block."""
    joined: list[Region] = []
    for region in regions:
        names = {term.term for term in region.terms}
        before = {term.term for term in joined[-1].terms} if joined else set()
        if "SINOATRIAL" in before and names <= _QUALIFIERS and region.link in {",", "cue", "(", "-", ":"}:
            joined[-1].terms += region.terms
        else:
            joined.append(region)
    return joined


def _complete(regions: list[Region], number: int) -> None:
    """Find the findings that a region without its own finding forms with the terms of a neighbour."""
    region = regions[number]
    before = regions[number - 1] if number else None
    after = regions[number + 1] if number + 1 < len(regions) else None
    own_places = {term.place for term in region.terms}
    qualifies = all(term.term in _QUALIFIERS for term in region.terms)
    if after is not None and after.link in _SHARING | {","} and after.findings:
        joined = _with(region, after.terms, own_places)
        if joined:
            region.findings = joined
            return
    if before is None:
        return
    if qualifies and region.link in {",", "cue", "(", "-", ":", "with"} and before.terms:
        findings = _findings([*before.terms, *region.terms])
        if any(finding.places & own_places for finding in findings):
            before.findings, before.terms = findings, [*before.terms, *region.terms]
            region.findings = []
            return
    if region.link in _SHARING:
        region.findings = _with(region, before.terms, own_places)


def _with(region: Region, neighbour: list[Occurrence], own_places: set[int]) -> list[FindingInText]:
    """Return the findings that the terms of a region form with terms of its neighbour."""
    present = {term.term for term in region.terms}
    own = present.union(*(terms for terms in _OPPOSITES if terms & present))
    lent = [term for term in neighbour if term.term not in own]
    made = _findings([*region.terms, *lent], own_places)
    return [
        FindingInText(
            finding.concepts,
            finding.places & frozenset(own_places),
            finding.places - own_places,
            finding.acuity,
            finding.incomplete,
        )
        for finding in made
    ]


def _findings(terms: Sequence[Occurrence], places: set[int] | None = None) -> list[FindingInText]:
    """Return the findings that terms form. Each term is used once.

    If `places` is given, only findings with a term at any of these places are returned.
    """
    remaining = list(terms)
    made: list[FindingInText] = []
    while (best := _best(remaining, places)) is not None:
        pattern, chosen = best
        remaining = [term for term in remaining if term not in chosen]
        names = {term.term for term in chosen}
        if "INFARCT" in names:
            finding, used = _infarction(pattern, chosen, remaining)
            remaining = [term for term in remaining if term not in used]
        else:
            acuity = next((_ACUITY[term.term] for term in remaining if term.term in _ACUITY), "")
            finding = FindingInText(
                pattern.concepts,
                frozenset(term.place for term in chosen),
                acuity=acuity,
                incomplete="INCOMPLETE" in names,
                ratio="RATIO" in names,
            )
        made.append(finding)
    return made


def _infarction(
    pattern: Pattern, chosen: tuple[Occurrence, ...], remaining: Sequence[Occurrence]
) -> tuple[FindingInText, list[Occurrence]]:
    """Return an infarction with its walls and age, and the terms that were used for walls and age."""
    details = [term for term in remaining if term.term in WALLS or term.term in _ACUITY]
    names = {term.term for term in details}
    walls = [WALLS[wall] for wall in WALLS if wall in names]
    if {"ANTERIOR", "SEPTAL"} <= names:
        walls.remove(WALLS["SEPTAL"])
    acuity = next((_ACUITY[age] for age in _ACUITY if age in names), "")
    ages = [(_AGED[acuity],)] if acuity in _AGED else []
    concepts = (*walls, *ages) or pattern.concepts
    places = frozenset(term.place for term in (*chosen, *details))
    return FindingInText(concepts, places, acuity=acuity), details


def _best(
    terms: Sequence[Occurrence], required: set[int] | None
) -> tuple[Pattern, tuple[Occurrence, ...]] | None:
    """Return the pattern with the most adjacent terms, and its terms.

    If `required` is given, the pattern must have a term at any of these places.
    """
    names = {term.term for term in terms}
    occupied = sorted({term.place for term in terms})
    best: tuple[float, int, Pattern, tuple[Occurrence, ...]] | None = None
    for name in sorted(names):
        for pattern in patterns().get(name, ()):
            if not all(alternatives & names for alternatives in pattern.terms):
                continue
            cost, chosen = _tightest(pattern, terms, occupied)
            places = [term.place for term in chosen]
            if required is not None and not required & {*places, *_walls(pattern, terms)}:
                continue
            value = (len(pattern.terms) - cost - (max(places) - min(places)) * _SPREAD, -min(places))
            if best is None or value > best[:2]:
                best = (*value, pattern, chosen)
    return None if best is None else (best[2], best[3])


def _walls(pattern: Pattern, terms: Sequence[Occurrence]) -> list[int]:
    infarction = any("INFARCT" in alternatives for alternatives in pattern.terms)
    return [term.place for term in terms if term.term in WALLS] if infarction else []


def _tightest(
    pattern: Pattern, terms: Sequence[Occurrence], occupied: Sequence[int]
) -> tuple[float, tuple[Occurrence, ...]]:
    """Return the occurrences of a pattern's terms with the fewest other terms between them, and their cost.

    The cost comes first in the result.
    """
    choices = [[term for term in terms if term.term in alternatives] for alternatives in pattern.terms]
    best: tuple[float, tuple[Occurrence, ...]] | None = None
    for number, chosen in enumerate(product(*choices)):
        if number >= _MOST:
            break
        places = {term.place for term in chosen}
        gaps = sum(min(places) < place < max(places) for place in occupied if place not in places)
        if best is None or gaps * _GAP < best[0]:
            best = (gaps * _GAP, chosen)
    assert best is not None
    return best
