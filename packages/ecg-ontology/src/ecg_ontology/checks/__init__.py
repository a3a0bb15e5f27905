"""Check a draft, the unchecked content of an ontology's files, by the rules of a catalogue.

The catalogue has chapters of related rules. A rule has an id such as CCG-E012, which never gets another
meaning. E, W or I is the severity (error, warning, information). The first digit is the chapter: 0 structure,
1 text variants, 2 enumeration, 3 routing.
"""

from ecg_base import refuse_unknown
from ecg_ontology.base.errors import SourceError
from ecg_ontology.checks.enumeration import ENUMERATION, LOCKED
from ecg_ontology.checks.mappings import DECISIVE
from ecg_ontology.checks.routing import PROFILE_DIFFERENCE, ROUTING
from ecg_ontology.checks.rule import Chapter, Rule
from ecg_ontology.checks.statements import STATEMENTS
from ecg_ontology.checks.structure import STRUCTURE
from ecg_ontology.checks.texts import TEXTS
from ecg_ontology.graph.concepts import Finding, Profile, Severity
from ecg_ontology.graph.drafts import Draft
from ecg_ontology.graph.routing import PROFILES

CHAPTERS: tuple[Chapter[Draft], ...] = (
    Chapter("Structure", STRUCTURE, STATEMENTS),
    TEXTS,
    ENUMERATION,
    ROUTING,
)
RULES: dict[str, Rule[Draft]] = {rule.id: rule for chapter in CHAPTERS for rule in chapter.rules}

BUILDABLE = frozenset(rule.id for chapter in (STRUCTURE, DECISIVE) for rule in chapter.rules)
"""Ids of the rules without which no ontology can be built from a draft. The rules of the lock file aren't
included."""


def findings(draft: Draft, profile: Profile = "paper") -> tuple[Finding, ...]:
    """Return the breaches of all rules in the order of the catalogue.

    The profile ``paper`` also reports each code that the paper assigns to other concepts than the curators.
    The profile ``curated`` doesn't use these assignments. Raises `UsageError` if the profile is unknown.
    """
    refuse_unknown("routing profile", profile, PROFILES)
    rules = (rule for rule in RULES.values() if profile == "paper" or rule.id != PROFILE_DIFFERENCE)
    return tuple(finding for rule in rules for finding in rule.findings(draft))


def refuse_unsound(draft: Draft, where: object) -> None:
    """Raise `SourceError` for the first error that prevents building an ontology from the draft.

    Only the rules of the graph's structure, of the assignment of codes to concepts, and of the lock file are
    checked. `where` is the source in the error if the location of the error is unknown.
    """
    found = (finding for rules in (STRUCTURE, DECISIVE, LOCKED) for finding in rules.findings(draft))
    errors = [finding for finding in found if finding.severity is Severity.error]
    if errors:
        first = errors[0]
        more = f" (and {len(errors) - 1} more: see `ecgonto validate`)" if len(errors) > 1 else ""
        raise SourceError(f"{first.message} [{first.id}]{more}", where=first.where or where, remedy=first.fix)
