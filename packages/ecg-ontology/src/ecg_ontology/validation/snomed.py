"""Check of the routing against the user's SNOMED CT release (chapter 4 of the catalogue of rules)."""

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
    """Subject of the rules in this chapter: an ontology, and the content of a release about its codes."""

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
    why="Hospitals stop sending inactive codes, so the leaf loses support.",
    fix="Also route the replacing code; keep this code for old records",
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
    why="A label without a word in common with the code's terms probably belongs to another code.",
    fix="Compare the label with the release, and review the route",
)
def _foreign_label(reviewed: Reviewed) -> Iterator[Breach]:
    overridden = {row.code for row in reviewed.onto.rows if row.override}
    for route in reviewed.active_routes():
        words = _words(route.label)
        terms = reviewed.release.terms.get(route.code, set())
        ours = _said(reviewed.onto, route.label, route.code)
        theirs = {_said(reviewed.onto, term, route.code) for term in terms} - {""}
        reached = {reviewed.onto.nodes[leaf].abbr for leaf in route.leaves}
        if route.code in overridden and theirs & reached:
            continue  # the row already explains why its label differs from the release
        if words and not any(words & _words(term) for term in terms):
            said = "no term of the release says so"
        elif ours and theirs and ours not in theirs:
            said = f"it says {ours}, and the release {', '.join(sorted(theirs))}"
        else:
            continue
        yield Breach(route.code, f"{route.code} is labelled {route.label!r}; {said}")


@SNOMED.rule(
    "CCG-E405",
    "A code reaches the concept that the release names",
    why="Otherwise records of other hospitals are supervised wrongly.",
    fix="Route the code to that concept; put doubtful cases into the table curated, with a reason",
)
def _named_otherwise(reviewed: Reviewed) -> Iterator[Breach]:
    for route in reviewed.active_routes():
        names = [reviewed.onto.nodes[index].abbr for index in route.nodes]
        terms = sorted(map(_plain, reviewed.release.terms.get(route.code, ())))
        speaking = [term for term in terms if _said(reviewed.onto, term, route.code)]
        says = [contradiction(reviewed.onto, term, names, route.code) for term in speaking]
        if says and all(says):
            reached = f"{route.code} ({route.label}) reaches {', '.join(names)}"
            yield Breach(route.code, f"{reached}; {speaking[0]!r} of the release {says[0]}")


@SNOMED.rule(
    "CCG-W404",
    "A subtype of a leaf's code reaches that leaf",
    why="Otherwise records with the subtype miss the leaf.",
    fix="Also route the code to that leaf or to one of its subtypes",
)
def _lies_elsewhere(reviewed: Reviewed) -> Iterator[Breach]:
    concepts = {route.code: route.leaves[0] for route in reviewed.routes if len(route.leaves) == 1}
    for route in reviewed.active_routes():
        above = (concept.index for leaf in route.leaves for concept in reviewed.onto.ancestors(leaf))
        reached = {*route.leaves, *above}
        for code in sorted(reviewed.release.ancestors(route.code) & concepts.keys()):
            if concepts[code] not in reached:
                leaf = reviewed.onto.nodes[concepts[code]].abbr
                message = f"{route.code} ({route.label}) lies under {code}, which is routed to {leaf}"
                yield Breach(route.code, message)


def _plain(term: str) -> str:
    """Return a term without its semantic tag and without the prefix of ECG findings."""
    return re.sub(r"(?i)^electrocardiogram:? |^ecg:? | ?\([^)]*\)$", "", term)


def _said(onto: Ontology, text: str, code: str) -> str:
    """Return the abbreviation of the concept that a text names, or "" if the match isn't certain."""
    match = next(iter(match_label(onto, _plain(text), 1, without=code)), None)
    return match.concept.abbr if match and match.concept and match.present and match.score >= SURE else ""


def _words(text: str) -> set[str]:
    """Return the words in lower case, without differences of British spelling and plural."""
    plain = re.sub(r"\([^)]*\)$", "", text.casefold()).replace("ae", "e").replace("oe", "e")
    words = re.findall(r"[a-z0-9]+", plain)
    return {word.removesuffix("s") for word in words} - _STOP_WORDS


def review_release(onto: Ontology, path: str | Path) -> tuple[Finding, ...]:
    """Check the routing of `onto`, in its profile, against the Snapshot of an RF2 zip or folder.

    SNOMED CT needs a licence of your own. Raises `InputError` if the path isn't a release.
    """
    codes = [code for code in onto.codes if code.isdecimal()]
    return tuple(SNOMED.findings(Reviewed(onto, read_release(path, codes))))
