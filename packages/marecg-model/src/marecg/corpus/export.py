"""`marecg export`: a prepared corpus for other tools, as HDF5 or Parquet, a few records at a time.

Both hold the windows as int16 [12, window] in whole µV under `signal_uv`, and whatever the index knows of
each record. A value times float32 1e-3 is in mV, and equals `Corpus.signals` bit for bit.

Shapes: C leads, L samples, n records of a piece.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ecg_ontology import refuse_others, replacing
from marecg.base.config import LEADS
from marecg.base.errors import UsageError
from marecg.corpus import index
from marecg.corpus.prepared import Corpus, read_about, refuse_own
from marecg.ecg.signal import MILLIVOLTS_PER_UNIT

PIECE = 128
"""Records at a time, and per row group: 14 MB."""
SIGNAL = "signal_uv"
_PART = re.compile(r"\d{5,}\.parquet")
_INSIDE = ["shard", "row"]
"""Columns of the index that mean nothing outside the corpus folder."""


def export(folder: str | Path, out: str | Path) -> int:
    """Write a corpus as one file, or as a folder of Parquet files, one per shard; the number of records.

    Nobody but the owner and the group may read it: it says who is a patient where. `out` ends in `.h5`,
    `.hdf5` or `.parquet`; without an ending, it is a folder.

    Raises:
        UsageError: another ending, a folder that holds something else, or a file of the corpus.
        CorpusError: the folder isn't a corpus.
        OutputError: `out` can't be written.
    """
    out = Path(out)
    if out.suffix not in WRITERS:
        remedy = "Use .h5, .hdf5, .parquet, or a name without an ending for a folder"
        raise UsageError(f"can't write {out.suffix}", where=out, remedy=remedy)
    if not out.suffix:  # an older export may be replaced
        refuse_others(out, _PART.fullmatch)
    corpus = Corpus.open(folder)
    refuse_own(corpus.folder, out)
    with replacing(out) as temporary:
        try:
            WRITERS[out.suffix](corpus, temporary)
        except RuntimeError as error:  # HDF5's, when the disk is full as it closes the file
            raise OSError(str(error)) from error
        index.keep_private(temporary)
    return len(corpus)


def pieces(corpus: Corpus, shard: str | None = None) -> Iterator[tuple[pa.Table, NDArray[np.int16]]]:
    """The index rows and windows of every few records, in the corpus' order; of one shard, if named."""
    first = 0
    rows = index.read(corpus.folder / "index.parquet").drop_columns(_INSIDE)
    for name, count in read_about(corpus.folder)["shards"].items():
        signals = np.load(corpus.folder / "shards" / name, mmap_mode="r", allow_pickle=False)
        for start in range(0, count if shard in (None, name) else 0, PIECE):
            d_nCL = signals[start : start + PIECE]
            yield rows.slice(first + start, len(d_nCL)), d_nCL
        first += count


def _about(corpus: Corpus) -> dict[str, Any]:
    """What holds for the whole corpus."""
    return {
        "fs": corpus.config.fs,
        "leads": list(LEADS),
        "unit": "µV",
        "mv_per_unit": float(MILLIVOLTS_PER_UNIT),
        "nodes": [node.abbr for node in corpus.ontology().nodes],
        "profile": corpus.profile,
        "ontology_sha256": corpus.ontology_sha256,
    }


def _hdf5(corpus: Corpus, path: Path) -> None:
    """`signal_uv` [M, 12, window], `y` [M, N], and a dataset per column; the rest as attributes."""
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        for name, value in _about(corpus).items():
            file.attrs.create(name, value, dtype=text if isinstance(value, str | list) else None)
        shape = (len(corpus), len(LEADS), corpus.config.window)
        signal = file.create_dataset(SIGNAL, shape, np.int16)
        file["y"] = corpus.y
        columns: dict[str, Any] = {
            field.name: file.create_dataset(field.name, len(corpus), _hdf5_type(field.type))
            for field in index.SCHEMA
            if field.name not in _INSIDE
        }
        first = 0
        for rows, d_nCL in pieces(corpus):
            place = slice(first, first + len(d_nCL))
            signal[place] = d_nCL
            for name, column in columns.items():
                _store(column, place, rows[name])
            first = place.stop


def _hdf5_type(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind) and not pa.types.is_string(kind.value_type):
        return h5py.vlen_dtype(kind.value_type.to_pandas_dtype())
    return kind.to_pandas_dtype() if pa.types.is_primitive(kind) else h5py.string_dtype()


def _store(column: h5py.Dataset, rows: slice, values: pa.ChunkedArray) -> None:
    """Write values as HDF5 can hold them: no string as an empty one, no number as NaN, strings as JSON."""
    if pa.types.is_primitive(values.type):
        column[rows] = values.to_numpy()
    elif pa.types.is_string(values.type):
        column[rows] = values.fill_null("").to_pylist()
    elif pa.types.is_string(values.type.value_type):
        column[rows] = [json.dumps(each, ensure_ascii=False) for each in values.to_pylist()]
    else:
        for place, each in enumerate(values.to_pylist(), rows.start):
            column[place] = each


def _parquet(corpus: Corpus, path: Path, shard: str | None = None) -> None:
    """One row per record: the index's columns, the names of its leaves, and its window as lists per lead."""
    window = pa.list_(pa.list_(pa.int16(), corpus.config.window), len(LEADS))
    fields = [field for field in index.SCHEMA if field.name not in _INSIDE]
    about = {"marecg": json.dumps(_about(corpus), ensure_ascii=False)}
    schema = pa.schema([*fields, (SIGNAL, window)], metadata=about)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for rows, d_nCL in pieces(corpus, shard):
            leads = pa.FixedSizeListArray.from_arrays(pa.array(d_nCL.ravel()), corpus.config.window)
            cells = pa.FixedSizeListArray.from_arrays(leads, len(LEADS))
            writer.write_table(rows.append_column(SIGNAL, cells).cast(schema), row_group_size=PIECE)


def _folder(corpus: Corpus, path: Path) -> None:
    path.mkdir()
    for name in read_about(corpus.folder)["shards"]:
        _parquet(corpus, path / f"{Path(name).stem}.parquet", name)


WRITERS: dict[str, Callable[[Corpus, Path], None]] = {
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".parquet": _parquet,
    "": _folder,
}
"""How each kind of output is written, by ending."""
