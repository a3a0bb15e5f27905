"""A SNOMED CT release of the user's own: RF2 (zip or folder) or the Global Patient Set file, streamed.

Only what concerns the codes asked for is kept, and while relationships are read, five integers for each IS_A
row: a release of 1.5 GB passes in some tens of megabytes. No release is shipped and none is downloaded.
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

import numpy as np
from numpy.typing import NDArray

from ecg_ontology.base.errors import InputError
from ecg_ontology.graph.hierarchy import reachable

IS_A = "116680003"
_CONCEPT = ("id", "effectiveTime", "active")
_DESCRIPTION = (*_CONCEPT, "conceptId", "term")
_RELATIONSHIP = (*_CONCEPT, "sourceId", "destinationId", "typeId")
_ASSOCIATION = ("id", "effectiveTime", "active", "refsetId", "referencedComponentId", "targetComponentId")
_REPLACED = {  # reference sets of associations, by which an inactive concept names its successors
    "900000000000527005": "same as",
    "900000000000526001": "replaced by",
    "1186921001": "possibly replaced by",
    "900000000000523009": "possibly equivalent to",
    "900000000000530003": "alternative",
}
_RF2 = re.compile(
    r"x?(?:sct2_(Concept|Description|Relationship)_|der2_cRefset_(Association)\w*?)(Snapshot|Full)\S*\.txt",
    re.IGNORECASE,
)
_COLUMNS = {  # names that the Global Patient Set and its like use, letter case, blanks and underscores apart
    "id": {"conceptid", "sctid", "id", "code", "conceptcode"},
    "active": {"status", "active", "isactive", "conceptstatus", "activestatus"},
    "terms": {"fsn", "fullyspecifiedname", "preferredterm", "pt", "term"},
}


@dataclass
class Release:
    """What a release says about the codes asked for.

    Attributes:
        active: whether the concept is active, for each code that the release has.
        replacements: what it names in the place of an inactive code, such as ``replaced by 3424008``.
        parents: IS_A above the codes, child → parents; {} where the release has none (a Global Patient Set).
    """

    active: dict[str, bool] = field(default_factory=dict)
    terms: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    replacements: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    parents: dict[str, set[str]] = field(default_factory=dict)

    def ancestors(self, code: str) -> set[str]:
        """Return everything that `code` is a subtype of, directly or over others."""
        return set(reachable([code], self.parents)) - {code}


def read_release(path: str | Path, codes: Collection[str]) -> Release:
    """Read what a release says about `codes`. Raises `InputError` where it isn't one.

    It is an RF2 zip or folder (Snapshot is preferred to Full), or a Global Patient Set file: tab-separated,
    with columns for concept id, terms and status.
    """
    path = Path(path)
    identifiers = frozenset(codes)
    if path.is_dir():
        return _from_rf2(path, sorted(path.rglob("*.txt")), None, identifiers)
    if not path.is_file():
        remedy = "Give an RF2 zip or folder, or a Global Patient Set file"
        raise InputError("is not there", where=path, remedy=remedy)
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                members = [Path(name) for name in sorted(archive.namelist())]
                return _from_rf2(path, members, archive, identifiers)
        except (zipfile.BadZipFile, RuntimeError, OSError) as error:  # RuntimeError: it needs a password
            raise InputError(f"cannot be unpacked ({error})", where=path) from error
    with path.open(encoding="utf-8-sig", newline="") as file:
        return _from_patient_set(path, file, identifiers)


def _from_rf2(
    path: Path, members: Iterable[Path], archive: zipfile.ZipFile | None, codes: frozenset[str]
) -> Release:
    files: dict[str, list[Path]] = defaultdict(list)
    kinds: dict[str, str] = {}
    # Sorted so that Snapshot stands before Full: where there is one, the other is left out.
    named = [(match, member) for member in members if (match := _RF2.fullmatch(member.name))]
    for match, member in sorted(named, key=lambda pair: pair[0][3].lower(), reverse=True):
        kind, state = (match[1] or match[2]).lower(), match[3].lower()
        if kinds.setdefault(kind, state) == state:
            files[kind].append(member)
    if not {"concept", "description"} <= files.keys():
        problem = "isn't an RF2 release: it has no sct2_Concept_… and sct2_Description_… file"
        remedy = "Give the unpacked release, its zip, or a Global Patient Set file"
        raise InputError(problem, where=path, remedy=remedy)
    release = Release()
    for row in _latest(_rows(files["concept"], archive, _CONCEPT), codes, key="id"):
        release.active[row["id"]] = row["active"] == "1"
    for row in _latest(_rows(files["description"], archive, _DESCRIPTION), codes, key="conceptId"):
        if row["active"] == "1":
            release.terms[row["conceptId"]].add(row["term"])
    for row in _latest(_rows(files["association"], archive, _ASSOCIATION), codes, "referencedComponentId"):
        if row["active"] == "1" and (how := _REPLACED.get(row["refsetId"])):
            release.replacements[row["referencedComponentId"]].append(f"{how} {row['targetComponentId']}")
    if files["relationship"]:
        release.parents = _above(_is_a(_rows(files["relationship"], archive, _RELATIONSHIP)), codes)
    return release


def _latest(rows: Iterable[dict[str, str]], codes: frozenset[str], key: str) -> list[dict[str, str]]:
    """Rows about `codes`; of several states of one component (Full release) the latest."""
    newest: dict[str, dict[str, str]] = {}
    for row in rows:
        if row[key] in codes:
            before = newest.get(row["id"])
            if before is None or row["effectiveTime"] >= before["effectiveTime"]:
                newest[row["id"]] = row
    return list(newest.values())


def _is_a(rows: Iterable[dict[str, str]]) -> NDArray[np.uint64]:
    """Active IS_A pairs (child, parent), uint64[M, 2]; the latest state of each relationship counts."""
    columns = tuple(array("Q") for _ in range(5))
    for row in rows:
        if row["typeId"] == IS_A:
            values = (row["id"], row["effectiveTime"], row["active"], row["sourceId"], row["destinationId"])
            try:
                for column, value in zip(columns, values, strict=True):
                    column.append(int(value))
            except (ValueError, OverflowError) as error:
                strange = next(value for value in values if not (value.isascii() and value.isdigit()))
                problem = f"has a relationship {row['id']!r} in which {strange!r} isn't a number"
                remedy = "Unpack the release again"
                raise InputError(problem, where="sct2_Relationship", remedy=remedy) from error
    number, time, active, child, parent = (np.frombuffer(column, dtype=np.uint64) for column in columns)
    order = np.lexsort((time, number))
    last = np.append(number[order][1:] != number[order][:-1], True)[: len(order)]
    current = order[last][active[order[last]] == 1]
    return np.stack([child[current], parent[current]], axis=1)


def _above(pairs: NDArray[np.uint64], codes: Collection[str]) -> dict[str, set[str]]:
    """The part of the IS_A graph that lies above `codes`."""
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


def _from_patient_set(path: Path, file: Iterable[str], codes: frozenset[str]) -> Release:
    reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        header = list(reader.fieldnames or ())
        columns = {use: [name for name in header if _plain(name) in names] for use, names in _COLUMNS.items()}
        if not columns["id"] or not columns["terms"]:
            problem = "is neither an RF2 release nor a Global Patient Set file"
            remedy = "A Global Patient Set file is tab-separated, with columns for concept id and terms"
            raise InputError(problem, where=path, remedy=remedy)
        release = Release()
        for row in reader:
            code = row[columns["id"][0]]
            if code in codes:
                status = row[columns["active"][0]] if columns["active"] else "active"
                release.active[code] = status.strip().casefold() in ("1", "active", "true")
                release.terms[code] |= {row[name] for name in columns["terms"] if row[name]}
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read ({error})", where=path) from error
    return release


def _plain(name: str) -> str:
    return name.casefold().replace(" ", "").replace("_", "")
