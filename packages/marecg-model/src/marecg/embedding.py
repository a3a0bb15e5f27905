"""What `marecg embed` and `marecg predict` do: records and arrays on disk in, named arrays out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import ecg_ontology
from ecg_ontology.files import replacing
from marecg.config import LEADS
from marecg.data.discovery import find
from marecg.data.records import Record, read_record
from marecg.errors import InputError, RecordError, UsageError
from marecg.inference import embed, predict
from marecg.model import MarEcg


@dataclass(frozen=True)
class Embedded:
    """What was embedded, and what could not be read, with the reason."""

    ids: list[str]
    failed: dict[str, str]


@dataclass(frozen=True)
class Neighbour:
    """A concept beside another in the graph, with its own probability."""

    abbr: str
    probability: float


@dataclass(frozen=True)
class Prediction:
    """One concept of a record: its share of q, and its neighbours' shares."""

    index: int
    abbr: str
    label: str
    probability: float
    neighbours: list[Neighbour]


def embed_files(
    run: str | Path,
    inputs: Sequence[str | Path],
    out: str | Path,
    *,
    fs: float | None = None,
    leads: Sequence[str] = LEADS,
) -> Embedded:
    """Embed WFDB headers, folders of records and `.npy` arrays into one `.npz` or `.parquet` file.

    The file holds `id` and `rhythm` [M, D].

    Args:
        run: a run folder.
        inputs: headers, folders, or arrays [records, leads, samples] in mV.
        out: where to write; its ending says how.
        fs: the sampling rate of the arrays in Hz.
        leads: the leads of the arrays, by name.

    Raises:
        UsageError: another ending, or an array without `fs`.
        InputError: not one record can be read.
    """
    out = Path(out)
    if out.suffix not in {".npz", ".parquet"}:
        raise UsageError(
            f"can't write {out.suffix or 'a file without ending'}", remedy="Use .npz or .parquet"
        )
    model = MarEcg.from_pretrained(Path(run) / "model")
    ids: list[str] = []
    rows: list[NDArray[np.float32]] = []
    failed: dict[str, str] = {}
    for given in map(Path, inputs):
        if given.suffix == ".npy":
            if fs is None:
                raise UsageError("an array needs its sampling rate", where=given, remedy="Add --fs, in Hz")
            rhythm_BD = embed(model, _array(given), fs=fs, leads=leads).rhythm
            ids += [f"{given.stem}/{row}" for row in range(len(rhythm_BD))]
            rows += list(rhythm_BD)
            continue
        for name, record in _records(given):
            if isinstance(record, RecordError):
                failed[name] = str(record)
                continue
            ids.append(name)
            rows.append(embed(model, record.x_CL[None], fs=record.fs).rhythm[0])
    if not rows:
        raise InputError(
            "not one record could be read", where=", ".join(map(str, inputs)), remedy="See above"
        )
    with replacing(out) as temporary:
        _write(temporary, ids, np.stack(rows))
    return Embedded(ids, failed)


def predict_file(run: str | Path, record: str | Path, top: int = 5) -> list[Prediction]:
    """The concepts that a record is nearest to, most probable first, each with its graph neighbours.

    Raises:
        RecordError: the record can't be read.
        UsageError: the run was trained without GSCL.
    """
    folder = Path(run) / "model"
    model = MarEcg.from_pretrained(folder)
    onto = ecg_ontology.load(folder / "ontology.json")
    header = Path(record).with_suffix(".hea")
    read = read_record(header, header.parent)
    q_N = predict(model, read.x_CL[None], fs=read.fs)[0]
    return [
        Prediction(
            int(index),
            onto.nodes[index].abbr,
            onto.nodes[index].label,
            float(q_N[index]),
            [
                Neighbour(onto.nodes[near].abbr, float(q_N[near]))
                for near in np.flatnonzero(onto.adjacency[index])
            ],
        )
        for index in np.argsort(-q_N)[:top]
    ]


def _records(given: Path) -> Iterator[tuple[str, Record | RecordError]]:
    if given.is_dir():
        for candidate in find([given]):
            try:
                yield f"{candidate.source}/{candidate.file.stem}", candidate.read()
            except RecordError as error:
                yield str(candidate.file), error
        return
    header = given.with_suffix(".hea")
    try:
        yield header.stem, read_record(header, header.parent)
    except RecordError as error:
        yield str(header), error


def _array(path: Path) -> NDArray[np.float32]:
    try:
        x_BCL: NDArray[np.float32] = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"is no array ({error})", where=path, remedy="Save it with numpy.save") from error
    return x_BCL


def _write(path: Path, ids: list[str], rhythm_MD: NDArray[np.float32]) -> None:
    if path.suffix == ".npz":
        np.savez_compressed(path, id=np.array(ids), rhythm=rhythm_MD)
        return
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rhythm_MD.ravel()), rhythm_MD.shape[1])
    pq.write_table(pa.table({"id": ids, "rhythm": vectors}), path)
