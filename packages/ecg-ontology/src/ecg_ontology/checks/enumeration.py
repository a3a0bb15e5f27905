"""Enumeration: what the lock file froze stays as it is, or the version says that it does not."""

import re
from collections.abc import Iterator

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.drafts import Draft, Lock
from ecg_ontology.enumeration import enumeration_difference, sha256_of
from ecg_ontology.lock import seal_of, yielding
from ecg_ontology.resolve import draft_lines

_SEMVER = r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}([-+][0-9A-Za-z.+-]+)?"

ENUMERATION: Chapter[Draft] = Chapter("Enumeration")


@ENUMERATION.rule(
    "CCG-E201",
    "The lock file is as it was written",
    why="The lock is the only witness of what existing checkpoints were trained on.",
    fix="Restore enumeration.lock from version control",
)
def edited_lock(draft: Draft) -> Iterator[Breach]:
    """A hash of the lock is not that of its lines."""
    lock = draft.lock
    if lock is None:
        return
    if sha256_of(lock.lines) != lock.sha256:
        yield Breach("enumeration.lock", "its sha256 is not that of its lines", lock.place)
    elif lock.seal and seal_of(lock) != lock.seal:
        yield Breach("enumeration.lock", "its seal is not that of its lines", lock.place)


@ENUMERATION.rule(
    "CCG-E202",
    "A frozen index keeps its concept within a major version",
    why="Renumbering, inserting or reusing an index changes c* and pairs prototypes with the wrong concepts.",
    fix="Append new concepts at the end; for a change that is meant, raise the major version and rebuild",
)
def moved_index(draft: Draft) -> Iterator[Breach]:
    """A node line of the lock is gone."""
    lock = draft.lock
    if lock is None or _major(draft.header.version) > _major(lock.version):
        return
    now = set(draft_lines(draft))
    holders = {concept.index: concept for concept in draft.concepts}
    for line in lock.lines:
        if line.startswith("node\t") and line not in now:
            _, index, tier, abbr, iri = line.split("\t")
            holder = holders.get(int(index))
            found = f"{holder.tier} {holder.abbr} {holder.iri}" if holder is not None else "nothing"
            place = holder.place if holder is not None else lock.place
            yield Breach(abbr, f"index {index} is frozen to {tier} {abbr} {iri} and now holds {found}", place)


@ENUMERATION.rule(
    "CCG-E203",
    "The graph is the frozen one, or the version is higher",
    why="Edges move D and Â, and what yields moves c*: a model of the same version would mean another thing.",
    fix="Undo the change, or raise the version in the header and run ecgonto build",
)
def changed_graph(draft: Draft) -> Iterator[Breach]:
    """Edges or appended nodes differ from the lock at the same version."""
    lock = draft.lock
    if lock is None or _version(draft.header.version) > _version(lock.version):
        return
    for change in enumeration_difference(_without_moved(lock, draft), draft_lines(draft)):
        sign, kind, *rest = change.split(" ", maxsplit=2)
        what = "is gone" if sign == "-" else "is new"
        yield Breach(
            f"{kind} {rest[0]}", f"{kind} {rest[0]} {what} at version {draft.header.version}", lock.place
        )
    for index in sorted(set(lock.yields) ^ set(yielding(draft))) if lock.seal else ():
        what = "no longer yields" if index in lock.yields else "yields"
        yield Breach(f"index {index}", f"index {index} {what} at version {draft.header.version}", lock.place)


@ENUMERATION.rule(
    "CCG-W204",
    "From version 1.0.0 on a sealed lock freezes the enumeration",
    why="Without it nothing notices that an index moved, or that the lock's version was changed by hand.",
    fix="Restore enumeration.lock from version control, or run ecgonto build",
)
def no_lock(draft: Draft) -> Iterator[Breach]:
    """There is no lock, or an old one without a seal."""
    version = draft.header.version
    if draft.lock is None and _major(version) > 0:
        yield Breach("enumeration.lock", f"nothing freezes the enumeration of version {version}")
    elif draft.lock is not None and not draft.lock.seal:
        yield Breach("enumeration.lock", "has no seal over its version", draft.lock.place)


@ENUMERATION.rule(
    "CCG-E205",
    "A version is major.minor.patch",
    why="What a change may do follows from the version: one that can't be compared switches the lock off.",
    fix="Write three numbers, such as 1.2.0",
)
def no_version(draft: Draft) -> Iterator[Breach]:
    """The version of the header or of the lock is none."""
    stated = [("the ontology", draft.header.version, "")]
    if draft.lock is not None:
        stated.append(("enumeration.lock", draft.lock.version, draft.lock.place))
    for subject, version, place in stated:
        if not re.fullmatch(_SEMVER, version):
            yield Breach(subject, f"{subject} has the version {version!r}", place)


@ENUMERATION.rule(
    "CCG-E206",
    "The official map is there whole, or the version is higher",
    why="Without challenge.tsv no label is checked, and no code is missed.",
    fix="Restore challenge.tsv from version control; for a new map raise the version and run ecgonto build",
)
def lost_official_map(draft: Draft) -> Iterator[Breach]:
    """The official map has other than its frozen number of codes."""
    lock = draft.lock
    if lock is None or not lock.seal or _version(draft.header.version) > _version(lock.version):
        return
    if len(draft.official) != lock.official:
        message = f"challenge.tsv lists {len(draft.official)} codes; {lock.official} are frozen"
        yield Breach("challenge.tsv", message, "challenge.tsv")


def _without_moved(lock: Lock, draft: Draft) -> list[str]:
    """The lock's lines without the nodes that E202 reports, so that no change is reported twice."""
    now = set(draft_lines(draft))
    return [line for line in lock.lines if line in now or line.startswith("edge\t")]


def _version(text: str) -> tuple[int, ...]:
    plain = re.split("[-+]", text)[0]
    return tuple(int(part) if part.isascii() and part.isdigit() else 0 for part in plain.split("."))


def _major(text: str) -> int:
    return _version(text)[0]
