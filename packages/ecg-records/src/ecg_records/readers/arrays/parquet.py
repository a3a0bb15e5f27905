"""Read signals from Parquet files: a column of lists, or a column per lead.

If the cells are lists, each row is a record. A single column holds [leads][samples] or [samples][leads].
Columns named after leads hold [samples]. If columns named after leads hold plain numbers, the file is a
single record with a row per sample. Records may differ in length. Only a compressed row group and a few rows
are in memory at a time.

Shapes: K leads of the file, L samples.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ecg_records.readers.arrays.clock import RECORD, TIME, Clock, clock_of
from ecg_records.readers.arrays.lazy_array import Unpacked
from ecg_records.signal.leads import is_lead
from ecg_records.stretch import LONGEST

BLOCK_ROWS = 16
"""Number of rows to decode at a time."""
TABLE_BATCH = 1 << 16
"""Number of rows to decode at a time if a row is a sample."""
BUFFER = 1 << 20
"""Bytes of a column to read at a time. Without this limit, pyarrow reads a whole row group."""
MOST_NUMBERS = 1 << 25
"""Maximum number of values in a record, and in the rows decoded at a time. They take a quarter of a
gigabyte."""
LEAD_COLUMNS = "the lead columns"
"""Name of the array that consists of all columns named after leads."""


def columns_in(path: Path) -> Iterator[tuple[str, "Nested | Unpacked"]]:
    """Yield the arrays of a file, each with its name.

    The columns named after leads are a single array named `LEAD_COLUMNS`. A column of nested lists is an
    array with the name of the column.
    """
    file = pq.ParquetFile(path, buffer_size=BUFFER)
    leads = {field.name: field for field in file.schema_arrow if is_lead(field.name)}
    kinds = {_depth(field.type) for field in leads.values()}
    alike = [field.name for field in file.schema_arrow if {_depth(field.type)} == kinds]
    # Names that start with two underscores belong to pandas' index.
    other_columns = (name for name in alike if name not in leads and not name.startswith("__"))
    unused = tuple(name for name in other_columns if name.lower() not in {*TIME, *RECORD})
    if kinds in ({0}, {1}):
        names_in_file = [field.name for field in leads.values()]
        if kinds == {1}:
            yield LEAD_COLUMNS, Nested(file, names_in_file, tuple(leads), unused)
        else:  # a single record with a row per sample
            rows, pieces = file.metadata.num_rows, partial(_samples, file, names_in_file)
            clock = _clock(file)
            if clock is not None and (clock.order is not None or clock.places is not None):
                rows, pieces = clock.length, partial(_arranged, file, names_in_file, clock)
            yield (
                LEAD_COLUMNS,
                Unpacked(
                    (rows, len(leads)),
                    np.dtype(np.float64),
                    pieces,
                    leads=tuple(leads),
                    unused=unused,
                    clocks=() if clock is None else (clock,),
                ),
            )
    for field in file.schema_arrow:
        if _depth(field.type) == 2:
            yield field.name, Nested(file, [field.name])


def _depth(column_type: pa.DataType) -> int:
    """Return the nesting depth of a column's numbers: 0 for plain numbers, −1 if there are no numbers."""
    is_list = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if any(is_type(column_type) for is_type in is_list):
        inner = _depth(column_type.value_type)
        return inner + 1 if inner >= 0 else inner
    return 0 if pa.types.is_integer(column_type) or pa.types.is_floating(column_type) else -1


