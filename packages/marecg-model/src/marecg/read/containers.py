"""Arrays inside files, opened so that only the rows asked for are read.

NumPy, HDF5, Parquet and MATLAB files look alike from here: names, shapes, and rows along the first axis.
MATLAB files before v7.3 are the exception: they are read whole, and can hold no more than 2 GB per variable.
"""

import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from weakref import finalize

import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat
from scipy.io.matlab import matfile_version

from marecg.errors import InputError
from marecg.read import mat5
from marecg.read.parquet import columns_in

_numpy: Any = np.lib.format  # it has no types


class Lazy(Protocol):
    """An array on disk: its shape, and some of its rows (along the first axis) on demand."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""

    def __getitem__(self, rows: slice, /) -> Any: ...


def arrays_in(path: Path) -> dict[str, Lazy]:
    """Every array of real numbers in a file, by name; a `.npy` file's is called `array`.

    Nothing outside the file is read: links of HDF5 are not followed, and pickled objects are no numbers.

    Raises:
        InputError: the file can't be read as what its ending says.
    """
    try:
        return OPENERS[path.suffix.lower()](path)
    except Exception as error:  # five libraries, each with errors of its own
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        problem = f"can't be read as {path.suffix} ({first})"
        raise InputError(problem, where=path, remedy="Check that the file is whole") from error


def _npy(path: Path) -> dict[str, Lazy]:
    mapped = _numpy.open_memmap(path, mode="r")  # `np.load` would advise to unpickle what is no array
    return {"array": mapped} if _real(mapped.dtype) else {}


def _npz(path: Path) -> dict[str, Lazy]:
    with zipfile.ZipFile(path) as archive:  # its file stays open until the last member is closed
        members = {name.removesuffix(".npy"): _Zipped(archive, name) for name in archive.namelist()}
    return {name: member for name, member in members.items() if _real(member.dtype)}


class _Zipped:
    """An array of an `.npz` file, read through one forward cursor: compressed data can't be jumped into."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._stream = archive.open(name)
        finalize(self, self._stream.close)
        first = _numpy.read_magic(self._stream) == (1, 0)
        header = _numpy.read_array_header_1_0 if first else _numpy.read_array_header_2_0
        self.shape: tuple[int, ...]
        self.shape, self._by_column, self.dtype = header(self._stream)
        self._begin = self._stream.tell()

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        if self._by_column:  # no row is in one piece, so there is nothing to gain from a cursor
            whole = self._read(0, math.prod(self.shape) * self.dtype.itemsize)
            return whole.reshape(self.shape[::-1]).T[rows]
        first, stop, _ = rows.indices(self.shape[0])
        row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        found = self._read(first * row_bytes, (stop - first) * row_bytes)
        return found.reshape(stop - first, *self.shape[1:])

    def _read(self, offset: int, count: int) -> NDArray[Any]:
        self._stream.seek(self._begin + offset)
        content = self._stream.read(count)
        if len(content) < count:
            raise ValueError("the file ends before its array does")
        return np.frombuffer(content, self.dtype)


def _hdf5(path: Path) -> dict[str, Lazy]:
    found: dict[str, Lazy] = {}

    def visit(name: str, item: Any) -> None:
        own = isinstance(item, h5py.Dataset) and not item.is_virtual and item.external is None
        if own and _real(item.dtype) and item.shape:
            found[name] = _Dataset(path, name, item.shape)

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


class _Dataset:
    """An array of an HDF5 file, which is open only while it is read: an open one can't be written anew."""

    def __init__(self, path: Path, name: str, shape: tuple[int, ...]) -> None:
        self._path, self._name, self.shape = path, name, shape

    def __getitem__(self, rows: Any, /) -> NDArray[Any]:
        with h5py.File(self._path, "r") as file:
            return np.asarray(file[self._name][rows])


def _mat(path: Path) -> dict[str, Lazy]:
    level = matfile_version(path)[0]
    if level == 0:  # of level 4, whose reader is plain Python
        return {name: _Level4(path, name, shape) for name, shape, kind in whosmat(path) if kind == "double"}
    if level == 1:
        return {variable.name: variable for variable in mat5.variables(path) if variable.real}
    # v7.3 is HDF5, and MATLAB counts axes from the other end
    return {name: _Reversed(array) for name, array in _hdf5(path).items() if not name.startswith("#")}


class _Reversed:
    """An array with its axes in the opposite order."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape: tuple[int, ...] = array.shape[::-1]

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        found: NDArray[Any] = self._array[..., rows].T
        return found


class _Level4:
    """A variable of an old MATLAB file, loaded at the first look."""

    def __init__(self, path: Path, name: str, shape: tuple[int, ...]) -> None:
        self._path, self._name, self.shape = path, name, shape
        self._loaded: NDArray[Any] | None = None

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        if self._loaded is None:
            self._loaded = loadmat(self._path, variable_names=[self._name])[self._name]
        return self._loaded[rows]


def _parquet(path: Path) -> dict[str, Lazy]:
    return dict(columns_in(path))


def _real(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iuf"


OPENERS: dict[str, Callable[[Path], dict[str, Lazy]]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".mat": _mat,
    ".parquet": _parquet,
}
"""How each kind of file is opened; its keys are the endings that are read."""
