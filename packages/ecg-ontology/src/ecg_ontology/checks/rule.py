"""Define rules. A rule has an id, a severity, and a function that finds breaches in a subject.

The subject is usually a draft, the unchecked content of an ontology's files. For rules about a SNOMED CT
release, the subject is the ontology with the release.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from ecg_ontology.graph.concepts import Finding, Severity

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Breach:
    """Breach of a rule: the concept, code or file concerned, the problem, and its location."""

    subject: str
    message: str
    where: str = ""


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """Rule in the catalogue of checks.

    Attributes:
        id: ``CCG-`` + E, W or I for the severity + three digits. The first digit is the chapter.
        title: sentence that is true if the rule is kept.
        why: consequence of a breach.
        fix: remedy for a breach.
        find: function that yields the breaches in a subject.
    """

    id: str
    title: str
    why: str
    fix: str
    find: Callable[[Subject], Iterator[Breach]]

    @property
    def severity(self) -> Severity:
        """ERROR, WARN or INFO, by the letter of the id."""
        return {"E": Severity.error, "W": Severity.warn, "I": Severity.info}[self.id[4]]

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Yield the breaches in `subject` as findings."""
        for breach in self.find(subject):
            yield Finding(
                id=self.id,
                severity=self.severity,
                subject=breach.subject,
                where=breach.where,
                message=breach.message,
                fix=self.fix,
            )


class Chapter(Generic[Subject]):
    """Group of related rules in the catalogue of checks.

    A chapter can contain other chapters. Their rules come first, and the chapter's own rules follow in the
    order of definition.
    """

    def __init__(self, title: str, *parts: "Chapter[Subject]") -> None:
        self.title = title
        self.rules: list[Rule[Subject]] = [rule for part in parts for rule in part.rules]

    def rule(
        self, rule_id: str, title: str, *, why: str, fix: str
    ) -> Callable[[Callable[[Subject], Iterator[Breach]]], Callable[[Subject], Iterator[Breach]]]:
        """Add a `Rule` with these attributes to the chapter. The decorated function yields its breaches."""

        def enter(find: Callable[[Subject], Iterator[Breach]]) -> Callable[[Subject], Iterator[Breach]]:
            self.rules.append(Rule(rule_id, title, why, fix, find))
            return find

        return enter

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Yield the findings of all rules in the chapter."""
        for rule in self.rules:
            yield from rule.findings(subject)
