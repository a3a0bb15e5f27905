"""Check the routing against a SNOMED CT release of the user (rules CCG-E401 to CCG-E405)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.curation.findings import contradiction
from ecg_ontology.curation.matching import SURE, match_label
from ecg_ontology.graph.concepts import Finding, Route
from ecg_ontology.ontology import Ontology
from ecg_ontology.validation.release import Release, read_release

_STOP_WORDS = frozenset(
    re.findall(r"\w+", "a an and by ecg electrocardiogram electrocardiographic for in of on or the to with")
)


@dataclass(frozen=True)
class Reviewed:
    """Input of the rules in this module: an ontology, and the content of a release about its codes."""

    onto: Ontology
    release: Release

    @property
    def routes(self) -> list[Route]:
        """Routes of the SNOMED CT codes that reach a node."""
        return [
            route for route in map(self.onto.route, self.onto.codes) if route.nodes and route.code.isdecimal()
        ]

    def active_routes(self) -> Iterator[Route]:
        """Return the routes of the codes that are active in the release."""
        return (route for route in self.routes if self.release.active.get(route.code))


SNOMED: Chapter[Reviewed] = Chapter("SNOMED CT release")


@SNOMED.rule(
    "CCG-E401",
    "Every routed code exists",
    why="A code that isn't in the release is probably mistyped.",
    fix="Look up the code, and correct or remove its row",
)
def _missing_concept(reviewed: Reviewed) -> Iterator[Breach]:
    for route in reviewed.routes:
        if route.code not in reviewed.release.active:
            yield Breach(route.code, f"{route.code} ({route.label}) is not in the release")


@SNOMED.rule(
    "CCG-W402",
    "Every routed code is active",
    why="Hospitals stop using inactive codes, so the leaf gets fewer records.",
    fix="Also route the replacing code. Keep this code for old records",
)
def _inactive_concept(reviewed: Reviewed) -> Iterator[Breach]:
    for route in reviewed.routes:
        if reviewed.release.active.get(route.code) is False:
            replacements = "; ".join(sorted(reviewed.release.replacements.get(route.code, ())))
            successors = f": {replacements}" if replacements else ""
            yield Breach(route.code, f"{route.code} ({route.label}) is inactive in the release{successors}")


@SNOMED.rule(
    "CCG-W403",
    "Labels agree with the release",
    why="If a label has no word in common with the terms of its code, it probably belongs to another code.",
    fix="Compare the label with the release, and review the route",
)
def _foreign_label(reviewed: Reviewed) -> Iterator[Breach]:
    overridden = {row.code for row in reviewed.onto.rows if row.override}
    for route in reviewed.active_routes():
        words = _words(route.label)
        terms = reviewed.release.terms.get(route.code, set())
        by_label = _named(reviewed.onto, route.label, route.code)
        by_release = {_named(reviewed.onto, term, route.code) for term in terms} - {""}
        reached = {reviewed.onto.nodes[leaf].abbr for leaf in route.leaves}
        if route.code in overridden and by_release & reached:
            continue  # the row already explains why its label differs from the release
        if words and not any(words & _words(term) for term in terms):
            problem = "shares no word with the terms in the release"
        elif by_label and by_release and by_label not in by_release:
            problem = f"names {by_label}, but the release names {', '.join(sorted(by_release))}"
        else:
            continue
        yield Breach(route.code, f"the label {route.label!r} of {route.code} {problem}")


@SNOMED.rule(
    "CCG-E405",
    "A code reaches the concept that the release names",
    why="Otherwise, records of other hospitals get wrong training targets.",
    fix="Route the code to this concept. Add disputed codes to the table curated, with a reason",
)
def _named_otherwise(reviewed: Reviewed) -> Iterator[Breach]:
    for route in reviewed.active_routes():
        names = [reviewed.onto.nodes[index].abbr for index in route.nodes]
        terms = sorted(map(_plain, reviewed.release.terms.get(route.code, ())))
        naming = [term for term in terms if _named(reviewed.onto, term, route.code)]
        contradictions = [contradiction(reviewed.onto, term, names, route.code) for term in naming]
        if contradictions and all(contradictions):
            reached = f"{route.code} ({route.label}) reaches {', '.join(names)}"
            message = f"{reached}, but the term {naming[0]!r} in the release {contradictions[0]}"
            yield Breach(route.code, message)


@SNOMED.rule(
    "CCG-W404",
    "A subtype of a leaf's code reaches that leaf",
    why="Otherwise, records with the subtype don't count for the leaf.",
    fix="Also route the code to the leaf or to a subtype of the leaf",
)
def _lies_elsewhere(reviewed: Reviewed) -> Iterator[Breach]:
    concepts = {route.code: route.leaves[0] for route in reviewed.routes if len(route.leaves) == 1}
    for route in reviewed.active_routes():
        above = (concept.index for leaf in route.leaves for concept in reviewed.onto.ancestors(leaf))
        reached = {*route.leaves, *above}
        for code in sorted(reviewed.release.ancestors(route.code) & concepts.keys()):
            if concepts[code] not in reached:
                leaf = reviewed.onto.nodes[concepts[code]].abbr
                message = f"{route.code} ({route.label}) is a subtype of {code}, which is routed to {leaf}"
                yield Breach(route.code, message)


def _plain(term: str) -> str:
    """Remove "ECG:" before a SNOMED CT term and its semantic tag, such as "(finding)", after the term."""
    return re.sub(r"(?i)^electrocardiogram:? |^ecg:? | ?\([^)]*\)$", "", term)


def _named(onto: Ontology, text: str, code: str) -> str:
    """Return the abbreviation of the concept that a text names, or "" if no concept matches well enough."""
    match = next(iter(match_label(onto, _plain(text), 1, without=code)), None)
    return match.concept.abbr if match and match.concept and match.present and match.score >= SURE else ""


def _words(text: str) -> set[str]:
    """Return the words in lower case, in American spelling and without a plural s."""
    plain = re.sub(r"\([^)]*\)$", "", text.casefold()).replace("ae", "e").replace("oe", "e")
    words = re.findall(r"[a-z0-9]+", plain)
    return {word.removesuffix("s") for word in words} - _STOP_WORDS


def review_release(onto: Ontology, path: str | Path) -> tuple[Finding, ...]:
    """Check the codes that an ontology routes to concepts against a SNOMED CT release.

    The codes must exist in the release, be active, and agree with its terms and hierarchy. The path is an RF2
    zip, or a folder with its Snapshot. You need your own licence for SNOMED CT. Raises `InputError` if the
    path isn't a release.
    """
    codes = [code for code in onto.codes if code.isdecimal()]
    return tuple(SNOMED.findings(Reviewed(onto, read_release(path, codes))))
