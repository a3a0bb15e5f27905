"""Shares of all concepts by name: the result of `marecg.predict`, which also works as an array.

Shapes: B records, N concepts.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marecg.errors import UsageError

if TYPE_CHECKING:
    from pandas import DataFrame


class ConceptShares:
    """Shares q of N concepts in each of B records. The shares of a record add up to 1.

    A larger share means that the record is more similar to the concept. A share isn't the probability that
    the record has the finding (docs/answers.md).

    Indexing, iteration and attributes work as for the array `probabilities`. An abbreviation as index returns
    the column of that concept.

    Attributes:
        probabilities: the shares, float32 [B, N].
        id2label: label of each concept, by the number of its column.
        concepts: abbreviations of the concepts, in the order of the columns.

    Example:
        >>> q = ConceptShares(np.array([[0.25, 0.75]]), {"NSR": "Sinus rhythm", "AF": "Atrial fibrillation"})
        >>> q["AF"].tolist(), q.argmax(1).tolist(), q.id2label[1]
        ([0.75], [1], 'Atrial fibrillation')
    """

    def __init__(self, probabilities: NDArray[np.float32], labels: dict[str, str]) -> None:
        self.probabilities = probabilities
        self.concepts = tuple(labels)
        self.id2label = dict(enumerate(labels.values()))

    def to_frame(self) -> "DataFrame":
        """Return a table with a row per record and a column per concept."""
        from pandas import DataFrame  # noqa: PLC0415 (few users need a table)

        return DataFrame(self.probabilities, columns=list(self.concepts))

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self.probabilities[key]
        if key not in self.concepts:
            raise UsageError(f"unknown concept {key!r}", remedy=f"Choose from {', '.join(self.concepts)}")
        return self.probabilities[:, self.concepts.index(key)]

    def __len__(self) -> int:
        return len(self.probabilities)

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return iter(self.probabilities)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.probabilities, dtype=dtype, copy=copy)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "probabilities":  # `copy` reads it before it is set
            raise AttributeError(name)
        return getattr(self.probabilities, name)

    def __repr__(self) -> str:
        return f"ConceptShares of {len(self)} records over {len(self.concepts)} concepts"

    def _repr_html_(self) -> str:
        html: str = self.to_frame().to_html(float_format="{:.3f}".format)
        return html
