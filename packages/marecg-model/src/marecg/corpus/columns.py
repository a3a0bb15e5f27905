"""Columns of a corpus in Arrow's memory layout, which stores ten million names in two buffers.

Shapes: M records, B selected records, K beats.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

BLOCK_ROWS = 1 << 16
"""Number of values that are converted to Python objects at a time while a column is iterated."""
SHOWN = 10
"""Maximum number of texts in the `repr` of a column."""
Text = TypeVar("Text", str, str | None)


class Texts(Sequence[Text], Generic[Text]):
    """Column of strings, with None for unknown values. A column equals a list of the same strings.

    Example:
        >>> names = Texts(pa.array(["a", "b", "a"]))
        >>> names[1], names[-1], list(names[:2]), names == ["a", "b", "a"]
        ('b', 'a', ['a', 'b'], True)
        >>> names.counts(), names.among({"b"}).tolist()
        ({'a': 2, 'b': 1}, [False, True, False])
    """

    def __init__(self, values: Any) -> None:
        self.values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Text: ...

    @overload
    def __getitem__(self, index: slice) -> "Texts[Text]": ...

    def __getitem__(self, index: Any) -> Any:
        """Return a text, or a column for a slice."""
        selected = self.values[index]
        return Texts(selected) if isinstance(index, slice) else selected.as_py()

    def __repr__(self) -> str:
        few = [repr(text) for text in self[:SHOWN]]
        more = [f"… {len(self):,} in all"] if len(self) > SHOWN else []
        return f"[{', '.join(few + more)}]"

    def __iter__(self) -> Iterator[Text]:
        for first in range(0, len(self), BLOCK_ROWS):
            yield from self.values.slice(first, BLOCK_ROWS).to_pylist()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Texts):
            return bool(self.values.equals(other.values))
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def counts(self) -> dict[Text, int]:
        """Return the number of occurrences of every value, in order of first appearance."""
        return {count["values"]: count["counts"] for count in pc.value_counts(self.values).to_pylist()}

    def among(self, values: Collection[str]) -> NDArray[np.bool_]:
        """Return whether each value is in a set, bool [M]."""
        is_encoded = pa.types.is_dictionary(self.values.type)
        value_type = self.values.type.value_type if is_encoded else self.values.type
        is_among = pc.is_in(self.values, value_set=pa.array(list(values), value_type))
        return np.asarray(is_among.to_numpy(zero_copy_only=False), bool)


class BeatColumn(Sequence[NDArray[np.int64]]):
    """Column with the R-peaks of each record, int64 [K], ascending.

    Example:
        >>> beats = BeatColumn(pa.array([[5, 9], [], [7]], pa.list_(pa.int32())))
        >>> beats[0].tolist(), [len(each) for each in beats[1:]]
        ([5, 9], [0, 1])
        >>> beats.padded([2, 0]).tolist()
        [[7, -1], [5, 9]]
    """

    def __init__(self, values: Any) -> None:
        self._flat = values.values.to_numpy()
        self._ends = values.offsets.to_numpy()
        self.most = int(np.diff(self._ends).max(initial=0))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> NDArray[np.int64]: ...

    @overload
    def __getitem__(self, index: slice) -> list[NDArray[np.int64]]: ...

    def __getitem__(self, index: Any) -> Any:
        """Return the R-peaks of a record, or a list of R-peaks for a slice."""
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        return self._flat[self._ends[row] : self._ends[row + 1]].astype(np.int64)

    def padded(self, rows: ArrayLike) -> NDArray[np.int64]:
        """Return the R-peaks of selected records, int64 [B, K], padded with −1."""
        rows_B = np.asarray(rows, np.int64)
        index_BK = self._ends[rows_B][:, None] + np.arange(self.most)
        sample_BK = self._flat[np.minimum(index_BK, max(len(self._flat) - 1, 0))] if len(self._flat) else -1
        return np.where(index_BK < self._ends[rows_B + 1][:, None], sample_BK, -1).astype(np.int64)
