"""Texts: what a text encoder reads for each concept."""

import re
from collections import defaultdict
from collections.abc import Iterator

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.drafts import Draft

VARIANTS_PER_CONCEPT = 3
"""K_var of the paper (appendix, "Notation values")."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

TEXTS: Chapter[Draft] = Chapter("Text variants")


@TEXTS.rule(
    "CCG-E101",
    "Every concept has three text variants",
    why="The concept-text head reads a fixed number of variants per node.",
    fix="Write exactly three different ccg:textVariant",
)
def variant_count(draft: Draft) -> Iterator[Breach]:
    """A concept has more or fewer variants than three."""
    for concept in draft.concepts:
        count = sum(bool(text.strip()) for text in concept.variants)
        if count != VARIANTS_PER_CONCEPT or count < len(concept.variants):
            name = draft.abbreviation(concept.iri)
            blank = ", one of them blank" if count < len(concept.variants) else ""
            yield Breach(name, f"{name} has {len(concept.variants)} text variants{blank}", concept.place)


@TEXTS.rule(
    "CCG-E102",
    "No text variant is shared",
    why="A text that stands for two concepts teaches the text head to confuse them.",
    fix="Reword one of them",
)
def shared_variant(draft: Draft) -> Iterator[Breach]:
    """Two concepts have one variant, letter case apart."""
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
    "CCG-E103",
    "Names and texts are plain text",
    why="Control characters move a terminal's cursor, and no XML file can hold them: the OWL export fails.",
    fix="Remove the character",
)
def control_character(draft: Draft) -> Iterator[Breach]:
    """A name or text holds a control character."""
    for concept in draft.concepts:
        names = (each.text for each in (*concept.translations, *concept.synonyms))
        for text in (concept.abbr, concept.label, *concept.variants, *names):
            if found := _CONTROL.search(text):
                name = draft.abbreviation(concept.iri)
                message = f"{name!r} has the character U+{ord(found[0]):04X} in {text!r}"
                yield Breach(name, message, concept.place)
