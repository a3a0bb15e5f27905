"""Which records a list of source folders holds, in an order that depends on nothing but their names."""

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from marecg.data.candidates import Candidate
from marecg.data.datasets import cinc2021, cpsc2018, mimic_iv_ecg, ptbdb, ptbxl
from marecg.errors import CorpusError

DATASETS = (
    (ptbxl.is_root, ptbxl.candidates),
    (cpsc2018.is_root, cpsc2018.candidates),
    (ptbdb.is_root, ptbdb.candidates),
    (mimic_iv_ecg.is_root, mimic_iv_ecg.candidates),
)
"""Datasets with a layout of their own: whether a folder is the root of one, and the records in it."""


def find(roots: Sequence[Path], only: Collection[str] = (), folds: Collection[int] = ()) -> list[Candidate]:
    """Find every record below the given folders, each once, ordered by folder name and path.

    `only` names the sources wanted, such as `georgia`, and `folds` PTB-XL's; without them all are.

    A folder that one of `DATASETS` knows, at any depth, is read by it; headers elsewhere are read in the
    style of the CinC Challenges.

    Raises:
        CorpusError: a folder is missing or can't be listed, or no record is found.
    """
    found: dict[Path, Candidate] = {}
    for root in roots:
        if not root.is_dir():
            raise CorpusError("is not a folder", where=root, remedy="Give a folder of WFDB records or PTB-XL")
        for candidate in _below(root):
            if _wanted(candidate, only, folds):
                found.setdefault(candidate.file.resolve(), candidate)
    if not found:
        places = ", ".join(map(str, roots))
        what = f" of {', '.join(only)}" if only else ""
        raise CorpusError(
            f"no WFDB header (.hea){what} in it",
            where=places,
            remedy="Give a folder of WFDB records or PTB-XL",
        )
    return sorted(found.values(), key=lambda each: (each.root.name, each.path, str(each.root)))


def _wanted(candidate: Candidate, only: Collection[str], folds: Collection[int]) -> bool:
    in_fold = candidate.fold is None or not folds or candidate.fold in folds
    return in_fold and (not only or candidate.source in only)


def fingerprint(candidates: Sequence[Candidate]) -> str:
    """A hash of the records' names and order, the same wherever the folders are mounted."""
    names = "\n".join(f"{each.root.name}/{each.path}" for each in candidates)
    return hashlib.sha256(names.encode(errors="surrogateescape")).hexdigest()


def _below(root: Path) -> Iterator[Candidate]:
    """Walk a folder; hidden folders and links to folders are not entered."""
    for name, below, files in os.walk(root, onerror=_unlistable):
        folder = Path(name)
        below[:] = [each for each in below if not each.startswith(".")]
        own = next((candidates for is_root, candidates in DATASETS if is_root(folder)), None)
        if own is not None:
            below.clear()
            yield from own(folder)
        else:
            yield from cinc2021.candidates(root, (folder / each for each in files if each.endswith(".hea")))


def _unlistable(error: OSError) -> None:
    raise CorpusError(f"can't be listed ({error.strerror})", where=error.filename) from error
