"""``enumeration.lock``: what a version froze, as a text that a diff shows line by line."""

import re

from ecg_ontology.drafts import LOCK_LINE, Draft, Lock
from ecg_ontology.enumeration import sha256_of
from ecg_ontology.errors import SourceError
from ecg_ontology.resolve import draft_lines

_HEAD = """\
# The frozen enumeration and graph. `ecgonto build` writes this file; never edit it.
# sha256 is that of its node and edge lines: grep -E '^(node|edge)' enumeration.lock | sha256sum
# seal is that of all lines but the comments and itself: grep -vE '^(#|seal)' enumeration.lock | sha256sum
"""


def lock_of(draft: Draft) -> Lock:
    """Return what freezes `draft` as it is."""
    lines = draft_lines(draft)
    lock = Lock(
        version=draft.header.version,
        sha256=sha256_of(lines),
        lines=lines,
        yields=yielding(draft),
        official=len(draft.official),
    )
    return lock.model_copy(update={"seal": seal_of(lock)})


def yielding(draft: Draft) -> tuple[int, ...]:
    """Return the indices of the concepts that yield."""
    return tuple(sorted(c.index for c in draft.concepts if c.yields and c.index is not None))


def seal_of(lock: Lock) -> str:
    """Return the hash of everything that a lock states."""
    return sha256_of(_body(lock))


def lock_text(lock: Lock) -> str:
    """Return the text of ``enumeration.lock``."""
    version, sha256, *body = _body(lock)
    return _HEAD + "".join(f"{line}\n" for line in (version, sha256, f"seal\t{lock.seal}", *body))


def _body(lock: Lock) -> list[str]:
    return [
        f"version\t{lock.version}",
        f"sha256\t{lock.sha256}",
        *lock.lines,
        *(f"yields\t{index}" for index in lock.yields),
        *([f"official\t{lock.official}"] if lock.official else []),
    ]


def parse_lock(text: str, place: str) -> Lock:
    """Read the text of ``enumeration.lock``; one of before seals has none.

    Raises:
        SourceError: it is not of the form that `lock_text` writes.
    """
    fields: dict[str, list[str]] = {}
    lines: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        key, _, rest = line.partition("\t")
        if re.fullmatch(LOCK_LINE, line):
            lines.append(line)
        elif re.fullmatch(r"(version|sha256|seal)\t[^\t]+|(yields|official)\t[0-9]{1,9}", line):
            fields.setdefault(key, []).append(rest)
        elif line and not line.startswith("#"):
            raise SourceError(
                f"line {number} is damaged", where=place, remedy="Restore it from version control"
            )
    single = {key: values[0] for key, values in fields.items() if key != "yields"}
    if not {"version", "sha256"} <= single.keys() or any(len(fields[key]) > 1 for key in single):
        raise SourceError(
            "is no enumeration lock: it names no version and sha256, or two",
            where=place,
            remedy="Restore it from version control",
        )
    return Lock(
        version=single["version"],
        sha256=single["sha256"],
        lines=tuple(lines),
        yields=tuple(map(int, fields.get("yields", ()))),
        official=int(single.get("official", 0)),
        seal=single.get("seal", ""),
        place=place,
    )
