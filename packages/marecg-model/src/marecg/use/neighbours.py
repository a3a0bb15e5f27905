"""Exact search of nearest records in embeddings of any number, which are read block by block.

Shapes: B records of a block, W width of a vector.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ecg_records.record import as_text
from marecg.embedding.embedding_files import blocks, vectors
from marecg.errors import InputError, UsageError

SHOWN_COLUMNS = ("source", "patient", "codes")
"""What a folder of parts tells of each record beside its name."""


@dataclass(frozen=True)
class Near:
    """Nearest record: name, cosine to the query, and row in the file."""

    id: str
    cosine: float
    source: str | None = None
    patient: str | None = None
    codes: tuple[str, ...] = ()


def neighbours(embeddings: str | Path, record: str, top: int = 20, readout: str = "rhythm") -> list[Near]:
    """Find the records nearest to a record by cosine, the nearest first.

    `embeddings` is what `marecg embed` wrote, a file or a folder of parts, of which one block is in memory at
    a time; `record` one of its records by name, or by the last parts of its name where only one ends so;
    `readout` the column that is compared: `rhythm`, or what was embedded.

    Raises:
        UsageError: no record, or more than one, has that name; or the embeddings have no such column.
        InputError: the embeddings can't be read, or the record's vector is zero.
    """
    name = _whole_name(embeddings, as_text(record))
    query_W = _vector(embeddings, name, readout)
    best: list[Near] = []
    for block in blocks(embeddings, ["id", readout], SHOWN_COLUMNS):
        cosine_B = _cosines(vectors(block, readout), query_W, embeddings)
        cosine_B[pc.equal(block.column("id"), name).to_numpy(zero_copy_only=False)] = -np.inf
        near = np.argsort(-cosine_B, kind="stable")[:top]
        rows = block.drop_columns([readout]).take(pa.array(near)).to_pylist()
        best += [
            Near(**record | {"cosine": float(cosine), "codes": tuple(record.get("codes") or ())})
            for record, cosine in zip(rows, cosine_B[near], strict=True)
            if cosine > -np.inf
        ]
        best = sorted(best, key=lambda neighbour: -neighbour.cosine)[:top]  # stable: earlier records first
    return best


def _whole_name(embeddings: str | Path, record: str) -> str:
    """The record that is called so, or whose name ends so."""
    ending: set[str] = set()
    for block in blocks(embeddings, ["id"]):
        names = block.column("id")
        if pc.any(pc.equal(names, record)).as_py():
            return record
        ending.update(names.filter(pc.ends_with(names, f"/{record}")).to_pylist())
    if len(ending) == 1:
        return ending.pop()
    if ending:
        few = ", ".join(sorted(ending)[:3])
        raise UsageError(f"{record} is the name of {len(ending)} records", remedy=f"Name one: {few}")
    raise UsageError(f"has no record {record}", where=embeddings, remedy="Name one as its column id does")


def _vector(embeddings: str | Path, name: str, readout: str) -> NDArray[np.float32]:
    for block in blocks(embeddings, ["id", readout]):
        place = pc.index(block.column("id"), name).as_py()
        if place >= 0:
            x_W = vectors(block.slice(place, 1), readout)[0]
            length = float(np.linalg.norm(x_W))
            if not 0 < length < np.inf:
                problem = f"the vector of {name} has length {length:g}"
                raise InputError(problem, where=embeddings, remedy="Embed it again")
            unit_W: NDArray[np.float32] = x_W / np.float32(length)
            return unit_W
    raise AssertionError("its name was found")


def _cosines(
    x_BW: NDArray[np.float32], query_W: NDArray[np.float32], where: str | Path
) -> NDArray[np.float32]:
    if x_BW.shape[1] != len(query_W):
        problem = f"holds vectors of {x_BW.shape[1]} and of {len(query_W)} numbers"
        raise InputError(problem, where=where, remedy="Embed all parts by one model")
    norm_B = np.sqrt(np.einsum("bw,bw->b", x_BW, x_BW))
    cosine_B: NDArray[np.float32] = x_BW @ query_W / np.maximum(norm_B, np.finfo(np.float32).tiny)
    return cosine_B
