"""Open arrays in files lazily: only the requested slices are read.

Arrays in NumPy, HDF5, Parquet, MATLAB and text files get the same interface: a name, a shape, and slices of
the first axes.
"""

import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat
from scipy.io.matlab import matfile_version

from ecg_base import InputError
from ecg_records.readers.arrays import delimited, mat5
from ecg_records.readers.arrays.lazy_array import Slices, Unpacked
from ecg_records.readers.arrays.parquet import columns_in

_numpy: Any = np.lib.format  # the module has no types


DEEPEST, MOST_OBJECTS = 32, 10_000
"""Maximum depth of nested groups, and maximum number of objects, in an HDF5 file."""
MOST_MEMBERS = 1000
"""Maximum number of arrays in an `.npz` file."""
LARGEST_CHUNK = 1 << 27
"""Maximum size of a chunk of an HDF5 array in bytes, because a chunk is always read completely."""
PIECE = 1 << 20
"""Number of bytes to decompress at a time."""


class Lazy(Protocol):
    """Array on disk with a shape, read by slices of its first axes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""

    def __getitem__(self, key: Slices, /) -> Any: ...


def arrays_in(path: Path) -> Mapping[str, Lazy]:
    """Return all arrays of real numbers in a file, by name. The array of an `.npy` file is named `array`.

    Only the file itself is read: links to other HDF5 files are not followed, and pickled objects are ignored.
    Raise `InputError` if the content doesn't match the file's ending.
    """
    try:
        return OPENERS[path.suffix.lower()](path)
    except Exception as error:  # each of five libraries raises its own errors
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        problem = f"can't be read as {path.suffix} ({first})"
        raise InputError(problem, where=path, remedy="Check that the file is complete") from error


def _npy(path: Path) -> dict[str, Lazy]:
    mapped = _numpy.open_memmap(path, mode="r")  # the errors of `np.load` advise to unpickle other files
    return {"array": mapped} if _real(mapped.dtype) else {}


def _npz(path: Path) -> dict[str, Lazy]:
    with zipfile.ZipFile(path) as archive:
        if len(archive.namelist()) > MOST_MEMBERS:
            raise ValueError(f"must have at most {MOST_MEMBERS:,} arrays, got {len(archive.namelist()):,}")
        members = {name.removesuffix(".npy"): _zipped(archive, path, name) for name in archive.namelist()}
    return {name: member for name, member in members.items() if _real(member.dtype)}


def _zipped(archive: zipfile.ZipFile, path: Path, name: str) -> Unpacked:
    with archive.open(name) as stream:
        first = _numpy.read_magic(stream) == (1, 0)
        header = _numpy.read_array_header_1_0 if first else _numpy.read_array_header_2_0
        shape, by_column, dtype = header(stream)
        return Unpacked(shape, dtype, partial(_inflated, path, name), skip=stream.tell(), by_column=by_column)


def _inflated(path: Path, name: str) -> Iterator[bytes]:
    with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
        yield from iter(partial(stream.read, PIECE), b"")


def _hdf5(path: Path) -> dict[str, Lazy]:
    with h5py.File(path, "r") as file:
        return {
            name: _Dataset(path, name, item.shape)
            for name, item in _datasets(file)
            if not item.is_virtual and item.external is None and _real(item.dtype) and item.shape
        }


def _datasets(file: h5py.File) -> Iterator[tuple[str, Any]]:
    """Yield each data set once, with its path. Only hard links are followed."""
    groups: list[tuple[str, Any, int]] = [("", file, 0)]
    visited: set[int] = set()
    while groups:
        prefix, group, depth = groups.pop()
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                continue
            item = group[name]
            address = h5py.h5o.get_info(item.id).addr
            if address in visited:
                continue
            visited.add(address)
            if depth >= DEEPEST or len(visited) > MOST_OBJECTS:
                raise ValueError(f"must have at most {MOST_OBJECTS:,} objects, nested at most {DEEPEST} deep")
            if isinstance(item, h5py.Dataset):
                yield prefix + name, item
            elif isinstance(item, h5py.Group):
                groups.append((f"{prefix}{name}/", item, depth + 1))


class _Dataset:
    """Array in an HDF5 file. The file is open only during reads, so that it can be overwritten."""

    def __init__(self, path: Path, name: str, shape: tuple[int, ...]) -> None:
        self._path, self._name, self.shape = path, name, shape

    def __getitem__(self, key: Slices, /) -> NDArray[Any]:
        with h5py.File(self._path, "r") as file:
            dataset = file[self._name]
            chunk_bytes = math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize
            if chunk_bytes > LARGEST_CHUNK:
                most, found = LARGEST_CHUNK >> 20, chunk_bytes >> 20
                raise ValueError(f"HDF5 chunks must have at most {most} MB, got {found:,} MB")
            return np.asarray(dataset[key])


def _mat(path: Path) -> Mapping[str, Lazy]:
    level = matfile_version(path)[0]
    if level == 0:  # level 4, which scipy reads safely in plain Python
        return _level_4(path)
    if level == 1:
        return {variable.name: variable for variable in mat5.variables(path) if variable.real}
    # v7.3 is HDF5, and MATLAB stores axes in reverse order
    return {name: _Reversed(array) for name, array in _hdf5(path).items() if not name.startswith("#")}


def _level_4(path: Path) -> Mapping[str, Lazy]:
    shapes = {name: shape for name, shape, array_class in whosmat(path) if array_class == "double"}
    most, found = LARGEST_CHUNK * 4, sum(map(math.prod, shapes.values())) * 8
    if found > most:
        problem = f"a MATLAB file of level 4 must have at most {most >> 20} MB, got {found >> 20:,} MB"
        raise ValueError(f"{problem}; save it as -v7.3")
    arrays: Mapping[str, Lazy] = loadmat(path, variable_names=list(shapes))
    return {name: arrays[name] for name in shapes}


class _Reversed:
    """Array with its axes in the opposite order."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape: tuple[int, ...] = array.shape[::-1]

    def __getitem__(self, key: Slices, /) -> Any:
        rest = (slice(None),) * (len(self.shape) - len(key))
        return self._array[(*rest, *key[::-1])].T


def _real(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iuf"


OPENERS: dict[str, Callable[[Path], Mapping[str, Lazy]]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".mat": _mat,
    ".parquet": lambda path: dict(columns_in(path)),
    **dict.fromkeys(delimited.ENDINGS, delimited.columns_in),
}
"""Functions that open a file, by its ending."""
