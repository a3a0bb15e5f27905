"""Structure, concept by concept: indices, tiers and names."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.drafts import Draft, DraftConcept

CONCEPTS: Chapter[Draft] = Chapter("Concepts")


@CONCEPTS.rule(
    "CCG-E001",
    "Every index belongs to one concept",
    why="The index is the column of y and the row of D: two concepts on one index share their supervision.",
    fix="Give the newer concept the next free index at the end",
)
def _duplicate_index(draft: Draft) -> Iterator[Breach]:
    holders: dict[int, list[DraftConcept]] = defaultdict(list)
    for concept in draft.concepts:
        if concept.index is not None:
            holders[concept.index].append(concept)
    for index, concepts in sorted(holders.items()):
        if len(concepts) > 1:
            names = ", ".join(draft.abbreviation(concept.iri) for concept in concepts)
            yield Breach(names, f"index {index} is carried by {names}", concepts[-1].place)


@CONCEPTS.rule(
    "CCG-E002",
    "The indices run from 0 without a gap",
    why="Matrices have no missing rows; a gap means that a concept was lost or renumbered.",
    fix="Restore the missing concept, or retire it in place: an index is never reused",
)
def _index_gap(draft: Draft) -> Iterator[Breach]:
    indices = {concept.index for concept in draft.concepts if concept.index is not None}
    if len(indices) < len(draft.concepts):
        return  # an index that is missing at its concept, or twice, is E003's or E001's business
    ordered = sorted(index for index in indices if index >= 0)
    for before, after in pairwise([-1, *ordered]):
        if after - before > 1:
            name = f"index {before + 1}" if after - before == 2 else f"indices {before + 1} to {after - 1}"
            yield Breach(name, f"no concept carries {name}, but higher indices are taken")
    for index in sorted(index for index in indices if index < 0):
        yield Breach(f"index {index}", f"index {index} is negative")


@CONCEPTS.rule(
    "CCG-E003",
    "Every concept states its tier, index, abbreviation and label",
    why="Without them a concept can't be placed in y, named in a message, or read by a clinician.",
    fix="Add the missing statement",
)
def _incomplete_concept(draft: Draft) -> Iterator[Breach]:
    for concept in draft.concepts:
        missing = [
            name
            for name, value in (
                ("tier (ccg:Root or ccg:Leaf)", concept.tier),
                ("ccg:index", concept.index),
                ("skos:notation", concept.abbr.strip() or None),
                ("skos:prefLabel in English", concept.label.strip() or None),
            )
            if value is None
        ]
        if missing:
            name = draft.abbreviation(concept.iri)
            yield Breach(name, f"{name} has no {', no '.join(missing)}", concept.place)


@CONCEPTS.rule(
    "CCG-E004",
    "Every abbreviation belongs to one concept",
    why="Commands and messages name concepts by abbreviation.",
    fix="Rename one of them",
)
def _shared_abbreviation(draft: Draft) -> Iterator[Breach]:
    first: dict[str, DraftConcept] = {}
    for concept in draft.concepts:
        other = first.setdefault(concept.abbr, concept)
        if concept.abbr and other is not concept:
            message = f"{concept.abbr} names index {other.index} and index {concept.index}"
            yield Breach(concept.abbr, message, concept.place)


@CONCEPTS.rule(
    "CCG-E015",
    "Every statement means one thing",
    why="Of two labels or two indices one would be picked by chance; a misspelt word says nothing.",
    fix="Keep the one that is meant, spelt as the vocabulary spells it",
)
def _misstatement(draft: Draft) -> Iterator[Breach]:
    for each in draft.misstatements:
        name = draft.abbreviation(each.subject)
        yield Breach(name, f"{name} {each.problem}", each.place)
