"""Rules of texts: names and text variants of concepts."""

import re
from collections import defaultdict
from collections.abc import Iterator

from ecg_ontology.base.text_folding import UNSEEN, fold
from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.graph.drafts import Draft, DraftConcept

VARIANTS_PER_CONCEPT = 3
"""Number of text variants per concept, K_var in the paper (appendix, "Notation values")."""

_CONTROL = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff{UNSEEN}]")

_IN_CELL = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff{UNSEEN}]")
"""Control and invisible characters. Line breaks aren't included, because cells of a table may have them."""

TEXTS: Chapter[Draft] = Chapter("Text variants")


@TEXTS.rule(
    "CCG-E101",
    "Every concept has three text variants",
    why="The alignment with texts (MPCT) reads a fixed number of variants per concept.",
    fix="Write exactly three different values of ccg:textVariant",
)
def _variant_count(draft: Draft) -> Iterator[Breach]:
    for concept in draft.concepts:
        count = sum(bool(text.strip()) for text in concept.variants)
        if count != VARIANTS_PER_CONCEPT or count < len(concept.variants):
            name = draft.abbreviation(concept.iri)
            found = f"{len(concept.variants)}, some of them blank" if count < len(concept.variants) else count
            message = f"{name} must have {VARIANTS_PER_CONCEPT} text variants, got {found}"
            yield Breach(name, message, concept.place)


@TEXTS.rule(
    "CCG-E102",
    "Concepts have different text variants",
    why="If two concepts share a text, the encoder learns to confuse them.",
    fix="Reword a text variant",
)
def _shared_variant(draft: Draft) -> Iterator[Breach]:
    owners: dict[str, list[str]] = defaultdict(list)
    for concept in draft.concepts:
        for text in concept.variants:
            owners[text.casefold().strip()].append(concept.iri)
    places = {concept.iri: concept.place for concept in draft.concepts}
    for text, iris in owners.items():
        if len(iris) > 1:
            names = ", ".join(draft.abbreviation(iri) for iri in iris)
            yield Breach(names, f"{text!r} is a text variant of {names}", places[iris[-1]])


@TEXTS.rule(
    "CCG-E104",
    "A name belongs to one concept",
    why="Codes and concepts are looked up by name, so a name must be unique.",
    fix="Reword the name, or remove it from a concept",
)
def _shared_name(draft: Draft) -> Iterator[Breach]:
    owners: dict[str, dict[str, DraftConcept]] = defaultdict(dict)
    for concept in draft.concepts:
        for text in {fold(text) for text in _texts(concept)} - {""}:
            owners[text][concept.iri] = concept
    for concept in draft.concepts:
        for text in {fold(text) for text in concept.variants} & owners.keys():
            owners[text][concept.iri] = concept
    for text, concepts in owners.items():
        if len(concepts) > 1:
            names = ", ".join(map(draft.abbreviation, concepts))
            yield Breach(names, f"{text!r} is a name of {names}", list(concepts.values())[-1].place)


@TEXTS.rule(
    "CCG-E103",
    "Names and texts are plain text",
    why="Control characters garble the output of terminals, and XML files can't contain them.",
    fix="Remove the character",
)
def _control_character(draft: Draft) -> Iterator[Breach]:
    stated = [
        (draft.abbreviation(c.iri), c.place, [*_texts(c), *c.variants], _CONTROL) for c in draft.concepts
    ]
    for row in draft.mappings:
        cells = [row.code, row.label, row.node_label, row.reason, row.source, row.author, row.date]
        stated.append((row.code, row.where, cells, _IN_CELL))
    stated += [(e.id, "errata.ttl", list(e.model_dump().values()), _IN_CELL) for e in draft.errata]
    for name, place, texts, refused in stated:
        for text in texts:
            if character := refused.search(text):
                message = f"{name!r} has the character U+{ord(character[0]):04X} in {text[:200]!r}"
                yield Breach(name, message, place)


def _texts(concept: DraftConcept) -> Iterator[str]:
    yield from (concept.abbr, concept.label)
    yield from (variant.text for variant in (*concept.translations, *concept.synonyms))
