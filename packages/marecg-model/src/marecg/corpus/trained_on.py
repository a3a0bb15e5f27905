"""List of a run's training records in its folder, against which a probe checks its records.

`trained_on.parquet` has a row per record of the corpus: what the world calls it and its patient, where they
are known, and the hash of its window. Where the run went on from given weights, the rows of what those were
trained on follow. The file's metadata has the windows' length and rate, and whether all records are listed.

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

from ecg_base import replacing
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
"""PTB-XL's folds that no task takes its val or test records from."""
TITLES = {PTBXL: "PTB-XL", CPSC2018: "CPSC2018"}
"""The datasets that the published tasks evaluate on."""


@dataclass(frozen=True)
class TrainedOn:
    """Training records of a run, and of the weights from which it started.

    What is known of the identities of those from published collections (`identity.published_as`), of patients
    (`identity.patient_of`) and of `hashes` of their windows (`signal_hash`), which have `windows` samples at
    `fs` Hz. `complete` says whether they are all; not so after weights that came without such a
    list.
    """

    identities: frozenset[str]
    patients: frozenset[str]
    hashes: frozenset[str]
    windows: frozenset[int]
    fs: int
    complete: bool = True

    def saw(self, x_CL: NDArray[np.floating]) -> bool:
        """Whether training saw a window of a record in mV, [C, L] at `fs`, its damaged leads mended."""
        windows = (window(x_CL, samples)[0] for samples in self.windows)
        return any(signal_hash(to_microvolts(d_CL)) in self.hashes for d_CL in windows)


def write(corpus: Corpus, run: Path, start: Path | None = None) -> None:
    """Write the list of a run's training records into its folder.

    `start` is the run folder of the weights that it begins from, if not from random ones; their records are
    added. Where it doesn't list them, the new file says that it isn't complete. Raises `InputError` where
    that list is damaged.
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
        for batch in rows.to_batches(BLOCK_ROWS):  # ten million rows aren't a list
            names, sources, patients = (column.to_pylist() for column in batch.columns[:3])
            labels = [*map(published_as, names, sources)], [*map(patient_of, sources, patients)]
            columns = [*(pa.array(names, pa.string()) for names in labels), batch.column("signal_hash")]
            file.write_table(pa.table(columns, schema=schema))
            if before:
                batches.append(columns[0])
        if start and before:
            theirs = _further(_rows(start), rows["signal_hash"], pa.chunked_array(batches, pa.string()))
            file.write_table(pa.table(theirs.columns, schema=schema))


def read(run: Path) -> TrainedOn | None:
    """Read the list of training records; None if the folder has no list. Raises `InputError`."""
    header = _header(run)
    if header is None:
        return None
    table = _rows(run)
    identities, patients, hashes = (frozenset(table[name].drop_null().to_pylist()) for name in HASH_COLUMNS)
    return replace(header, identities=identities, patients=patients, hashes=hashes)


def folder_beside(model: Path) -> Path:
    """Return the folder that lists a model's training records: its run's folder, else its own."""
    place = model.absolute()
    return place.parent if place.name == "model" else place


def lists_all(run: Path) -> bool:
    """Whether a run's folder lists all its training records. Raises `InputError` as `read` does."""
    header = _header(run)
    return header is not None and header.complete


def _header(run: Path) -> TrainedOn | None:
    """Read the file's metadata without its rows."""
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
    with _readable(run / FILE):
        return pq.read_table(run / FILE).select(HASH_COLUMNS)


def _further(theirs: pa.Table, hashes: pa.ChunkedArray, names: pa.ChunkedArray) -> pa.Table:
    """Return the rows whose signal, or whose known name, isn't among the given ones."""
    name = theirs["identity"]
    same_name = pc.or_(pc.is_null(name), pc.is_in(name, value_set=names))
    return theirs.filter(pc.invert(pc.and_(pc.is_in(theirs["signal_hash"], value_set=hashes), same_name)))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"can't be read ({error})", where=path, remedy="Remove it") from error


def signals_sha256(corpus: Corpus) -> str:
    """Return a hash of all signal hashes, which identifies a corpus' signals."""
    digest = hashlib.sha256()
    hashes = Texts[str](index.of(corpus.folder, ["signal_hash"])["signal_hash"])
    for first in range(0, len(hashes), BLOCK_ROWS):  # ten million of them aren't a list
        digest.update(("\n" if first else "").encode())
        digest.update("\n".join(hashes[first : first + BLOCK_ROWS]).encode())
    return digest.hexdigest()


def evaluation_records(corpus: Corpus) -> dict[str, int]:
    """Count the records of published evaluation datasets in a corpus, by title.

    A corpus that was prepared from PTB-XL's training folds alone holds none of it; the Challenges' copies
    don't name their fold, and count.
    """
    training_only = bool(corpus.config.ptbxl_folds) and set(corpus.config.ptbxl_folds) <= TRAINING_FOLDS
    counts = Counter(
        dataset_of(identity(record, source))
        for record, source in zip(corpus.ids, corpus.sources, strict=True)
        if not (training_only and source == PTBXL)
    )
    return {title: counts[name] for name, title in TITLES.items() if counts[name]}
