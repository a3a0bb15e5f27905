"""Every rule of the catalogue, and the check of a draft against all of them."""

from ecg_ontology.checks.enumeration import ENUMERATION
from ecg_ontology.checks.routing import PROFILE_DIFFERENCE, ROUTING
from ecg_ontology.checks.rule import Chapter, Rule
from ecg_ontology.checks.structure import STRUCTURE
from ecg_ontology.checks.texts import TEXTS
from ecg_ontology.concepts import Finding, Profile
from ecg_ontology.drafts import Draft
from ecg_ontology.errors import refuse_unknown
from ecg_ontology.routing import PROFILES

CHAPTERS: tuple[Chapter[Draft], ...] = (STRUCTURE, TEXTS, ENUMERATION, ROUTING)
RULES: dict[str, Rule[Draft]] = {rule.id: rule for chapter in CHAPTERS for rule in chapter.rules}


def findings(draft: Draft, profile: Profile = "paper") -> tuple[Finding, ...]:
    """Check `draft` against the whole catalogue.

    Args:
        draft: the ontology as stated.
        profile: under ``curated`` the rows printed otherwise by the paper are not used, and not reported.

    Raises:
        UsageError: there is no such profile.

    Returns:
        The findings in the order of the catalogue; () when all is well.
    """
    refuse_unknown("routing profile", profile, PROFILES)
    skipped = {PROFILE_DIFFERENCE} if profile != "paper" else set[str]()
    return tuple(
        finding for rule in RULES.values() if rule.id not in skipped for finding in rule.findings(draft)
    )
