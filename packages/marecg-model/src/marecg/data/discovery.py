"""Which records a list of source folders holds, in an order that depends on nothing but their names."""

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from marecg.data.datasets import cinc2021, ptbxl
from marecg.data.records import Record
from marecg.errors import CorpusError


@dataclass(frozen=True)
class Candidate:
    """A record that was found but not yet read; `entry` is its row where PTB-XL's database names it."""

    root: Path
    header: Path
    source: str
    entry: ptbxl.Entry | None = None

    @property
    def path(self) -> str:
        """The header's path relative to its root, with `/` between folders."""
        return self.header.relative_to(self.root).as_posix()

    def read(self, seconds: float | None = None) -> Record:
        """Read the record. Raises `RecordError` when it can't be used."""
        if self.entry is None:
            return cinc2021.read(self.header, self.root, seconds)
        return ptbxl.read(self.root, self.entry, seconds)


def find(roots: Sequence[Path], only: Collection[str] = ()) -> list[Candidate]:
    """Find every record below the given folders, each once, ordered by folder name and path.

    `only` names the sources wanted, such as `georgia`; without it all are.

    A folder that holds `ptbxl_database.csv`, at any depth, is read as PTB-XL; headers elsewhere are read in
    the style of the CinC Challenges.

    Raises:
        CorpusError: a folder is missing or can't be listed, or no record is found.
    """
    found: dict[Path, Candidate] = {}
    for root in roots:
        if not root.is_dir():
            raise CorpusError("is not a folder", where=root, remedy="Give a folder of WFDB records or PTB-XL")
        for candidate in _below(root):
            if not only or candidate.source in only:
                found.setdefault(candidate.header.resolve(), candidate)
    if not found:
        places = ", ".join(map(str, roots))
        what = f" of {', '.join(only)}" if only else ""
        raise CorpusError(
            f"no WFDB header (.hea){what} in it",
            where=places,
            remedy="Give a folder of WFDB records or PTB-XL",
        )
    return sorted(found.values(), key=lambda each: (each.root.name, each.path, str(each.root)))


def fingerprint(candidates: Sequence[Candidate]) -> str:
    """A hash of the records' names and order, the same wherever the folders are mounted."""
    names = "\n".join(f"{each.root.name}/{each.path}" for each in candidates)
    return hashlib.sha256(names.encode(errors="surrogateescape")).hexdigest()


def _below(root: Path) -> Iterator[Candidate]:
    """Walk a folder; hidden folders and links to folders are not entered."""
    for name, below, files in os.walk(root, onerror=_unlistable):
        folder = Path(name)
        below[:] = [each for each in below if not each.startswith(".")]
        if ptbxl.is_ptbxl(folder):
            below.clear()
            for entry in ptbxl.entries(folder):
                yield Candidate(folder, ptbxl.header_of(folder, entry), ptbxl.SOURCE, entry)
        else:
            headers = [folder / each for each in files if each.endswith(".hea")]
            yield from (Candidate(root, each, cinc2021.collection(each, root)) for each in headers)


def _unlistable(error: OSError) -> None:
    raise CorpusError(f"can't be listed ({error.strerror})", where=error.filename) from error
