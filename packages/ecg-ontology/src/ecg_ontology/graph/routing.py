"""Route diagnostic codes to nodes of the graph.

The route of a code is π in the paper (section "SNOMED-CT Code Mapping").

This module imports no NumPy and no networkx, so that a command that routes a code starts fast.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import get_args

from ecg_base import UsageError, refuse_unknown
from ecg_ontology.graph.concepts import Concept, Profile, Regime, Route, Status, Tier
from ecg_ontology.graph.drafts import BASE_TABLE, RoutingRow

PAPER: Profile = "paper"
CURATED: Profile = "curated"
PROFILES: tuple[str, ...] = get_args(Profile)

SNOMED_PREFIXES = {"snomedct", "sctid", "snomed", "sct"}
SNOMED_IRIS = ("http://snomed.info/id/", "http://snomed.info/sct/", "https://snomed.info/id/")
BUILT_IN = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "semapv": "https://w3id.org/semapv/vocab/",
    "sssom": "https://w3id.org/sssom/",
}
"""Prefixes that an SSSOM table may use without declaring them."""
_LONGEST_BITS = 128
"""Maximum size of a numeric code in bits."""
_SCTID = re.compile(r"[1-9][0-9]{5,17}")
_CONCEPTS = ("00", "10")
"""Digits before the check digit in the identifiers of concepts. Identifiers of descriptions have 01 or 11."""
_CURIE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:\S+")

_UNDOTTED = re.compile(r"((?:icd[\w-]*:)?(?:[A-Z]\d[0-9A-Z]|\d{3}))([0-9A-Z]{1,4})", re.IGNORECASE)

# Verhoeff's scheme: the dihedral group D5, and the permutation that is applied once per position.
_D5 = tuple(
    tuple((a + b) % 5 + 5 * (b > 4) if a < 5 else (a - b) % 5 + 5 * (b < 5) for b in range(10))
    for a in range(10)
)
_TURN = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def has_check_digit(digits: str) -> bool:
    """Return whether the last digit is the Verhoeff check digit (SNOMED CT, "Check-digit")."""
    check = 0
    for position, digit in enumerate(reversed(digits)):
        turned = int(digit)
        for _ in range(position % 8):
            turned = _TURN[turned]
        check = _D5[check][turned]
    return check == 0


def malformation(code: str) -> str:
    """Return why a code is malformed, or "".

    A code is a SNOMED CT identifier (6 to 18 digits ending in a check digit) or ``vocabulary:code``.

    Example:
        >>> malformation("STE")
        'neither a SNOMED CT identifier nor of the form vocabulary:code'
    """
    if not code:
        return "empty"
    if _CURIE.fullmatch(code):
        return ""
    if not _SCTID.fullmatch(code):
        return "neither a SNOMED CT identifier nor of the form vocabulary:code"
    if not has_check_digit(code):
        return "its check digit is wrong: a digit is mistyped, or two digits are swapped"
    if code[-3:-1] not in _CONCEPTS:
        return "it identifies a description or relationship, not a concept"
    return ""


def canonical_code(code: str) -> str:
    """Return a code as it is in the tables: SNOMED CT without a prefix, others with a lower-case prefix.

    Example:
        >>> canonical_code("snomedct:164889003"), canonical_code("http://snomed.info/id/164889003")
        ('164889003', '164889003')
        >>> canonical_code("ICD10:I48")
        'icd10:I48'
    """
    code = code.strip()
    number = code.removesuffix(".0")  # pandas adds .0 in columns of numbers with gaps
    code = number if number.isdecimal() else code
    iri = next((iri for iri in SNOMED_IRIS if code.startswith(iri)), "") if "/" in code else ""
    prefix, separator, local = code.removeprefix(iri).partition(":")
    if iri or not separator or local.startswith("//"):
        return code.removeprefix(iri)
    return local if prefix.lower() in SNOMED_PREFIXES else f"{prefix.lower()}:{local}"


def dotted(code: str) -> str:
    """Add the point to an ICD code, because many hospitals leave it out.

    Returns "" if the code has a point, needs none (``I48``), or isn't an ICD code.

    Example:
        >>> dotted("icd10:I4891"), dotted("icd9cm:42731"), dotted("I48.91")
        ('icd10:I48.91', 'icd9cm:427.31', '')
    """
    match = _UNDOTTED.fullmatch(code)
    return f"{match[1]}.{match[2]}" if match else ""


def code_text(code: object) -> str:
    """Return a code as text. An integer is a SNOMED CT identifier.

    Raises `UsageError` if the code is neither text nor an integer.
    """
    if isinstance(code, str):
        return code
    if isinstance(code, Integral) and not isinstance(code, bool):
        if (number := int(code)).bit_length() <= _LONGEST_BITS:
            return str(number)
        raise UsageError(
            f"a code must have at most {_LONGEST_BITS} bits, got {number.bit_length()}",
            remedy="Pass it as text",
        )
    raise UsageError(f"a code must be text or an integer, got {code!r}", remedy="Convert the codes to text")


class RoutingTable:
    """Table that routes codes to concepts: the base table with the replacements of a profile.

    The profile ``paper`` replaces the rows of some codes by rows as printed in the paper, and the profile
    ``curated`` by rows as decided by the curators.
    """

    def __init__(
        self,
        mappings: Iterable[RoutingRow],
        nodes: Sequence[Concept],
        profile: Profile,
        crosswalks: Iterable[RoutingRow] = (),
    ) -> None:
        refuse_unknown("routing profile", profile, PROFILES)
        self.profile = profile
        self._by_iri = {node.iri: node for node in nodes}
        tables: dict[str, dict[str, list[RoutingRow]]] = {name: {} for name in (BASE_TABLE, *PROFILES)}
        for row in mappings:
            name = row.table if row.table in PROFILES else BASE_TABLE
            tables[name].setdefault(row.code, []).append(row)
        self._base = tables[BASE_TABLE]
        self._of_profile = tables[profile]
        self._curated = tables["curated"]
        self._crosswalks: dict[str, list[RoutingRow]] = {}
        for row in crosswalks:
            self._crosswalks.setdefault(row.code, []).append(row)
        self._routes: dict[str, Route] = {}

    @property
    def codes(self) -> tuple[str, ...]:
        """All codes in the profile's tables, including unrouted codes, in the order of the tables."""
        return tuple({**self._base, **self._of_profile})

    @property
    def rows(self) -> tuple[RoutingRow, ...]:
        """Rows of the base table with the replacements of the profile, grouped by code."""
        return tuple(row for code in self.codes for row in self._of_profile.get(code) or self._base[code])

    def route(self, code: object) -> Route:
        """Return the route π of a code. The status shows if the code is unknown or malformed."""
        code = canonical_code(code_text(code))
        if code not in self._routes:
            self._routes[code] = self._look_up(code)
        return self._routes[code]

    def _look_up(self, code: str) -> Route:
        rows = self._of_profile.get(code) or self._base.get(code)
        if rows is None:
            pointed = dotted(code) if ":" in code and code not in self._crosswalks else ""
            if any(pointed in table for table in (self._of_profile, self._base, self._crosswalks)):
                return self._look_up(pointed)
            problem = malformation(code)
            if problem:
                return Route(code=code, status=Status.invalid, notes=(f"not a code: {problem}",))
            note = "well formed, but in no routing table. To use it, add a row to routing.sssom.tsv"
            if mapped := self._crosswalks.get(code):
                note = (
                    f"in no routing table. {mapped[0].table} maps it ({mapped[0].label}) to "
                    f"{self._tables(mapped)}, but only for exports. To use it, run ecgonto review --add"
                )
            return Route(code=code, status=Status.unknown, notes=(note, *self._decided(code)))
        label = self._base.get(code, rows)[0].label
        nodes = [self._by_iri[row.node] for row in rows if row.node is not None]
        return Route(
            code=code,
            status=Status.routed if nodes else Status.unrouted,
            nodes=tuple(node.index for node in nodes),
            leaves=tuple(node.index for node in nodes if not node.root),
            label=label,
            notes=self._notes(code, rows),
        )

    def _notes(self, code: str, rows: Sequence[RoutingRow]) -> tuple[str, ...]:
        reasons = tuple(dict.fromkeys(row.reason for row in rows if row.reason))
        official = self._curated.get(code) or self._base.get(code)
        if self.profile != "paper" or code not in self._of_profile or official is None:
            return (*reasons, *self._decided(code))
        return (
            f"routed as the paper prints it, {rows[0].label!r} → {self._tables(rows)}. The official label is "
            f"{official[0].label!r}, and the profile curated routes it to {self._tables(official)}",
            *reasons,
        )

    def _decided(self, code: str) -> tuple[str, ...]:
        """Return a note if the curators route the code in another way than the tables of this profile."""
        rows = self._curated.get(code)
        if rows is None or self.profile == "curated":
            return ()
        target = self._tables(rows) if rows[0].node is not None else "nothing"
        return (f"disputed: the profile curated routes it to {target}, because: {rows[0].reason}",)

    def _tables(self, rows: Sequence[RoutingRow]) -> str:
        return "{" + ", ".join(self._by_iri[row.node].abbr for row in rows if row.node is not None) + "}"


def regime_of(nodes: Iterable[str | None], tiers: Mapping[str, Tier | None]) -> Regime:
    """Return the regime of a code, the type of its routing.

    Args:
        nodes: IRIs of the concepts in the rows of the code. `None` stands for ``sssom:NoTermFound``.
        tiers: tier of each concept, by IRI.
    """
    nodes = list(nodes)
    if None in nodes:
        return Regime.unrouted
    leaves = sum(node is not None and tiers.get(node) is Tier.leaf for node in nodes)
    return (Regime.generic, Regime.single, Regime.localised)[min(leaves, 2)]
