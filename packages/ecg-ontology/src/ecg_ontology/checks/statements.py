"""Rules of the OWL and SKOS statements in `Draft.statements`, such as ``owl:sameAs``.

These statements fit no other field of a draft. They are preserved, and they must not contradict the graph.
"""

from collections import defaultdict
from collections.abc import Iterator

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.checks.structure import resolved
from ecg_ontology.graph.concepts import Kind
from ecg_ontology.graph.drafts import Draft
from ecg_ontology.graph.hierarchy import reachable

STATEMENTS: Chapter[Draft] = Chapter("Statements")
_SAME = ("equivalentClass", "sameAs", "exactMatch")


@STATEMENTS.rule(
    "CCG-E016",
    "Further OWL and SKOS statements agree with the graph",
    why="Otherwise a reasoner may merge two concepts, or find that a family and its leaf exclude each other.",
    fix="Remove the statement, or correct its subject or object",
)
def _contradicting_statement(draft: Draft) -> Iterator[Breach]:
    upwards: dict[str, list[str]] = defaultdict(list)
    for relation in resolved(draft, Kind.family, Kind.subtype_of):
        upwards[relation.subject].append(relation.object)
    for statement in draft.statements:
        subject, target = statement.subject[1:-1], statement.object[1:-1]
        word = statement.predicate.rpartition("#")[2].rpartition("/")[2].rstrip(">")
        if subject == target or not {subject, target} <= draft.by_iri.keys():
            continue
        abbr = draft.abbreviation(subject)
        names = f"{abbr} {word} {draft.abbreviation(target)}"
        place = draft.by_iri[subject].place
        if word in _SAME:
            yield Breach(abbr, f"{names} merges two concepts", place)
        elif word == "disjointWith" and (
            target in reachable([subject], upwards) or subject in reachable([target], upwards)
        ):
            yield Breach(abbr, f"{names} contradicts the graph, in which one is a kind of the other", place)
        elif word == "isReplacedBy" and not draft.by_iri[subject].deprecated:
            yield Breach(abbr, f"{names}, but {abbr} isn't retired (owl:deprecated)", place)
    for concept in draft.concepts:
        members = [edge.subject for edge in resolved(draft, Kind.family) if edge.object == concept.iri]
        living = [iri for iri in members if not draft.by_iri[iri].deprecated]
        if concept.deprecated and living:
            names = ", ".join(map(draft.abbreviation, living))
            message = f"{concept.abbr} is retired, but its findings {names} aren't"
            yield Breach(concept.abbr, message, concept.place)
