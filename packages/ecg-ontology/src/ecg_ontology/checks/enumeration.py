"""Rules of the enumeration, the numbered list of concepts and edges that a checkpoint depends on.

The file ``enumeration.lock`` contains the enumeration of a version (it freezes the enumeration). The frozen
content may change only if the version is raised. The rules check drafts, the unchecked content of files.
"""

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
"""Rules that detect an edited lock or a table of another version. A draft that breaks them can't be built."""
FROZEN = "CCG-E206"
NO_LOCK = "CCG-E208"
OTHER_VERSION = "CCG-E210"


@LOCKED.rule(
    "CCG-E201",
    "The lock file wasn't edited by hand",
    why="Existing checkpoints were trained on the graph in the lock.",
    fix="Restore enumeration.lock from version control",
)
def _edited_lock(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    if lock is None:
        return
    if sha256_of(lock.lines) != lock.sha256:
        yield Breach("enumeration.lock", "its sha256 doesn't match its lines", lock.place)
    elif lock.routing and routing_sha256(lock.yields, lock.routes) != lock.routing:
        yield Breach("enumeration.lock", "its hash of the routing doesn't match its lines", lock.place)


@LOCKED.rule(
    OTHER_VERSION,
    "Every table has the ontology's version",
    why="An unfinished build or a removed lock can leave a table of another version.",
    fix="Run ecgonto build. If the lock was removed, restore it from version control",
)
def _other_version(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    rising = lock is not None and version_of(draft.header.version) > version_of(lock.version)
    for name, head in draft.tables.items():
        if rising and lock is not None and head.version == lock.version:
            continue  # the version was raised by hand, and the next `ecgonto build` writes it to the table
        if head.version and head.version != draft.header.version:
            message = f"{name} must have the version {draft.header.version} of the graph, got {head.version}"
            yield Breach(name, message, name)
        elif head.version and draft.lock is None:
            yield Breach(name, f"the lock of {name}, version {head.version}, is missing", name)


ENUMERATION: Chapter[Draft] = Chapter("Enumeration", LOCKED)


@ENUMERATION.rule(
    "CCG-E202",
    "A frozen index keeps its concept within a major version",
    why="Otherwise the primary concept c* changes, and a model's vectors of concepts (prototypes) are "
    "mixed up.",
    fix="Append new concepts at the end. For an intended change, raise the major version and rebuild",
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
            yield Breach(abbr, f"index {index} must stay {tier} {abbr} {iri}, got {holds}", place)


@ENUMERATION.rule(
    "CCG-E203",
    "The graph equals the frozen graph, or the minor or major version is higher",
    why="Edges change D, Â and c*, so models of the same version would differ.",
    fix="Undo the change. If it is intended, run ecgonto build --new-version with a higher minor version",
)
def _changed_graph(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    if lock is None or _rose(draft, lock, 2):
        return
    for change in enumeration_difference(_without_moved(lock, draft), draft_lines(draft)):
        sign, kind, *rest = change.split(" ", maxsplit=2)
        change_made = "was removed" if sign == "-" else "was added"
        message = f"{kind} {rest[0]} {change_made} without a higher version than {draft.header.version}"
        yield Breach(f"{kind} {rest[0]}", message, lock.place)
    for index in sorted(set(lock.yields) ^ set(yielding(draft))):
        change_made = "no longer yields" if index in lock.yields else "yields"
        message = f"index {index} {change_made} without a higher version than {draft.header.version}"
        yield Breach(f"index {index}", message, lock.place)


@ENUMERATION.rule(
    "CCG-W204",
    "From version 1.0.0 on, a lock freezes a graph without tables",
    why="Without a lock, a moved index isn't noticed.",
    fix="Keep the graph in a folder, and run ecgonto build",
)
def _no_lock(draft: Draft) -> Iterator[Breach]:
    if not draft.mappings:
        yield from _unlocked(draft)


@ENUMERATION.rule(
    NO_LOCK,
    "From version 1.0.0 on, a lock freezes a graph and its tables",
    why="Without a lock, a moved index or a changed route isn't noticed.",
    fix="Restore enumeration.lock from version control. For a first version, run ecgonto build --new-version",
)
def _lost_lock(draft: Draft) -> Iterator[Breach]:
    if draft.mappings:
        yield from _unlocked(draft)


def _unlocked(draft: Draft) -> Iterator[Breach]:
    version = draft.header.version
    if draft.lock is None and version_of(version)[0][0] > 0:
        yield Breach("enumeration.lock", f"the lock of version {version} is missing")


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
            yield Breach(
                subject, f"the version of {subject} must be major.minor.patch, got {version!r}", place
            )


@ENUMERATION.rule(
    FROZEN,
    "The routing of a code equals the frozen routing, or the minor or major version is higher",
    why="A changed route changes the training targets, and the version distinguishes models.",
    fix="Undo the change. If it is intended, run ecgonto build --new-version with a higher minor version",
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
        change_made = "was added" if line in now else "was removed"
        yield Breach(code, f"{table}: {' '.join((code, *rest))} {change_made}", lock.place)


@ENUMERATION.rule(
    "CCG-E207",
    "The version isn't lower than the version of the lock",
    why="A lower version belongs to an earlier graph.",
    fix="Write the version of the lock, or a higher version, into the header of the ontology",
)
def _lower_version(draft: Draft) -> Iterator[Breach]:
    lock = draft.lock
    if lock is not None and version_of(draft.header.version) < version_of(lock.version):
        message = f"the version must be at least {lock.version} as in the lock, got {draft.header.version}"
        yield Breach("the ontology", message, lock.place)


def _without_moved(lock: Lock, draft: Draft) -> list[str]:
    """Return the lines of the lock, except lines of changed nodes, which rule CCG-E202 already reports."""
    now = set(draft_lines(draft))
    return [line for line in lock.lines if line in now or line.startswith("edge\t")]


def version_of(text: str) -> tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]:
    """Return the sort key of a version: numbers, whether the version is final, parts of the pre-release.

    The order follows section 11 of semver.org: 1.1.0-rc1 precedes 1.1.0, and the text after "+" is ignored.
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
    """Return whether the first `parts` numbers of the draft's version are higher than in the lock.

    The lock of a pre-release such as 1.1.0-rc1 isn't final. Until the release of 1.1.0, each later version
    may make the changes that 1.1.0 may make.
    """
    (new, *_), (old, final, _) = version_of(draft.header.version), version_of(lock.version)
    higher = version_of(draft.header.version) > version_of(lock.version)
    return new[:parts] > old[:parts] or (higher and not final and not any(old[parts:]))
