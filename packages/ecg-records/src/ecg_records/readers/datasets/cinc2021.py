"""Read the CinC Challenges 2020/2021, and any folder of WFDB records with the same kind of headers.

The challenges of PhysioNet and the conference Computing in Cardiology (CinC) have eight collections. Each is
a folder of headers with age, sex and SNOMED CT codes as comments (Reyna et al. 2021,
doi:10.23919/CinC53138.2021.9662687). In PhysioNet's download, the headers are one level of folders deeper.
The joint database of Chapman-Shaoxing and Ningbo (doi:10.13026/wgex-er52) has the same headers in other
folders.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ecg_records.readers.identity import COLLECTIONS
from ecg_records.readers.wfdb import read_record
from ecg_records.record import Candidate, Record, as_text
from ecg_records.stretch import WHOLE, Stretch

_JS = re.compile(r"JS(\d{5})")


CHAPMAN = 10_646
"""Largest record number of Chapman-Shaoxing in the joint database. Records of Ningbo have larger numbers."""


@dataclass(frozen=True)
class Cinc2021:
    """Reader of all WFDB headers that don't belong to another reader."""

    def records(self, root: Path, headers: Iterable[Path]) -> Iterator[Candidate]:
        """Yield a candidate for each of the headers, which lie below `root`."""
        for header in headers:
            yield Candidate(root, header, collection(header, root), self)

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read a record. Raises `RecordError` like `wfdb.read_record`."""
        record = read_record(candidate.file, candidate.root, stretch)
        return replace(record, source=candidate.source)


def is_header(name: str) -> bool:
    """Return whether a file name is the name of a WFDB header."""
    return name.endswith((".hea", ".HEA"))


def collection(header: Path, root: Path) -> str:
    """Return the name of the collection to which a header belongs.

    This is the innermost folder in its path with the name of a known collection, such as `georgia`. Without
    such a folder, file names of the joint database show Chapman-Shaoxing or Ningbo. All other headers get the
    name of the folder directly below `root`, or the name of `root` if they lie directly in it.
    """
    source, folder = _folder(header.parent, root)
    number = None if source else _JS.fullmatch(header.stem)
    if number:
        return "chapman_shaoxing" if int(number[1]) <= CHAPMAN else "ningbo"
    return folder


@lru_cache(maxsize=16)
def _folder(folder: Path, root: Path) -> tuple[bool, str]:
    """Return whether a folder's path contains a known collection, and the collection for its headers."""
    names = (root.name, *folder.relative_to(root).parts)
    collections = [name for name in names if name in COLLECTIONS]
    return bool(collections), collections[-1] if collections else as_text(names[min(1, len(names) - 1)])