class Nested:
    """Records that are stored as lists in the cells of a table, a row per record.

    The rows are read in order, a few at a time.

    Attributes:
        shape: Number of records, and shape of the first record. Other records may differ in length.
        leads: Lead names if the columns are named after leads, and empty otherwise.
        unused: Names of columns that aren't read.
    """

    ragged = True

    def __init__(
        self,
        file: pq.ParquetFile,
        columns: list[str],
        leads: tuple[str, ...] = (),
        unused: tuple[str, ...] = (),
    ) -> None:
        self._file, self._columns, self.leads, self.unused = file, columns, leads, unused
        groups = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
        self._starts = np.cumsum([0, *groups])
        self._restart(0)
        first = next(self._rows, None)
        self.shape: tuple[int, ...] = (file.metadata.num_rows, *(first.shape if first is not None else ()))
        self._restart(0)

    def __getitem__(self, key: tuple[slice, ...], /) -> Sequence[NDArray[Any]]:
        first, stop, _ = key[0].indices(self.shape[0])
        group = int(np.searchsorted(self._starts, first, side="right")) - 1
        if not self._starts[group] <= self._next <= first:
            self._restart(group)
        records = []
        while self._next < stop:
            record = next(self._rows)
            if self._next >= first:
                records.append(record)
            self._next += 1
        return records

    def _restart(self, group: int) -> None:
        self._next = int(self._starts[group])
        self._rows = self._read(range(group, self._file.num_row_groups))

    def _read(self, groups: Sequence[int]) -> Iterator[NDArray[Any]]:
        rows = min((self._rows_at_a_time(group) for group in groups), default=BLOCK_ROWS)
        for batch in self._file.iter_batches(rows, row_groups=list(groups), columns=self._columns):
            for row in range(len(batch)):
                cells = [_unpacked(batch.column(name)[row].values) for name in self._columns]
                yield cells[0] if len(cells) == 1 else np.stack(cells)

    def _rows_at_a_time(self, group: int) -> int:
        """Return the number of rows of a row group to decode at a time.

        Raises `ValueError` if a single row is too large.
        """
        metadata = self._file.metadata.row_group(group)
        numbers: int = sum(
            column.num_values
            for column in map(metadata.column, range(metadata.num_columns))
            if column.path_in_schema.partition(".")[0] in self._columns
        )
        if numbers > MOST_NUMBERS * metadata.num_rows:
            found = numbers // max(metadata.num_rows, 1)
            raise ValueError(f"records must have at most {MOST_NUMBERS:,} numbers, got {found:,}")
        rows: int = metadata.num_rows
        return max(1, min(BLOCK_ROWS, MOST_NUMBERS * rows // max(numbers, 1)))


def _samples(file: pq.ParquetFile, columns: list[str]) -> Iterator[bytes]:
    for batch in file.iter_batches(TABLE_BATCH, columns=columns):
        rows = np.stack([batch[name].to_numpy(zero_copy_only=False) for name in columns], axis=1)
        yield rows.astype(np.float64).tobytes()


def _clock(file: pq.ParquetFile) -> Clock | None:
    """Return the time column of a file with a single record, or None."""
    names = {field.name.lower(): field for field in file.schema_arrow}
    field = next((names[name] for name in TIME if name in names), None)
    if field is None or file.metadata.num_rows > LONGEST:
        return None
    cells = file.read([field.name]).column(0).to_pandas()
    return clock_of(field.name.lower(), cells, LONGEST)


def _arranged(file: pq.ParquetFile, columns: list[str], clock: Clock) -> Iterator[bytes]:
    """Yield the bytes of all rows, sorted by time."""
    x_LK = np.frombuffer(b"".join(_samples(file, columns))).reshape(-1, len(columns))
    yield clock.arranged(x_LK).tobytes()


def _unpacked(values: pa.Array) -> NDArray[Any]:
    """Return a list of numbers, or of lists of equal length, as an array."""
    if not hasattr(values, "flatten") or _depth(values.type) == 0:
        return np.asarray(values.to_numpy(zero_copy_only=False))
    lengths = pc.unique(pc.list_value_length(values)).to_pylist()
    if len(lengths) != 1:
        raise ValueError("the leads of a record must have the same length")
    return np.asarray(values.flatten().to_numpy(zero_copy_only=False)).reshape(len(values), lengths[0])
