"""Enumeration: the frozen content is unchanged, or the version is higher."""

import re
from collections.abc import Iterator

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.graph.drafts import SEMVER, Draft, Lock
from ecg_ontology.graph.enumeration import (
    draft_lines,
    enumeration_difference,
    frozen_routes,
    routing_sha256,
    sha256_of,
    yielding,
)

LOCKED: Chapter[Draft] = Chapter("Lock")
"""Rules that detect an exchanged lock or table. No ontology is built if they are broken."""
FROZEN = "CCG-E206"
NO_LOCK = "CCG-E208"
OTHER_VERSION = "CCG-E210"


@LOCKED.rule(
    "CCG-E201",
    "The lock file is unchanged",
    why="Existing checkpoints were trained on the graph in the lock.",
    fix="Restore enumeration.lock from version control",
)
def _edited_lock(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    if lock is None:
        return
    if sha256_of(lock.lines) != lock.sha256:
        yield Breach("enumeration.lock", "its sha256 is not that of its lines", lock.place)
    elif lock.routing and routing_sha256(lock.yields, lock.routes) != lock.routing:
        yield Breach("enumeration.lock", "its hash of the routing is not that of its lines", lock.place)


@LOCKED.rule(
    OTHER_VERSION,
    "Every table has the ontology's version",
    why="A different version comes from an unfinished build or a removed lock.",
    fix="Run ecgonto build; restore a lost lock from version control",
)
def _other_version(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    rising = lock is not None and version_of(draft.header.version) > version_of(lock.version)
    for name, head in draft.tables.items():
        if rising and lock is not None and head.version == lock.version:
            continue  # the version was raised by hand; the next build updates the table
        if head.version and head.version != draft.header.version:
            message = f"{name} is of the version {head.version}, and the graph of {draft.header.version}"
            yield Breach(name, message, name)
        elif head.version and draft.lock is None:
            yield Breach(name, f"{name} was built for {head.version}, whose lock is gone", name)


ENUMERATION: Chapter[Draft] = Chapter("Enumeration", LOCKED)


@ENUMERATION.rule(
    "CCG-E202",
    "A frozen index keeps its concept within a major version",
    why="Otherwise c* changes, and prototypes belong to the wrong concepts.",
    fix="Append new concepts at the end; for an intended change, raise the major version and rebuild",
)
def _moved_index(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    if lock is None or _rose(draft, lock, 1):
        return
    now = set(draft_lines(draft))
    holders = {concept.index: concept for concept in draft.concepts}
    for line in lock.lines:
        if line.startswith("node\t") and line not in now:
            _, index, tier, abbr, iri = line.split("\t")
            holder = holders.get(int(index))
            holds = f"{holder.tier} {holder.abbr} {holder.iri}" if holder is not None else "nothing"
            place = holder.place if holder is not None else lock.place
            yield Breach(abbr, f"index {index} is frozen to {tier} {abbr} {iri} and now holds {holds}", place)


@ENUMERATION.rule(
    "CCG-E203",
    "The graph equals the frozen graph, or the version is higher",
    why="Edges change D, Â and c*, so models of one version would differ.",
    fix="Undo the change, or raise the version in the header and run ecgonto build",
)
def _changed_graph(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    if lock is None or _rose(draft, lock, 2):
        return
    for change in enumeration_difference(_without_moved(lock, draft), draft_lines(draft)):
        sign, kind, *rest = change.split(" ", maxsplit=2)
        what = "is gone" if sign == "-" else "is new"
        yield Breach(
            f"{kind} {rest[0]}", f"{kind} {rest[0]} {what} at version {draft.header.version}", lock.place
        )
    for index in sorted(set(lock.yields) ^ set(yielding(draft))):
        what = "no longer yields" if index in lock.yields else "yields"
        yield Breach(f"index {index}", f"index {index} {what} at version {draft.header.version}", lock.place)


@ENUMERATION.rule(
    "CCG-W204",
    "From version 1.0.0 on, a lock freezes the graph",
    why="Without a lock, a moved index isn't noticed.",
    fix="Keep the graph in a folder, and run ecgonto build",
)
def _no_lock(draft: Draft) -> Iterator[Breach]:
    if not draft.mappings:
        yield from _unlocked(draft)


@ENUMERATION.rule(
    NO_LOCK,
    "From version 1.0.0 on, a lock freezes graph and routing",
    why="Without a lock, a moved index or a changed route isn't noticed.",
    fix="Restore enumeration.lock from version control; for a first version run ecgonto build --new-version",
)
def _lost_lock(draft: Draft) -> Iterator[Breach]:
    if draft.mappings:
        yield from _unlocked(draft)


def _unlocked(draft: Draft) -> Iterator[Breach]:
    version = draft.header.version
    if draft.lock is None and version_of(version)[0][0] > 0:
        yield Breach("enumeration.lock", f"nothing freezes the enumeration of version {version}")


@ENUMERATION.rule(
    "CCG-E205",
    "A version is major.minor.patch",
    why="The version decides which changes are allowed, so versions must be comparable.",
    fix="Write three numbers, such as 1.2.0",
)
def _no_version(draft: Draft) -> Iterator[Breach]:
    stated = [("the ontology", draft.header.version, "")]
    if draft.lock is not None:
        stated.append(("enumeration.lock", draft.lock.version, draft.lock.place))
    for subject, version, place in stated:
        if not re.fullmatch(SEMVER, version):
            yield Breach(subject, f"{subject} has the version {version!r}", place)


@ENUMERATION.rule(
    FROZEN,
    "The routing of a code equals the frozen routing, or the version is higher",
    why="A changed route changes supervision, and models are identified by the version.",
    fix="Undo the change; if it is intended, run ecgonto build --new-version with a higher minor version",
)
def _thawed(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    if lock is None or not lock.routing or _rose(draft, lock, 2):
        return
    before, now = lock.routes, frozen_routes(draft)
    if routing_sha256(lock.yields, now) == lock.routing:
        return
    for line in sorted(set(before) ^ set(now), key=lambda line: (line, line in now)):
        _, table, code, *rest = line.split("\t")
        what = "is new" if line in now else "is gone"
        yield Breach(code, f"{table}: {' '.join((code, *rest))} {what}", lock.place)


@ENUMERATION.rule(
    "CCG-E207",
    "The version never falls below the lock's",
    why="A lower version would disable the lock.",
    fix="Write the lock's version or a higher one into the ontology's header",
)
def _lower_version(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    if lock is not None and version_of(draft.header.version) < version_of(lock.version):
        message = f"the version {draft.header.version} is below {lock.version}, which is frozen"
        yield Breach("the ontology", message, lock.place)


def _without_moved(lock: Lock, draft: Draft) -> list[str]:
    """Return the lock's lines without the nodes that E202 reports, so that no change is reported twice."""
    now = set(draft_lines(draft))
    return [line for line in lock.lines if line in now or line.startswith("edge\t")]


def version_of(text: str) -> tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]:
    """Return the sort key of a version: numbers, whether it is final, and the parts of the pre-release.

    As in semver.org, 11: 1.1.0-rc1 precedes 1.1.0, and the text after "+" is ignored.
    """
    plain, _, before_release = text.partition("+")[0].partition("-")
    numbers = tuple(int(part) if part.isascii() and part.isdigit() else 0 for part in plain.split("."))
    parts = [
        (not part.isdigit(), int(part) if part.isdigit() else 0, part)
        for part in before_release.split(".")
        if part
    ]
    return numbers, not before_release, tuple(parts)


def _rose(draft: Draft, lock: Lock, parts: int) -> bool:
    """Return whether the version is higher than the lock's version in its first `parts` numbers.

    A pre-release isn't final. Until its release, everything may change that the version itself may change.
    """
    (new, *_), (old, final, _) = version_of(draft.header.version), version_of(lock.version)
    higher = version_of(draft.header.version) > version_of(lock.version)
    return new[:parts] > old[:parts] or (higher and not final and not any(old[parts:]))
