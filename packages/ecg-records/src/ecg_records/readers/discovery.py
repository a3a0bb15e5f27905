"""Find records in source folders.

The order of the records depends only on the names of folders and files, so it is the same on every machine.

Built-in readers and readers from other packages recognise the folders of their data sets. All other folders
are searched for WFDB headers, clinical files and arrays.
"""

import fnmatch
import hashlib
import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ecg_base import UsageError, file_sha256
from ecg_records.errors import CorpusError
from ecg_records.readers.arrays import delimited
from ecg_records.readers.arrays.array_files import OPENERS
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.arrays.arrays import Arrays, is_array
from ecg_records.readers.catalogue import catalogue
from ecg_records.readers.clinical.dicom import DICOM
from ecg_records.readers.clinical.edf import EDF
from ecg_records.readers.clinical.scp import SCP
from ecg_records.readers.clinical.waveform import Format
from ecg_records.readers.clinical.xml import XML
from ecg_records.readers.datasets.cinc2021 import Cinc2021, collection, is_header
from ecg_records.readers.datasets.code15 import Code15
from ecg_records.readers.datasets.cpsc2018 import Cpsc2018
from ecg_records.readers.datasets.mimic_iv_ecg import MimicIvEcg
from ecg_records.readers.datasets.ptbdb import Ptbdb
from ecg_records.readers.datasets.ptbxl import FS as PTBXL_FS
from ecg_records.readers.datasets.ptbxl import PtbXl
from ecg_records.readers.entry_points import offered
from ecg_records.readers.wfdb_header import HEADER_BYTES
from ecg_records.record import Candidate, Reader, as_text, is_regular
from ecg_records.storage.availability import is_passing, refuse_gone
from ecg_records.storage.copies import address

logger = logging.getLogger(__name__)
GROUP = "ecg_records.readers"
"""Entry point group in which a package registers a `Reader`: an object, or a class to call without
arguments."""
HEADERS = Cinc2021()
"""Reader of all WFDB headers that don't belong to another reader."""
FORMATS = (DICOM, XML, EDF, SCP)
"""Readers of clinical files. A folder may mix formats."""
CORPUS = ("corpus.json", "building/plan.json")
"""Files that mark the folder of a finished or unfinished corpus. Such a folder is skipped, because its arrays
aren't source records."""
EMBEDDINGS = "_embeddings.json"
"""File that marks a folder of embeddings. The underscore hides it from readers of Parquet folders."""


def readers(ptbxl_rate: int = PTBXL_FS) -> tuple[Reader, ...]:
    """Return all readers of data sets, with readers from other packages first.

    Raises `UsageError` if another package fails to load.
    """
    return (*_installed(), PtbXl(ptbxl_rate), Cpsc2018(), Ptbdb(), Code15(), MimicIvEcg())


def format_of(file: Path) -> Format | None:
    """Return the clinical format of a file, or None."""
    return next((reader for reader in FORMATS if reader.knows(file)), None)


@cache
def _installed() -> tuple[Reader, ...]:
    return tuple(reader() if isinstance(reader, type) else reader for _, reader in offered(GROUP))


def find(
    roots: Sequence[Path],
    only: Collection[str] = (),
    folds: Collection[int] = (),
    layout: Layout | None = None,
    ptbxl_rate: int = PTBXL_FS,
) -> list[Candidate]:
    """Find all records of folders and files without duplicates, ordered by folder and path.

    A folder that a reader in `readers()` recognises is searched by that reader. All other WFDB headers are
    read like the records of the PhysioNet/CinC Challenges (`cinc2021`). Clinical files are recognised by
    their ending or content. Hidden folders, links to folders, prepared corpora and embeddings are skipped.

    Args:
        roots: Folders to search, clinical files and array files.
        only: Data sets or folders (`Candidate.source`) to keep, such as `georgia`. All if empty.
        folds: Folds of PTB-XL to keep. All if empty.
        layout: Layout of arrays. If None, arrays in folders are ignored.
        ptbxl_rate: Preferred copy of PTB-XL's recordings, 500 or 100 Hz.

    Raises:
        CorpusError: If a folder is missing or can't be listed, a file has another type, a data set's table is
            invalid, or no record is found.
        UsageError: If an array file doesn't fit the layout or there is no layout, or a clinical format needs
            a library that is not installed.
        InputError: If an array file can't be read.
    """
    candidates: dict[tuple[str, int], Candidate] = {}
    resolved = _resolver()
    passed_over: list[Path] = []
    for root in roots:
        if root.is_file():
            inside = _in_file(root, layout)
        else:
            inside = _in_folder(root, layout, readers(ptbxl_rate), passed_over)
        for candidate in inside:
            in_fold = candidate.fold is None or not folds or candidate.fold in folds
            if in_fold and (not only or candidate.source in only):
                candidates.setdefault((resolved(candidate.file), candidate.row), candidate)
    if not candidates:
        if prepared := [root for root in roots if (root / CORPUS[0]).exists()]:
            remedy = "Use it with train, probe or embed, or prepare the original folders"
            raise CorpusError("is already a prepared corpus", where=prepared[0], remedy=remedy)
        what = f" of {', '.join(only)}" if only else ""
        missing = "record" if all(root.is_file() for root in roots) else "WFDB header (.hea) or clinical file"
        where, remedy = ", ".join(map(str, roots)), f"{_REMEDY}. Array files need their sampling rate, fs"
        raise CorpusError(f"contains no {missing}{what}", where=where, remedy=remedy)
    if passed_over:
        text = "skipped %d array files, such as %s. Set fs to read them"
        logger.warning(text, len(passed_over), passed_over[0])
    return sorted(with_root_names(candidates.values()), key=lambda candidate: candidate.order)


