"""Sentences of reports: their concepts, each present, denied, doubted or past.

A finding is present, denied, doubted, asked for, in the past or in the family. A cue holds for what its scope
covers: "no" for what follows, up to a comma that no list continues, a "but", or the end of the sentence;
"excluded" for what stands before.
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
"""The rules name concepts of this namespace; a graph of another has none of them."""
_DENYING = frozenset({"denied-before", "denied-after"})
_ENDS = frozenset({".", ";", "\n", "|", "!"})


class Mention(FrozenModel):
    """Concept named in a text, with its certainty, negation and time.

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
        """Whether the text states the finding as present, for sure or not."""
        return not (self.denied or self.historical or self.certainty == "asked")

    @property
    def note(self) -> str:
        """Note on denial, past or doubt; "" for a finding that is present for sure."""
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
    """Whether a text has a word of denial, in a language of the lexicon, whatever it denies."""
    words = lexicon()
    return any(item.cues & _DENYING for item in words.items(words.tokens(plain(text))))


def has_rules(onto: Ontology) -> bool:
    """Whether the language rules know concepts of this ontology."""
    return bool(_by_name(onto))


def _is_wider(onto: Ontology, mention: Mention, by_concept: dict[object, Mention]) -> bool:
    """Whether a family says no more than one of its findings that is named beside it."""
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
    """Return the first concept of a chain in this ontology, and its name."""
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
