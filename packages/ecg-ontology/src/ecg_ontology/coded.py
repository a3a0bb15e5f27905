"""The codes of many records as integers: factorised once, labelled under any ontology, profile and rule.

Shapes: B records, K codes of all records together, V distinct codes.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ecg_ontology.errors import UsageError


@dataclass(frozen=True, eq=False)
class CodedRecords:
    """Lists of codes in the layout of an Arrow list column whose strings are dictionary-encoded.

    Attributes:
        vocabulary: the V distinct codes.
        ids: intp[K], the codes of all records, one record after another, as places in `vocabulary`.
        offsets: intp[B + 1]; record b has the ids from ``offsets[b]`` up to ``offsets[b + 1]``.

    Raises:
        UsageError: an id is no place in `vocabulary`, or the offsets don't cut the ids into records.

    Example:
        >>> import ecg_ontology
        >>> coded = ecg_ontology.CodedRecords.of([["54329005"], [], ["164889003", "54329005"]])
        >>> coded.vocabulary, coded.ids.tolist(), coded.offsets.tolist()
        (('54329005', '164889003'), [0, 1, 0], [0, 1, 1, 3])
    """

    vocabulary: tuple[str, ...]
    ids: NDArray[np.integer]
    offsets: NDArray[np.integer]

    def __post_init__(self) -> None:
        ids, offsets, size = self.ids, self.offsets, len(self.vocabulary)
        if len(ids) and not 0 <= ids.min() <= ids.max() < size:
            problem = f"ids run from {ids.min()} to {ids.max()}, and there are {size} codes"
            raise UsageError(problem, remedy="Give the place of each code in the vocabulary")
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
            problem = f"the offsets don't cut {len(ids)} ids into records"
            raise UsageError(
                problem, remedy="Let them rise from 0 to the number of ids, one more than records"
            )

    @classmethod
    def of(cls, records: Sequence[Sequence[str]]) -> "CodedRecords":
        """Factorise lists of codes; the vocabulary has them in the order of their first appearance."""
        place: defaultdict[str, int] = defaultdict()
        place.default_factory = place.__len__  # a code not met before takes the next place
        sizes = np.fromiter(map(len, records), np.intp, len(records))
        ids = np.fromiter(map(place.__getitem__, chain.from_iterable(records)), np.intp, sizes.sum())
        return cls(tuple(place), ids, np.append(0, sizes.cumsum()))

    def __len__(self) -> int:
        """The number of records."""
        return len(self.offsets) - 1