def sources_below(root: Path) -> Counter[str]:
    """Count the records of a folder by `Candidate.source`.

    Raises `CorpusError` if a folder can't be listed.
    """
    return Counter(candidate.source for candidate in _in_folder(root, None, readers(), []))


_REMEDY = "Give a folder of WFDB records, PTB-XL, clinical files, or an array file"


def _resolver() -> Callable[[Path], str]:
    """Return a function that resolves the links in a path, with a cache of folders to save disk access."""
    folder_of = lru_cache(maxsize=16)(os.path.realpath)

    @lru_cache(maxsize=1)  # successive candidates are often rows of the same file
    def resolved(file: Path) -> str:
        folder, name = os.path.split(file)
        linked = os.path.islink(file)  # noqa: PTH114 — Path raises an error for an invalid name
        return os.path.realpath(file) if linked else f"{folder_of(folder)}/{name}"

    return resolved


def with_root_names(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Set the `root_name` of each candidate to a short name of its root, which no other root has."""
    listed = list(candidates)
    names = names_apart({candidate.root for candidate in listed})
    return (replace(candidate, root_name=names[candidate.root]) for candidate in listed)


def names_apart(paths: Collection[Path]) -> dict[Path, str]:
    """Return a distinct name for each path: as few of its last folders as are necessary.

    Example:
        >>> sorted(names_apart({Path("/A/data"), Path("/B/data"), Path("/C/georgia")}).values())
        ['A/data', 'B/data', 'georgia']
    """
    names: dict[Path, str] = {}
    left, parts = set(paths), 1
    while left:
        short = {path: "/".join(path.parts[-parts:]) for path in left}
        counts = Counter(short.values())
        apart = {path for path in left if counts[short[path]] == 1 or len(path.parts) <= parts}
        names |= {path: as_text(short[path]) for path in apart}
        left, parts = left - apart, parts + 1
    return names


class SourcesHash(NamedTuple):
    """Hash of records.

    Attributes:
        sha256: the hash.
        unhashed: records (`root_name/path`) whose files were left out because they were unavailable.
    """

    sha256: str
    unhashed: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """Return the hash as entries of a corpus's JSON manifest. An empty `unhashed` is left out."""
        return {"records_sha256": self.sha256} | ({"unhashed": list(self.unhashed)} if self.unhashed else {})


def hash_sources(candidates: Sequence[Candidate], manifest: Mapping[str, Any] | None = None) -> SourcesHash:
    """Return a hash of records, to detect whether a record was added, removed or changed.

    The hash covers the names of records in order, their rows in tables, the codes assigned by the user, and
    `Candidate.file`. Headers and copies of remote files are hashed by content. Other files are hashed by size
    and modification time. Signal files of WFDB records aren't hashed. The hash doesn't depend on where the
    folders are mounted.

    Args:
        candidates: the records.
        manifest: `SourcesHash.described` of an earlier call. If given, the same files as in the earlier call
            are left out, so that both hashes can be compared.

    Raises:
        CorpusError: If `manifest` is given, and a file that it doesn't leave out is unavailable.
        SourceGoneError: If a root is gone.
    """
    digest, unhashed = hashlib.sha256(), []
    left_out = None if manifest is None else set(manifest.get("unhashed", ()))
    content = lru_cache(maxsize=1)(_content_sha256)  # successive candidates are often rows of the same file
    for candidate in candidates:
        name = f"{candidate.root_name}/{candidate.path}"
        state = None if left_out and name in left_out else content(candidate.file)
        if state is None:
            if left_out is not None and name not in left_out:
                remedy = "Run the same command again when the file is available"
                raise CorpusError("is currently unavailable", where=candidate.place, remedy=remedy)
            refuse_gone(candidate.root)
            unhashed.append(name)
        stated = "" if candidate.stated is None else f" {candidate.stated.key}"
        identity = candidate.unusable or candidate.own_name or candidate.key
        digest.update(f"{name} {identity!r} {state or 'unreadable'}{stated}\n".encode())
    return SourcesHash(digest.hexdigest(), tuple(unhashed))


def _content_sha256(file: Path) -> str | None:
    try:
        if is_header(file.name) and is_regular(file):
            with file.open("rb") as header:
                return hashlib.sha256(header.read(HEADER_BYTES)).hexdigest()
        if address(file) is not None:  # a copy has another modification time than its original
            return file_sha256(file)
        state = file.stat()
        return f"{state.st_size} {state.st_mtime_ns}"
    except (OSError, ValueError) as error:
        return None if isinstance(error, OSError) and is_passing(error) else "unreadable"


def _in_file(file: Path, layout: Layout | None) -> Iterator[Candidate]:
    clinical = _clinical(file.parent, [file])
    if clinical:
        return iter(clinical)
    if not is_array(file):
        problem = "must be a folder, an array file or a clinical file"
        raise CorpusError(problem, where=file, remedy=_REMEDY)
    if layout is None:
        remedy = "Set fs. Unless the file has the twelve leads in mV, also set array.leads and array.units"
        raise UsageError("an array file needs its sampling rate", where=file, remedy=remedy)
    return Arrays(layout).in_file(file.parent, file, as_text(file.stem))


def _in_folder(
    root: Path, layout: Layout | None, readers: Sequence[Reader], passed_over: list[Path]
) -> Iterator[Candidate]:
    """Find the records of a folder. Hidden folders, linked folders, corpora and embeddings are skipped.

    If `layout` is None, arrays can't be read, and their files are appended to `passed_over`.
    """
    if not root.is_dir():
        raise CorpusError("is not a folder" if root.exists() else "doesn't exist", where=root, remedy=_REMEDY)
    claimed: set[str] = set()
    within: dict[Reader, Path] = {}  # last folder of each reader, below which `is_root` isn't called again
    arrays = Arrays(layout) if layout else None
    for name, below, files in os.walk(root, onerror=_unlistable):
        folder = Path(name)
        if any(is_regular(folder / marker) for marker in (*CORPUS, EMBEDDINGS)):
            below.clear()
            continue
        below[:] = [folder_name for folder_name in below if not folder_name.startswith(".")]
        for reader in readers:
            if reader in within and folder.is_relative_to(within[reader]):
                continue
            names = (*below, *files)
            marked = any(
                mark in names or (("*" in mark or "[" in mark) and fnmatch.filter(names, mark))
                for mark in reader.marks
            )
            if marked and reader.is_root(folder):
                within[reader] = folder
                for candidate in reader.candidates(folder):
                    claimed.update(map(str, (candidate.file, *candidate.copies)))
                    yield candidate
        free = [file_name for file_name in files if os.path.join(name, file_name) not in claimed]  # noqa: PTH118 — as `claimed`
        yield from HEADERS.records(root, (folder / file_name for file_name in free if is_header(file_name)))
        yield from _clinical(root, (folder / file_name for file_name in free))
        if arrays is None:
            passed_over += (folder / array for array in _arrays_among(free, files))
            continue
        for file in filter(is_array, (folder / file_name for file_name in free)):
            yield from arrays.in_folder(root, file)


def _arrays_among(names: Iterable[str], files: Iterable[str]) -> list[str]:
    """Return the names that `is_array` accepts. Faster than a call per name, which accesses the disk."""
    endings, names_here = tuple({*OPENERS} - {*delimited.ENDINGS}), {file_name.lower() for file_name in files}
    arrays = (name for name in names if name.lower().endswith(endings))
    return [array for array in arrays if f"{array.rpartition('.')[0].lower()}.hea" not in names_here]


def _clinical(root: Path, files: Iterable[Path]) -> list[Candidate]:
    """Return candidates for the clinical files among `files`. Their source is named after their folder."""
    formats = [(file, reader) for file in files if (reader := format_of(file)) is not None]
    return [Candidate(root, file, collection(file, root), reader) for file, reader in formats]


def _unlistable(error: OSError) -> None:
    raise CorpusError(f"can't be listed ({error.strerror})", where=error.filename) from error


def records_on_disk(root: str | Path) -> dict[str, int]:
    """Count the records of a folder by the name of each data set in `catalogue()`, including zeros.

    Records of other data sets aren't counted. Raises `CorpusError` if the folder can't be listed.
    """
    counts: Counter[str] = sources_below(Path(root))
    return {data.name: sum(counts[source] for source in data.sources) for data in catalogue().values()}
