"""Texts: what a text encoder reads for each concept."""

from collections import defaultdict
from collections.abc import Iterator

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.drafts import Draft

VARIANTS_PER_CONCEPT = 3
"""K_var of the paper (appendix, "Notation values")."""

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
        if len(concept.variants) != VARIANTS_PER_CONCEPT:
            name = draft.abbreviation(concept.iri)
            yield Breach(name, f"{name} has {len(concept.variants)} text variants", concept.place)


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
