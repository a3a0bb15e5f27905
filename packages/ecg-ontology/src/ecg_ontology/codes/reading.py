"""Sentences as reports write them: the concepts that they name, and what they say of each.

A finding is present, denied, doubted, asked for, in the past or in the family. A cue holds for what its scope
covers: "no" for what follows, up to a comma that no list continues, a "but", or the end of the sentence;
"excluded" for what stands before.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from ecg_ontology.base.text_folding import undisguised
from ecg_ontology.codes.findings_in_text import FindingInText, Region, regions_of
from ecg_ontology.codes.lexicon import Item, lexicon
from ecg_ontology.graph.concepts import Concept, FrozenModel, Status
from ecg_ontology.ontology import Ontology

Certainty = Literal["certain", "probable", "possible", "asked"]
NAMESPACE = "https://w3id.org/mar-ecg/"
"""The rules name concepts of this namespace; a graph of another has none of them."""
_ENDS = frozenset({".", ";", "\n", "|", "!"})
_LISTING = frozenset({"and", "or"})
_PROBABLE = ("prob", "likely", "wahrsch", "waarsch", "prov", "verosim", "presum", "vermut", "am ehesten")
_BASIC = frozenset({"NSR", "STach", "SBrad", "SinusA", "Paced", "Normal"})
"""What a heart does instead: named after a denied rhythm it is what holds."""
_RHYTHMS = frozenset({"AF", "AFL", "SVT", "AT", "VT", "VF", "JR", "PAC", "PVC"})


class Mention(FrozenModel):
    """A concept that a text names, and what the text says of it.

    Attributes:
        concept: the concept; `None` for a finding that no concept of this ontology carries.
        finding: the rules' own name of it, or the code of what no concept carries.
        text: the words of the text.
        certainty: ``certain``, ``probable``, ``possible``, or ``asked`` where the text only asks for it.
        denied: the text says that it is absent.
        historical: the text puts it into the past or into the family.
        incomplete: the text calls it incomplete.
        acuity: ``acute``, ``old``, ``age undetermined`` or nothing.
        start: where its first word begins.
    """

    concept: Concept | None
    finding: str
    text: str
    certainty: Certainty = "certain"
    denied: bool = False
    historical: bool = False
    incomplete: bool = False
    acuity: str = ""
    start: int = 0

    @property
    def present(self) -> bool:
        """Whether the text says that it is there, for sure or not."""
        return not (self.denied or self.historical or self.certainty == "asked")

    @property
    def note(self) -> str:
        """What the text says of it beside its name; empty where it plainly is there."""
        if self.denied:
            return "denied: the label says that it is absent"
        if self.historical:
            return "historical: the label says that it was, or is in the family"
        if self.certainty == "asked":
            return "asked: the label asks for it"
        return "" if self.certainty == "certain" else f"uncertain: the label calls it {self.certainty}"


def read_text(onto: Ontology, text: str) -> tuple[Mention, ...]:
    """Return the concepts that a text names, in English and six more languages.

    Of a concept that is named twice, what is said last holds where that denies it, else what is sure.
    Languages: English, German, Spanish, French, Italian, Portuguese and Dutch; in Chinese, plain findings.
    Texts of machines (GE 12SL, Philips DXL, Veritas) are read as well.

    Args:
        onto: the cardiac concept graph, or an extension of it: another graph's concepts are in no rule.
        text: a label, a statement or a whole report.

    Example:
        >>> import ecg_ontology
        >>> from ecg_ontology.codes.reading import read_text
        >>> [(each.concept.abbr, each.present) for each in read_text(ecg_ontology.load(), "AF, no LBBB")]
        [('AF', True), ('LBBB', False)]
    """
    if not has_rules(onto):
        return ()
    by_concept: dict[object, Mention] = {}
    for mention in _mentions(onto, text if text.isascii() else undisguised(text)):
        key = mention.concept.index if mention.concept else mention.finding
        first = by_concept.get(key)
        if (
            first is None
            or (mention.denied and first.present)
            or (mention.present and not first.present and not first.denied)
        ):
            by_concept[key] = mention
        elif mention.present and first.present and mention.certainty == "certain":
            by_concept[key] = first.model_copy(update={"certainty": "certain"})
    leaves = any(each.concept and not each.concept.root and each.present for each in by_concept.values())
    return tuple(
        mention
        for mention in by_concept.values()
        if not (
            leaves
            and mention.concept
            and mention.concept.root
            and mention.present
            and _is_wider(onto, mention, by_concept)
        )
    )


def has_rules(onto: Ontology) -> bool:
    """Whether the rules of language know concepts of this ontology."""
    return bool(_by_name(onto))


def _is_wider(onto: Ontology, mention: Mention, by_concept: dict[object, Mention]) -> bool:
    """Whether a family says no more than one of its findings that is named beside it."""
    assert mention.concept is not None
    return any(
        each.concept is not None
        and not each.concept.root
        and each.present
        and onto.families[each.concept.index] == mention.concept.index
        for each in by_concept.values()
    )


def _mentions(onto: Ontology, text: str) -> Iterator[Mention]:
    words = lexicon()
    tokens = words.tokens(text)
    small = text == text.lower() and len(tokens) <= _FEW
    items = list(words.items(tokens, small=small))
    for sentence in _sentences(items):
        regions = regions_of(sentence)
        said = _Said(sentence, regions)
        for region in regions:
            for finding in region.findings:
                places = [sentence[place] for place in sorted(finding.places)]
                first, last = tokens[places[0].first], tokens[places[-1].last]
                if finding.ratio and said.conducts():
                    continue
                for chain in finding.concepts:
                    name, concept = resolved(onto, chain)
                    if name == "Normal" and said.otherwise(finding):
                        continue
                    denied, past, certainty = said.of(finding)
                    yield Mention(
                        concept=concept,
                        finding=name,
                        text=text[first.start : last.end],
                        certainty=certainty,
                        denied=denied,
                        historical=past,
                        incomplete=finding.incomplete,
                        acuity=finding.acuity,
                        start=first.start,
                    )


_FEW = 8
"""Tokens of a text in small letters up to which its abbreviations may be small as well."""


def _sentences(items: Sequence[Item]) -> Iterator[list[Item]]:
    sentence: list[Item] = []
    for item in items:
        if item.sign in _ENDS:
            if sentence:
                yield sentence
            sentence = []
        else:
            sentence.append(item)
    if sentence:
        yield sentence


def resolved(onto: Ontology, chain: Sequence[str]) -> tuple[str, Concept | None]:
    """Return the first concept of a chain that this ontology has, and its name."""
    by_name = _by_name(onto)
    for name in chain:
        if name in by_name:
            return name, by_name[name]
    code = chain[-1]
    known = code.isdecimal() and onto.route(code).status is Status.unrouted
    return (code if known else chain[0]), None


@lru_cache(maxsize=4)
def _by_name(onto: Ontology) -> dict[str, Concept]:
    return {node.abbr: node for node in onto.nodes if not node.deprecated and node.iri.startswith(NAMESPACE)}


class _Said:
    """What the cues of one sentence say of its findings."""

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
        if "now" in cues and self._names(range(place, len(self._items)), _BASIC):
            self._past |= {each for each in range(place) if self._names([each], _RHYTHMS)}

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
                self._names(self._span(here), _BASIC) or (covered & self._taken and self._is_affirmed(here))
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
        """The places from a delimiter to the next."""
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
        if self._names(span, _BASIC) or any(
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

    def _names(self, places: Sequence[int] | range, names: frozenset[str]) -> bool:
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
        """Whether a ratio is that of an atrial flutter's or tachycardia's conduction, not of a block."""
        return self._names(range(len(self._items)), frozenset({"AFL", "AT"}))

    def otherwise(self, finding: FindingInText) -> bool:
        """Whether a finding holds but for another: "otherwise normal ECG"."""
        first = min(finding.places)
        return any("otherwise" in item.cues for item in self._items[max(0, first - 2) : first + 4])

    def of(self, finding: FindingInText) -> tuple[bool, bool, Certainty]:
        """Whether a finding is denied, whether it is past, and how sure it is."""
        places = finding.places
        certainty: Certainty = next(
            (self._unsure[place] for place in sorted(places) if place in self._unsure), "certain"
        )
        if places & self._asked:
            certainty = "asked"
        return bool(places & self._denied), bool(places & self._past), certainty
