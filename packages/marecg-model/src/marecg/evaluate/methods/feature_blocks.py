"""Store features in blocks as soon as they are computed, so that a killed probe or classifier can continue.

Shapes: B recordings of a block, F features.
"""

import hashlib
import logging
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_base import replacing
from marecg.base.numbers import npz_arrays
from marecg.errors import InputError

logger = logging.getLogger(__name__)


class Block(NamedTuple):
    """Features of B recordings.

    Attributes:
        x_BF: features, float32. They are NaN for an unusable recording.
        reasons: reason why a recording is unusable, or "".
    """

    x_BF: NDArray[np.float32]
    reasons: tuple[str, ...]


def write_block(folder: Path, key: str, block: Block) -> None:
    """Write a block to a file that is named by the hash of its key.

    The key must identify everything that the block was computed from. Raises `OutputError` if the file can't
    be written.
    """
    file = _file(folder, key)
    with replacing(file, private=True) as temporary, temporary.open("wb") as stream:
        np.savez(stream, key=np.array(file.stem), features=block.x_BF, reasons=np.array(block.reasons, str))


def read_block(folder: Path, key: str, records: int) -> Block | None:
    """Read the block with a key. Return None if there is no usable file with `records` recordings."""
    file = _file(folder, key)
    if not file.is_file():
        return None
    try:
        with npz_arrays(file, "Remove it") as arrays:
            x_BF, reasons, key_read = (arrays[name] for name in ("features", "reasons", "key"))
    except (InputError, FileNotFoundError) as error:
        logger.warning("%s is damaged (%s); computing the features again", file, error)
        return None
    same = str(key_read) == file.stem and x_BF.shape[:-1] == reasons.shape == (records,)
    if not (same and x_BF.dtype == np.float32 and (np.isfinite(x_BF).all(axis=1) == (reasons == "")).all()):
        logger.warning("%s belongs to other recordings; computing the features again", file)
        return None
    return Block(x_BF, tuple(reasons.tolist()))


def _file(folder: Path, key: str) -> Path:
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
