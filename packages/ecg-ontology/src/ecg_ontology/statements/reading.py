"""Read the findings in the sentences of reports.

A finding is present, denied, doubted, requested, in the past or in the patient's family. A cue applies to its
scope. For example, the scope of "no" is the text after it, up to a "but", a comma outside a list, or the end
of the sentence. The scope of "excluded" is the text before it.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ecg_ontology.base.text_folding import plain
from ecg_ontology.graph.concepts import Concept, FrozenModel, Status
from ecg_ontology.ontology import Ontology
from ecg_ontology.statements.cue_scope import Certainty, CueScopes
from ecg_ontology.statements.findings_in_text import regions_of
from ecg_ontology.statements.lexicon import Item, lexicon

NAMESPACE = "https://w3id.org/mar-ecg/"
"""Namespace of the concepts that the rules know."""
_DENYING = frozenset({"denied-before", "denied-after"})
_ENDS = frozenset({".", ";", "\n", "|", "!"})


class Mention(FrozenModel):
    """Finding in a text, with its certainty, negation and time.

    Attributes:
        concept: concept of the finding, or `None` if this ontology has no such concept.
        finding: abbreviation of the concept. Without a concept, the code of the finding, or its name in the
            rules if it has no code.
        text: words of the finding in the text.
        certainty: ``certain``, ``probable``, ``possible``, or ``asked`` if the text only requests the
            finding.
        denied: whether the text states that the finding is absent.
        historical: whether the finding is in the past or in the patient's family.
        incomplete: whether the text describes the finding as incomplete.
        acuity: ``acute``, ``old``, ``age undetermined`` or "".
        start: position of the finding's first character in the text.
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
        """Whether the text states that the finding is certainly, probably or possibly present."""
        return not (self.denied or self.historical or self.certainty == "asked")

    @property
    def note(self) -> str:
        """Note if the finding is denied, past, requested or doubtful, and "" otherwise."""
        if self.denied:
            return "denied: the label says that the finding is absent"
        if self.historical:
            return "historical: the finding is in the past or in the family"
        if self.certainty == "asked":
            return "asked: the label only requests the finding"
        return "" if self.certainty == "certain" else f"uncertain: the finding is {self.certainty}"


def read_text(onto: Ontology, text: str) -> tuple[Mention, ...]:
    """Return the findings in a text.

    A finding that occurs several times is returned once. A denial overrides presence, presence overrides a
    past or requested finding, and a certain occurrence overrides uncertain occurrences. The languages are
    English, German, Spanish, French, Italian, Portuguese and Dutch. In Chinese, denial and doubt before a
    finding are recognised, but not the past. Statements of devices (GE 12SL, Philips DXL, Veritas) are
    supported.

    Args:
        onto: the cardiac concept graph, or an extension of it. For other graphs, the result is ().
        text: a label, a statement or a complete report.

    Example:
        >>> import ecg_ontology
        >>> from ecg_ontology.statements.reading import read_text
        >>> mentions = read_text(ecg_ontology.load(), "AF, no LBBB")
        >>> [(mention.concept.abbr, mention.present) for mention in mentions]
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
    leaves = any(
        mention.concept and not mention.concept.root and mention.present for mention in by_concept.values()
    )
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
    """Return whether a text contains a word of denial, such as "no", in any language of the lexicon."""
    words = lexicon()
    return any(item.cues & _DENYING for item in words.items(words.tokens(plain(text))))


def has_rules(onto: Ontology) -> bool:
    """Return whether the language rules know concepts of this ontology."""
    return bool(_by_name(onto))


def _is_wider(onto: Ontology, mention: Mention, by_concept: dict[object, Mention]) -> bool:
    """Return whether a mentioned family is redundant because the text also has a finding of the family."""
    assert mention.concept is not None
    return any(
        other.concept is not None
        and not other.concept.root
        and other.present
        and onto.families[other.concept.index] == mention.concept.index
        for other in by_concept.values()
    )


class _Passage(NamedTuple):
    """Finding in a text, in any ontology.

    `chain` has the alternative names of the finding. `otherwise` is true if "otherwise" qualifies it. Other
    fields of its `Mention` are in `stated`.
    """

    chain: tuple[str, ...]
    otherwise: bool
    stated: dict[str, Any]


def _mentions(onto: Ontology, text: str) -> Iterator[Mention]:
    for chain, otherwise, stated in _passages(text):
        name, concept = resolved(onto, chain)
        if not (name == "Normal" and otherwise):
            yield Mention(concept=concept, finding=name, **stated)


@lru_cache(maxsize=1 << 10)  # cached, because tables repeat labels, and several checks read the same label
def _passages(text: str) -> tuple[_Passage, ...]:
    words = lexicon()
    tokens = words.tokens(text)
    small = text == text.lower() and len(tokens) <= _SHORT_TOKENS
    items = list(words.items(tokens, small=small))
    passages = []
    for sentence in _sentences(items):
        regions = regions_of(sentence)
        scopes = CueScopes(sentence, regions)
        for region in regions:
            for finding in region.findings:
                places = [sentence[place] for place in sorted(finding.places)]
                first, last = tokens[places[0].first], tokens[places[-1].last]
                if finding.ratio and scopes.conducts():
                    continue
                denied, past, certainty = scopes.of(finding)
                stated = {
                    "text": text[first.start : last.end],
                    "certainty": certainty,
                    "denied": denied,
                    "historical": past,
                    "incomplete": finding.incomplete,
                    "acuity": finding.acuity,
                    "start": first.start,
                }
                otherwise = scopes.otherwise(finding)
                passages += [_Passage(chain, otherwise, stated) for chain in finding.concepts]
    return tuple(passages)


_SHORT_TOKENS = 8
"""Maximum number of tokens in a lower-case text that may contain lower-case abbreviations."""


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
    """Return the first name in `chain` that has a concept in this ontology, and the concept.

    If no name has a concept, the concept is `None`. The name is then the last in `chain` if it is an unrouted
    code of the ontology, and the first in `chain` otherwise.
    """
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
