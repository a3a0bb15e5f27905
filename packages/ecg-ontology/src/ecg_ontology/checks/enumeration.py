"""Enumeration: what the lock file froze stays as it is, or the version says that it does not."""

from collections.abc import Iterator

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.drafts import Draft, Lock
from ecg_ontology.enumeration import enumeration_difference, sha256_of
from ecg_ontology.resolve import draft_lines

ENUMERATION: Chapter[Draft] = Chapter("Enumeration")


@ENUMERATION.rule(
    "CCG-E201",
    "The lock file is as it was written",
    why="The lock is the only witness of what existing checkpoints were trained on.",
    fix="Restore enumeration.lock from version control",
)
def edited_lock(draft: Draft) -> Iterator[Breach]:
    """The lock's hash is not that of its lines."""
    lock = draft.lock
    if lock is not None and sha256_of(lock.lines) != lock.sha256:
        yield Breach("enumeration.lock", "its sha256 is not that of its lines", lock.place)


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
    why="Every edge moves D and Â: a checkpoint of the same version would be read with another geometry.",
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


def _without_moved(lock: Lock, draft: Draft) -> list[str]:
    """The lock's lines without the nodes that E202 reports, so that no change is reported twice."""
    now = set(draft_lines(draft))
    return [line for line in lock.lines if line in now or line.startswith("edge\t")]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in text.split("."))


def _major(text: str) -> int:
    return _version(text)[0]
