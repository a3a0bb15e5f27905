"""Read a SNOMED CT release of the user: the Snapshot of a zip or folder in Release Format 2 (RF2).

The files are streamed. Only rows of the requested codes and the pairs of IS_A relations are kept, so a
release of 1.5 GB needs some tens of megabytes of memory. This package neither contains nor downloads a
release.
"""

import csv
import io
import re
import zipfile
import zlib
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ecg_base import InputError
from ecg_ontology.graph.hierarchy import reachable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IS_A = "116680003"
_CONCEPT = ("id", "effectiveTime", "active")
_DESCRIPTION = (*_CONCEPT, "conceptId", "term")
_RELATIONSHIP = (*_CONCEPT, "sourceId", "destinationId", "typeId")
_ASSOCIATION = ("id", "effectiveTime", "active", "refsetId", "referencedComponentId", "targetComponentId")
_REPLACED = {  # reference sets that associate inactive concepts with their successors
    "900000000000527005": "same as",
    "900000000000526001": "replaced by",
    "1186921001": "possibly replaced by",
    "900000000000523009": "possibly equivalent to",
    "900000000000530003": "alternative",
    "1186924009": "partially equivalent to",
    "900000000000528000": "was a",
    "900000000000529008": "similar to",
    "900000000000524003": "moved to",
}
_RF2 = re.compile(
    r"x?(?:sct2_(Concept|Description|Relationship)_(?:MONO)?|der2_cRefset_(Association)\w*?)Snapshot\S*\.txt",
    re.IGNORECASE,
)


@dataclass
class Release:
    """Content of a release about the requested codes.

    Attributes:
        active: whether the concept is active, by code. Codes that aren't in the release are missing.
        terms: active descriptions by code.
        replacements: successors of each inactive code, such as ``replaced by 3424008``.
        parents: parents of the codes and of all their ancestors. Empty if the release has no relationships.
    """

    active: dict[str, bool] = field(default_factory=dict)
    terms: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    replacements: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    parents: dict[str, set[str]] = field(default_factory=dict)

    def ancestors(self, code: str) -> set[str]:
        """Return all supertypes of a code, direct or indirect."""
        return set(reachable([code], self.parents)) - {code}


def read_release(path: str | Path, codes: Collection[str]) -> Release:
    """Read the content about some codes from the Snapshot of an RF2 zip or folder.

    Raises `InputError` if the path isn't a release.
    """
    path = Path(path)
    identifiers = frozenset(codes)
    if path.is_dir():
        return _from_rf2(path, sorted(path.rglob("*.txt")), None, identifiers)
    if not path.exists():
        raise InputError("doesn't exist", where=path, remedy="Give an RF2 zip or folder")
    try:
        with zipfile.ZipFile(path) as archive:
            members = [Path(name) for name in sorted(archive.namelist())]
            return _from_rf2(path, members, archive, identifiers)
    except (zipfile.BadZipFile, RuntimeError, OSError) as error:  # RuntimeError: the zip needs a password
        remedy = "Give an RF2 zip or folder"
        raise InputError(f"cannot be unpacked ({error})", where=path, remedy=remedy) from error


def _from_rf2(
    path: Path, members: Iterable[Path], archive: zipfile.ZipFile | None, codes: frozenset[str]
) -> Release:
    files: dict[str, list[Path]] = defaultdict(list)
    for member in members:
        if match := _RF2.fullmatch(member.name):
            files[(match[1] or match[2]).lower()].append(member)
    if not {"concept", "description"} <= files.keys():
        problem = "isn't an RF2 release without sct2_Concept_Snapshot… and sct2_Description_Snapshot… files"
        raise InputError(
            problem, where=path, remedy="Give the zip of the release, or the folder with its Snapshot"
        )
    release = Release()
    for row in _newest(_rows_of(codes, "id", _rows(files["concept"], archive, _CONCEPT))):
        release.active[row["id"]] = row["active"] == "1"
    for row in _newest(_rows_of(codes, "conceptId", _rows(files["description"], archive, _DESCRIPTION))):
        if row["active"] == "1":
            release.terms[row["conceptId"]].add(row["term"])
    associations = _rows(files["association"], archive, _ASSOCIATION)
    for row in _newest(_rows_of(codes, "referencedComponentId", associations)):
        if row["active"] == "1" and (relation := _REPLACED.get(row["refsetId"])):
            release.replacements[row["referencedComponentId"]].append(
                f"{relation} {row['targetComponentId']}"
            )
    if files["relationship"]:
        relationships = _rows(files["relationship"], archive, _RELATIONSHIP)
        release.parents = _above(_is_a(relationships, several=len(files["relationship"]) > 1), codes)
    return release


