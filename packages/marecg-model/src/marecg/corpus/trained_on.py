"""List the training records of a run in a file of the run folder.

With this list, probes detect test records on which the model was trained (leaks).

`trained_on.parquet` has a row per record of the corpus: published name and patient, if known, and hash of the
window. If the run started from the weights of another model, the rows of that model's training records
follow. The metadata of the file contains the length and sampling rate of the windows, and whether the list is
complete.

Shapes: C leads, L samples.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ecg_base import parquet_batches, replacing
from ecg_records.readers.identity import CPSC2018, PTBXL, dataset_of, identity, patient_of, published_as
from marecg.base.numbers import refuse_impossible
from marecg.corpus import index
from marecg.corpus.columns import BLOCK_ROWS, Texts
from marecg.corpus.prepared import Corpus
from marecg.errors import InputError
from marecg.model.stored_signal import signal_hash, to_microvolts, window

FILE = "trained_on.parquet"
HASH_COLUMNS = ("identity", "patient", "signal_hash")
TRAINING_FOLDS = frozenset(range(1, 9))
"""Folds of PTB-XL that no task uses for validation or testing."""
TITLES = {PTBXL: "PTB-XL", CPSC2018: "CPSC2018"}
"""Datasets with published tasks, and their titles."""


@dataclass(frozen=True)
class TrainedOn:
    """Training records of a run, and of the weights from which it started.

    Attributes:
        identities: Published names of records from published collections (`identity.published_as`).
        patients: Known patients (`identity.patient_of`).
        hashes: Hashes of the windows (stored signals; `signal_hash`).
        windows: Lengths of the windows, in samples.
        fs: Sampling rate of the windows, in Hz.
        complete: False if the starting weights came without a complete list.
    """

    identities: frozenset[str]
    patients: frozenset[str]
    hashes: frozenset[str]
    windows: frozenset[int]
    fs: int
    complete: bool = True

    def saw(self, x_CL: NDArray[np.floating]) -> bool:
        """Return whether the model was trained on the beginning of a record.

        The record is cut to each length in `windows`, and its hash is looked up in `hashes`.

        Args:
            x_CL: Signal of the record in mV at `fs`, with repaired leads as in a corpus.
        """
        windows = (window(x_CL, samples)[0] for samples in self.windows)
        return any(signal_hash(to_microvolts(d_CL)) in self.hashes for d_CL in windows)


def write(corpus: Corpus, run: Path, start: Path | None = None) -> None:
    """Write the list of a run's training records into its folder.

    Args:
        corpus: Corpus of the run.
        run: Run folder.
        start: Folder with the list of the starting weights, whose records are added. If that list is missing
            or incomplete, the new list is marked as incomplete. None if the starting weights are random.

    Raises:
        InputError: If the list in `start` is damaged.
    """
    rows = index.of(corpus.folder, ["id", "source", "patient", "signal_hash"])
    before = _header(start) if start else None
    complete = start is None or (before is not None and before.complete)
    windows = {corpus.config.window, *(before.windows if before else ())}
    header = {
        "window": str(corpus.config.window),
        "windows": " ".join(map(str, sorted(windows))),
        "fs": str(corpus.config.fs),
        "complete": "true" if complete else "false",
    }
    schema = pa.schema(dict.fromkeys(HASH_COLUMNS, pa.string()), metadata=header)
    with (
        replacing(run / FILE, private=True) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as file,
    ):
        batches: list[pa.Array] = []
        for batch in rows.to_batches(BLOCK_ROWS):  # ten million rows are too many for a list
            names, sources, patients = (column.to_pylist() for column in batch.columns[:3])
            labels = [*map(published_as, names, sources)], [*map(patient_of, sources, patients)]
            columns = [*(pa.array(names, pa.string()) for names in labels), batch.column("signal_hash")]
            file.write_table(pa.table(columns, schema=schema))
            if before:
                batches.append(columns[0])
        if start and before:
            further = _further(_rows(start), rows["signal_hash"], pa.chunked_array(batches, pa.string()))
            file.write_table(pa.table(further.columns, schema=schema))


def read(run: str | Path) -> TrainedOn | None:
    """Read the list of training records, or return None if the folder has no list.

    Raises `InputError` if the list is damaged.
    """
    run = Path(run)
    header = _header(run)
    if header is None:
        return None
    table = _rows(run)
    identities, patients, hashes = (frozenset(table[name].drop_null().to_pylist()) for name in HASH_COLUMNS)
    return replace(header, identities=identities, patients=patients, hashes=hashes)


def folder_beside(model: Path) -> Path:
    """Return the folder that contains the list of a model's training records.

    This is the run folder if the model's folder is called `model`, otherwise the model's folder.
    """
    folder = model.absolute()
    return folder.parent if folder.name == "model" else folder


def lists_all(run: Path) -> bool:
    """Return whether a run folder lists all training records. Raises `InputError` if the list is damaged."""
    header = _header(run)
    return header is not None and header.complete


def _header(run: Path) -> TrainedOn | None:
    """Read the metadata of the list without its rows, or return None if there is no list."""
    path = run / FILE
    if not path.is_file():
        return None
    nothing: frozenset[str] = frozenset()
    with _readable(path):
        metadata = pq.read_schema(path).metadata
        windows = frozenset(map(int, metadata.get(b"windows", metadata[b"window"]).split()))
        complete = metadata.get(b"complete", b"true") == b"true"
        empty = TrainedOn(nothing, nothing, nothing, windows, int(metadata[b"fs"]), complete)
    refuse_impossible(np.array([empty.fs, *windows]), "fs or window", path, "Remove it", least=1)
    return empty


def _rows(run: Path) -> pa.Table:
    path = run / FILE
    return pa.concat_tables(parquet_batches(path, HASH_COLUMNS, where=path, remedy="Remove it"))


def _further(other_rows: pa.Table, hashes: pa.ChunkedArray, names: pa.ChunkedArray) -> pa.Table:
    """Return the rows of another run's list that this run's list doesn't contain.

    Args:
        other_rows: Rows of the other list.
        hashes: Signal hashes in this list.
        names: Published names in this list.
    """
    name = other_rows["identity"]
    same_name = pc.or_(pc.is_null(name), pc.is_in(name, value_set=names))
    same_signal = pc.is_in(other_rows["signal_hash"], value_set=hashes)
    return other_rows.filter(pc.invert(pc.and_(same_signal, same_name)))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"can't be read ({error})", where=path, remedy="Remove it") from error


def signals_sha256(corpus: Corpus) -> str:
    """Return a hash of all signals of a corpus."""
    digest = hashlib.sha256()
    hashes = Texts[str](index.of(corpus.folder, ["signal_hash"])["signal_hash"])
    for first in range(0, len(hashes), BLOCK_ROWS):  # ten million hashes are too many for a list
        digest.update(("\n" if first else "").encode())
        digest.update("\n".join(hashes[first : first + BLOCK_ROWS]).encode())
    return digest.hexdigest()


def evaluation_records(corpus: Corpus) -> dict[str, int]:
    """Count the records in a corpus that belong to datasets with published tasks, by the dataset's title.

    PTB-XL records don't count if the corpus was prepared only from PTB-XL's training folds. Records from the
    copies in the PhysioNet/CinC Challenges always count, because the copies don't state the folds.
    """
    training_only = bool(corpus.config.ptbxl_folds) and set(corpus.config.ptbxl_folds) <= TRAINING_FOLDS
    counts = Counter(
        dataset_of(identity(record, source))
        for record, source in zip(corpus.ids, corpus.sources, strict=True)
        if not (training_only and source == PTBXL)
    )
    return {title: counts[name] for name, title in TITLES.items() if counts[name]}
