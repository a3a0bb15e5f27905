"""The CinC Challenges 2020/2021, and any folder of WFDB records in their style.

Eight collections, each a folder of headers that carry age, sex and SNOMED-CT codes as comments
(Reyna et al. 2021, doi:10.23919/CinC53138.2021.9662687); on PhysioNet with a further level of folders.
"""

from dataclasses import replace
from pathlib import Path

from marecg.data.records import Record, read_record

COLLECTIONS = (
    "chapman_shaoxing",
    "cpsc_2018",
    "cpsc_2018_extra",
    "georgia",
    "ningbo",
    "ptb",
    "ptb-xl",
    "st_petersburg_incart",
)


def collection(header: Path, root: Path) -> str:
    """Which collection a header belongs to: a known one that its path names, or the folder below `root`."""
    folders = (root.name, *header.relative_to(root).parent.parts)
    known = [folder for folder in folders if folder in COLLECTIONS]
    return known[-1] if known else folders[min(1, len(folders) - 1)]


def read(header: Path, root: Path, seconds: float | None = None) -> Record:
    """Read one record. Raises `RecordError` as `records.read_record` does."""
    return replace(read_record(header, root, seconds), source=collection(header, root))
