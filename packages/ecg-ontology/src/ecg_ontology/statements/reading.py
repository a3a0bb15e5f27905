"""Sentences of reports: the concepts they name, each present, denied, doubted or past.

A finding is present, denied, doubted, requested, in the past or in the patient's family. A cue applies to its
scope. The scope of "no" is the text after it. It ends at a "but", the end of the sentence, or a comma outside
a list. The scope of "excluded" is the text before it.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from ecg_ontology.base.text_folding import plain
from ecg_ontology.graph.concepts import Concept, FrozenModel, Status
from ecg_ontology.ontology import Ontology
from ecg_ontology.statements.cue_scope import Certainty, CueScopes
from ecg_ontology.statements.findings_in_text import regions_of
from ecg_ontology.statements.lexicon import Item, lexicon

NAMESPACE = "https://w3id.org/mar-ecg/"
"""Namespace of the concepts that the rules name. Graphs of other namespaces have none of these concepts."""
_DENYING = frozenset({"denied-before", "denied-after"})
_ENDS = frozenset({".", ";", "\n", "|", "!"})


class Mention(FrozenModel):
    """Concept named in a text, with its certainty, negation and time.

    Attributes:
        concept: the concept, or `None` for a finding that no concept in this ontology represents.
        finding: name of the finding in the rules, or its code if no concept represents the finding.
        text: the words that name the concept.
        certainty: ``certain``, ``probable``, ``possible``, or ``asked`` if the text only requests the
            finding.
        denied: the text states that the finding is absent.
        historical: the text puts the finding into the past or into the patient's family.
        incomplete: the text describes the finding as incomplete.
        acuity: ``acute``, ``old``, ``age undetermined`` or "".
        start: position of the first word.
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
        """Whether the text states the finding as present, with any certainty."""
        return not (self.denied or self.historical or self.certainty == "asked")

    @property
    def note(self) -> str:
        """Note on denial, past or doubt. "" if the finding is certainly present."""
        if self.denied:
            return "denied: the label says that it is absent"
        if self.historical:
            return "historical: the label says that it was, or is in the family"
        if self.certainty == "asked":
            return "asked: the label asks for it"
        return "" if self.certainty == "certain" else f"uncertain: the label calls it {self.certainty}"


def read_text(onto: Ontology, text: str) -> tuple[Mention, ...]:
    """Return the concepts that a text names.

    If a concept is named several times, a later denial overrides its presence. Otherwise, the most certain
    mention decides. The languages are English, German, Spanish, French, Italian, Portuguese and Dutch. In
    Chinese, only plain findings are recognised. Texts of machines (GE 12SL, Philips DXL, Veritas) are
    supported.

    Args:
        onto: the cardiac concept graph, or an extension of it. The rules don't know concepts of other graphs.
        text: a label, a statement or a whole report.

    Example:
        >>> import ecg_ontology
        >>> from ecg_ontology.statements.reading import read_text
        >>> [(each.concept.abbr, each.present) for each in read_text(ecg_ontology.load(), "AF, no LBBB")]
        [('AF', True), ('LBBB', False)]
    """
    if not has_rules(onto):
        return ()
    by_concept: dict[object, Mention] = {}
    for mention in _mentions(onto, plain(text)):
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
    leaves = any(one.concept and not one.concept.root and one.present for one in by_concept.values())
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


def denies(text: str) -> bool:
    """Return whether a text contains a word of denial in a language of the lexicon, whatever it denies."""
    words = lexicon()
    return any(item.cues & _DENYING for item in words.items(words.tokens(plain(text))))


def has_rules(onto: Ontology) -> bool:
    """Return whether the language rules know concepts of this ontology."""
    return bool(_by_name(onto))


def _is_wider(onto: Ontology, mention: Mention, by_concept: dict[object, Mention]) -> bool:
    """Return whether the text also names a finding of a family, so that the family adds nothing."""
    assert mention.concept is not None
    return any(
        other.concept is not None
        and not other.concept.root
        and other.present
        and onto.families[other.concept.index] == mention.concept.index
        for other in by_concept.values()
    )


def _mentions(onto: Ontology, text: str) -> Iterator[Mention]:
    words = lexicon()
    tokens = words.tokens(text)
    small = text == text.lower() and len(tokens) <= _SHORT_TOKENS
    items = list(words.items(tokens, small=small))
    for sentence in _sentences(items):
        regions = regions_of(sentence)
        said = CueScopes(sentence, regions)
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


_SHORT_TOKENS = 8
"""Largest number of tokens in a lower-case text for which abbreviations may be in lower case."""


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
    """Return the name and the concept of the first name in a chain that this ontology contains."""
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