def _rows_of(codes: frozenset[str], key: str, rows: Iterable[dict[str, str]]) -> Iterator[dict[str, str]]:
    return (row for row in rows if row[key] in codes)


def _newest(rows: Iterable[dict[str, str]]) -> Iterable[dict[str, str]]:
    """Return the newest row of each id by effectiveTime. A folder may contain several releases."""
    newest: dict[str, dict[str, str]] = {}
    for row in rows:
        earlier = newest.get(row["id"])
        if earlier is None or row["effectiveTime"] >= earlier["effectiveTime"]:
            newest[row["id"]] = row
    return newest.values()


def _is_a(rows: Iterable[dict[str, str]], *, several: bool) -> "NDArray[np.uint64]":
    """Return the active IS_A pairs (child, parent), uint64[M, 2].

    If `several`, the rows come from several files, and only the newest row of each id counts.
    """
    import numpy as np  # slow to import, and most checks need no release

    codes, versions = array("Q"), array("Q")
    for row in rows:
        if row["typeId"] != IS_A or not (several or row["active"] == "1"):
            continue
        codes.extend((_number(row, "sourceId"), _number(row, "destinationId")))
        if several:
            versions.extend((_number(row, "id"), _number(row, "effectiveTime"), row["active"] == "1"))
    pairs = np.frombuffer(codes, dtype=np.uint64).reshape(-1, 2)
    if not versions:
        return pairs
    ids, times, active = np.frombuffer(versions, dtype=np.uint64).reshape(-1, 3).T
    order = np.lexsort((times, ids))
    last = np.append(ids[order][1:] != ids[order][:-1], True)
    kept: NDArray[np.uint64] = pairs[order[last & (active[order] == 1)]]
    return kept


def _number(row: dict[str, str], column: str) -> int:
    code = row[column]
    if not (code.isascii() and code.isdigit() and len(code) <= 18):
        problem = f"{column} must be a number, got {code!r} in the relationship {row['id']!r}"
        raise InputError(problem, where="sct2_Relationship", remedy="Unpack the release again")
    return int(code)


def _above(pairs: "NDArray[np.uint64]", codes: Collection[str]) -> dict[str, set[str]]:
    """Return the parents of some codes and of all their ancestors."""
    import numpy as np

    parents: dict[str, set[str]] = defaultdict(set)
    frontier = np.array([int(code) for code in codes], dtype=np.uint64)
    while len(frontier):
        edges = pairs[np.isin(pairs[:, 0], frontier)]
        for child, parent in edges.tolist():
            parents[str(child)].add(str(parent))
        frontier = np.array(
            [p for p in np.unique(edges[:, 1]).tolist() if str(p) not in parents], dtype=np.uint64
        )
    return parents


def _rows(
    files: Iterable[Path], archive: zipfile.ZipFile | None, columns: tuple[str, ...]
) -> Iterator[dict[str, str]]:
    for file in files:
        raw = file.open("rb") if archive is None else archive.open(file.as_posix())
        with raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            reader = csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE, restval="")
            try:
                if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
                    raise InputError(f"has no column {', '.join(missing)}", where=file)
                yield from reader
            except (UnicodeDecodeError, csv.Error, zipfile.BadZipFile, zlib.error) as error:
                raise InputError(f"line {reader.line_num} cannot be read ({error})", where=file) from error
