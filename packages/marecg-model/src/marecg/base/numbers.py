"""Read arrays of numbers, and check their values."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from sys import float_info
from typing import Any

import numpy as np

from ecg_base import refuse_pipe, refuse_zip_bomb
from marecg.errors import InputError


@contextmanager
def npz_arrays(path: Path, remedy: str) -> Iterator[Any]:
    """Open an `.npz` file in a `with` block, and yield its arrays by name.

    Raises `FileNotFoundError` if there is no file, and `InputError` if the file can't be read or is a zip
    bomb, a small file that would unpack to an enormous size. The error message ends with `remedy`.
    """
    refuse_pipe(path, remedy)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            refuse_zip_bomb(arrays.zip, path, remedy)
            yield arrays
    except (FileNotFoundError, InputError):
        raise
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"can't be read ({error})", where=path, remedy=remedy) from error


def refuse_impossible(
    values: Any,
    what: str,
    where: object,
    remedy: str,
    error: type[InputError] = InputError,
    *,
    least: float = -float_info.max,
    most: float = float_info.max,
) -> None:
    """Raise an error if an array or tensor contains a number that is too small, too large, infinite or NaN.

    Args:
        values: array or tensor.
        what: name of the array, which the error message contains.
        where: file of the array, which the error message contains.
        remedy: advice to the user, with which the error message ends.
        error: class of the error to raise.
        least: smallest allowed number.
        most: largest allowed number.
    """
    if not all(values.shape):
        return
    ends = float(values.min()), float(values.max())  # both are NaN if any value is NaN
    for value in ends:
        if not least <= value <= most:
            bound = f"at least {least:g}" if value < least else f"at most {most:g}"
            required = bound if isfinite(value) else "finite"
            raise error(f"{what} must be {required}, got {value:g}", where=where, remedy=remedy)
