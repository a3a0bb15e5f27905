"""Check an ontology by all rules.

A draft is the unchecked content of an ontology's files. Most rules need only the draft. The rules in this
module also compare the labels of codes with the concepts that the codes reach.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ecg_ontology import checks
from ecg_ontology.checks.mappings import breach
from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.curation.label_index import words_of
from ecg_ontology.curation.matching import SURE, ConceptMatch, match_label
from ecg_ontology.graph.concepts import Concept, Finding, Profile, Severity, Status
from ecg_ontology.graph.drafts import Draft, RoutingRow
from ecg_ontology.graph.routing import CURATED, PAPER
from ecg_ontology.loading import read_draft
from ecg_ontology.ontology import Ontology

AGAINST_OTHERS: Chapter["Compared"] = Chapter("Labels")
"""Rules that need the built ontology and the packaged draft in addition to the draft."""
CONTRADICTED = "CCG-E501"


@dataclass(frozen=True)
class Compared:
    """Draft that the rules in this module check. Its structure has no errors."""

    draft: Draft

    @cached_property
    def onto(self) -> Ontology:
        """Ontology of the draft, loaded with the profile ``curated``."""
        return Ontology(self.draft, "curated", checked=True)

    @cached_property
    def packaged(self) -> Draft:
        """Draft of the packaged ontology, to recognise rows that the checked draft changes."""
        return read_draft(None)


@AGAINST_OTHERS.rule(
    CONTRADICTED,
    "A code reaches the concept that its label names",
    why="If the label names another concept, an incomplete form of the concept, or an absent or past "
    "finding, records would get wrong training targets.",
    fix="Correct the concept or the label, or add --override REASON",
)
def _contradicted_row(compared: Compared) -> Iterator[Breach]:
    for (table, code), of_code in _judged_rows(compared).items():
        if any(row.override for row in of_code):
            continue
        reached = [compared.draft.abbreviation(row.node or "") for row in of_code]
        clash = contradiction(compared.onto, of_code[0].label, reached, code)
        decided = "" if table == CURATED else _other_decision(compared, code, reached)
        if problem := f"its label {clash}" if clash else decided:
            yield breach(of_code[0], f"({of_code[0].label}) is routed to {', '.join(reached)}, but {problem}")


def _judged_rows(compared: Compared) -> dict[tuple[str, str], list[RoutingRow]]:
    """Return the routing rows whose labels are compared with concepts, by table and code.

    The paper's rows are excluded. Rows of the packaged ontology that the curators replaced are also excluded,
    because the curators have already decided on their codes.
    """
    decided = {row.code for row in compared.draft.mappings if row.table == CURATED}
    rows: dict[tuple[str, str], list[RoutingRow]] = {}
    for row in compared.draft.mappings:
        if row.node is not None and row.table != PAPER:
            rows.setdefault((row.table, row.code), []).append(row)
    packaged, now = _reached(compared.packaged), _reached(compared.draft)
    return {
        key: of_code
        for key, of_code in rows.items()
        if key[0] == CURATED or key[1] not in decided or now[key] != packaged.get(key, set())
    }


def _reached(draft: Draft) -> dict[tuple[str, str], set[str]]:
    """Return the abbreviations of the concepts that each code reaches, by table and code."""
    reached: dict[tuple[str, str], set[str]] = {}
    for row in draft.mappings:
        reached.setdefault((row.table, row.code), set()).add(draft.abbreviation(row.node or ""))
    return reached


def _other_decision(compared: Compared, code: str, reached: list[str]) -> str:
    """Return how the curators route a code if another table routes it to a leaf that the curators don't use.

    Otherwise, return "".
    """
    decided = compared.onto.route(code)
    if decided.status is Status.unknown:
        return ""
    leaves = {name for name in reached if not compared.onto.node(name).root}
    names = [compared.onto.nodes[index].abbr for index in decided.nodes]
    return "" if leaves <= set(names) else f"the curators route it to {', '.join(names) or 'nothing'}"


def contradiction(onto: Ontology, label: str, reached: list[str], code: str = "") -> str:
    """Return how a label contradicts the concepts of its code, or "" if it doesn't.

    The label is compared with all labels in the ontology except the labels of the code itself. A label
    without a known finding contradicts nothing. If the code reaches only a family, a label contradicts it
    only if all findings in the label are absent, past or requested.

    Args:
        onto: ontology with the names and labels to compare with.
        label: label of the code.
        reached: abbreviations of the concepts that the code reaches.
        code: code of the label. The labels in its own rows are not compared.

    Example:
        >>> import ecg_ontology
        >>> contradiction(ecg_ontology.load(), "atrial flutter", ["AF", "Rhythm"])
        'names AFL (Atrial flutter)'
    """
    nodes = [onto.node(abbr) for abbr in reached]
    leaves = {node.index for node in nodes if not node.root}
    matches = [match for match in match_label(onto, label, 5, without=code) if match.score >= SURE]
    present = [match for match in matches if match.present]
    if matches and nodes and not present:
        return f"doesn't state a present finding ({matches[0].note or matches[0].matched})"
    words = words_of(label)
    best = [
        match
        for match in present
        if leaves and (match.score == present[0].score or match.note == present[0].note != "")
    ]
    if not best or any(_agrees(onto, match, leaves, words) for match in best):
        return ""
    first = best[0]
    if first.concept is None:
        return f"names a finding without a concept ({first.matched})"
    incomplete = ", incomplete" if first.mention.incomplete else ""
    if first.concept.root and not incomplete and not words <= words_of(first.matched):
        return ""  # a family in a longer label doesn't contradict the findings of the family
    only = "only the family " if first.concept.root else ""
    return f"names {only}{first.concept.abbr} ({first.matched}{incomplete})"


def _agrees(onto: Ontology, match: ConceptMatch, leaves: set[int], words: frozenset[str]) -> bool:
    """Return whether a concept that was found in a code's label agrees with the leaves that the code reaches.

    It agrees if the concept, or a more general concept, is a leaf of the code. It also agrees if the words of
    the label that didn't match the concept name a leaf of the code.
    """
    if match.concept is None:
        return False
    wider = {concept.index for concept in onto.ancestors(match.concept.index)}
    if not match.concept.root and leaves & {match.concept.index, *wider}:
        return True
    remaining = words - words_of(match.matched)
    return not match.mention.incomplete and any(
        remaining & name <= name <= words and bool(remaining & name)
        for leaf in leaves
        for name in _word_sets(onto.nodes[leaf])
    )


def _word_sets(node: Concept) -> list[frozenset[str]]:
    further = (name.text for name in (*node.translations, *node.synonyms))
    return [words_of(text) for text in (node.label, *further)]


def findings(draft: Draft, profile: Profile = "paper") -> tuple[Finding, ...]:
    """Return the breaches of all rules: the rules of `checks.findings`, and the rules in this module.

    The rules in this module are skipped if no ontology can be built from the draft. Raises `UsageError` if
    the profile is neither ``paper`` nor ``curated``.
    """
    of_draft = checks.findings(draft, profile)
    if any(finding.severity is Severity.error and finding.id in checks.BUILDABLE for finding in of_draft):
        return of_draft
    return (*of_draft, *AGAINST_OTHERS.findings(Compared(draft)))


def validate(source: str | Path | None = None, profile: Profile = "paper") -> tuple[Finding, ...]:
    """Check an ontology by all rules, even if it is too faulty to be loaded, and return the breaches.

    Args:
        source: see `ecg_ontology.load`.
        profile: see `ecg_ontology.load`. ``paper`` also reports each code that the paper assigns to other
            concepts than the curators.

    Example:
        >>> import ecg_ontology
        >>> ecg_ontology.validate()[0]
        Finding(id='CCG-W310', severity=<Severity.warn: 'WARN'>, subject='164931005', ...)
        >>> ecg_ontology.validate(profile="curated")
        ()
    """
    return findings(read_draft(source), profile)
