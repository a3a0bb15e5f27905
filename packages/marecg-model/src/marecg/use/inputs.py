"""What `marecg embed` is given, as one row of records: files, folders, arrays and prepared corpora."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from marecg.corpus.as_records import PreparedRows
from marecg.errors import InputError, UsageError
from marecg.read.any_leads import find_inputs
from marecg.read.array_layout import Layout
from marecg.read.discovery import CORPUS, sources_sha256
from marecg.read.record import Candidate
from marecg.read.stores import on_disk

Named = tuple[str, Candidate]


class Inputs:
    """Records by name, none read yet: those of files first, then each corpus', in an order of their own.

    Args:
        inputs: headers, folders, array files, or corpora that `marecg prepare` wrote, or addresses of these.
        layout: what the arrays are; without it, those in folders are passed over.

    Raises:
        UsageError: as `find_inputs`; or records of two inputs would be called the same.
        InputError: an input can't be read, or nothing was kept in the corpora.
    """

    def __init__(self, inputs: Sequence[str | Path], layout: Layout | None = None) -> None:
        here = [on_disk(each) for each in inputs]
        corpora = [each for each in here if (each / CORPUS[0]).exists()]
        files = [each for each in here if each not in corpora]
        self._found = list(find_inputs(files, layout).items()) if files else []
        self._corpora = [PreparedRows(each.absolute()) for each in corpora]
        self.layout = layout
        if not len(self):
            where = ", ".join(str(each) for each in inputs)
            remedy = "report.json says why nothing was kept"
            raise InputError("holds no records", where=where, remedy=remedy)
        roots = [
            {candidate.root_name for _, candidate in self._found},
            *(each.roots for each in self._corpora),
        ]
        shared = {name for place, one in enumerate(roots) for other in roots[:place] for name in one & other}
        if shared:
            problem = f"records of two inputs would be called {min(shared)}/…"
            raise UsageError(
                problem, remedy="Write them to two places, or rename a folder and prepare it again"
            )

    def __len__(self) -> int:
        return len(self._found) + sum(map(len, self._corpora))

    def __iter__(self) -> Iterator[Named]:
        for first in range(0, len(self), 1024):
            yield from self.part(first, first + 1024)

    def part(self, first: int, last: int) -> list[Named]:
        """The records with these numbers."""
        found = self._found[first:last]
        start = len(self._found)
        for corpus in self._corpora:
            begin, end = max(first - start, 0), min(last - start, len(corpus))
            found += corpus.named(begin, end) if begin < end else []
            start += len(corpus)
        return found

    def refuse(self, out: Path) -> None:
        """See that an output is none of the files that are read. Raises `UsageError`."""
        alike = (each.file for _, each in self._found if each.file.name == out.name)
        if out.exists() and any(each.samefile(out) for each in dict.fromkeys(alike)):
            raise UsageError("is an input, and would be lost", where=out, remedy="Name another file as --out")

    @property
    def sha256(self) -> str:
        """A hash of what the records are, wherever the folders are mounted."""
        digest = hashlib.sha256(sources_sha256([candidate for _, candidate in self._found]).encode())
        digest.update("\n".join(name for name, _ in self._found).encode())
        for corpus in self._corpora:
            digest.update((corpus.folder / CORPUS[0]).read_bytes())
        return digest.hexdigest()
