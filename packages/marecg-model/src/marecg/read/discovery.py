"""Which records a list of source folders holds, in an order that depends on nothing but their names."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from marecg.errors import CorpusError, UsageError
from marecg.read import arrays
from marecg.read.array_layout import Layout
from marecg.read.datasets import cinc2021, code15, cpsc2018, mimic_iv_ecg, ptbdb, ptbxl
from marecg.read.record import Candidate

DATASETS = (
    (cpsc2018.is_root, cpsc2018.candidates),
    (ptbdb.is_root, ptbdb.candidates),
    (code15.is_root, code15.candidates),
    (mimic_iv_ecg.is_root, mimic_iv_ecg.candidates),
)
"""Datasets with a layout of their own, besides PTB-XL: whether a folder is one's root, and its records."""


CORPUS = ("corpus.json", "building/plan.json")
"""Files of a prepared corpus, and of one that is under way: its shards are arrays, and no sources."""


def find(
    roots: Sequence[Path],
    only: Collection[str] = (),
    folds: Collection[int] = (),
    layout: Layout | None = None,
    ptbxl_rate: int = ptbxl.FS,
) -> list[Candidate]:
    """Find every record of the given folders and array files, each once, ordered by folder name and path.

    A folder that PTB-XL or one of `DATASETS` knows, at any depth, is read by it; headers elsewhere are read
    in the style of the CinC Challenges, and arrays by the layout.

    Args:
        roots: folders, or array files.
        only: the sources wanted, such as `georgia`; without them all are.
        folds: the folds wanted of PTB-XL; without them all are.
        layout: what arrays are; without it, those in folders are passed over.
        ptbxl_rate: 500 or 100 Hz, which of PTB-XL's two copies is preferred.

    Raises:
        CorpusError: a folder is missing or can't be listed, or no record is found.
        UsageError: an array file is given without a layout, or does not have it.
        InputError: an array file can't be read.
    """
    found: dict[tuple[str, int], Candidate] = {}
    place = _places()
    for root in roots:
        inside = _in_file(root, layout) if root.is_file() else _in_folder(root, layout, ptbxl_rate)
        for candidate in inside:
            if _wanted(candidate, only, folds):
                found.setdefault((place(candidate.file), candidate.row), candidate)
    if not found:
        what = f" of {', '.join(only)}" if only else ""
        missing = "record" if all(root.is_file() for root in roots) else "WFDB header (.hea)"
        raise CorpusError(
            f"no {missing}{what} in it",
            where=", ".join(map(str, roots)),
            remedy=f"{_REMEDY}; arrays in folders need --fs",
        )
    return sorted(found.values(), key=lambda each: each.order)


def sources_below(root: Path) -> Counter[str]:
    """How many records of each source a folder holds. Raises `CorpusError` where it can't be listed."""
    return Counter(candidate.source for candidate in _in_folder(root, None, ptbxl.FS))


_REMEDY = "Give a folder of WFDB records, PTB-XL, or an array file"


def _places() -> Callable[[Path], str]:
    """A function that tells where a file truly lies; it looks up a folder once for all the files in it."""
    folder_of = lru_cache(maxsize=16)(os.path.realpath)

    @lru_cache(maxsize=1)  # the rows of a file come one after another
    def place(file: Path) -> str:
        folder, name = os.path.split(file)
        linked = os.path.islink(file)  # noqa: PTH114 — Path raises for a name that no file can have
        return os.path.realpath(file) if linked else f"{folder_of(folder)}/{name}"

    return place


def _wanted(candidate: Candidate, only: Collection[str], folds: Collection[int]) -> bool:
    in_fold = candidate.fold is None or not folds or candidate.fold in folds
    return in_fold and (not only or candidate.source in only)


def fingerprint(candidates: Sequence[Candidate]) -> str:
    """A hash of the records' names and order, the same wherever the folders are mounted."""
    names = "\n".join(f"{each.root.name}/{each.path}" for each in candidates)
    return hashlib.sha256(names.encode(errors="surrogateescape")).hexdigest()


def _in_file(file: Path, layout: Layout | None) -> Iterator[Candidate]:
    if not arrays.is_array(file):
        raise CorpusError("is not a folder, and no array by its ending", where=file, remedy=_REMEDY)
    if layout is None:
        remedy = "Add --fs, and --leads and --units where they are not the twelve leads in mV"
        raise UsageError("an array does not say its sampling rate", where=file, remedy=remedy)
    return arrays.candidates(file.parent, file, layout, file.stem)


def _in_folder(root: Path, layout: Layout | None, ptbxl_rate: int) -> Iterator[Candidate]:
    """Walk a folder; hidden folders and links to folders are not entered."""
    if not root.is_dir():
        raise CorpusError("is not a folder" if root.exists() else "is not there", where=root, remedy=_REMEDY)
    for name, below, files in os.walk(root, onerror=_unlistable):
        folder = Path(name)
        below[:] = [each for each in below if not each.startswith(".")]
        dataset = _dataset(folder, ptbxl_rate)
        if dataset is not None:
            below.clear()
            yield from dataset
        else:
            headers = (folder / each for each in files if each.endswith(".hea"))
            yield from cinc2021.candidates(root, headers)
            if layout is not None:
                for file in filter(arrays.is_array, (folder / each for each in files)):
                    yield from arrays.in_folder(root, file, layout)


def _dataset(folder: Path, ptbxl_rate: int) -> Iterator[Candidate] | None:
    """The records of a folder that is the root of a dataset with a layout of its own; of a corpus, none."""
    if any((folder / name).is_file() for name in CORPUS):
        return iter(())
    if ptbxl.is_root(folder):
        return ptbxl.candidates(folder, ptbxl_rate)
    return next((candidates(folder) for is_root, candidates in DATASETS if is_root(folder)), None)


def _unlistable(error: OSError) -> None:
    raise CorpusError(f"can't be listed ({error.strerror})", where=error.filename) from error
