"""Encode the codes of many records as integers, so that computing their targets is fast.

The encoding doesn't depend on the ontology, so it can be used with several ontologies, profiles and rules.

Shapes: B records, K codes of all records together, V distinct codes.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ecg_base import UsageError
from ecg_ontology.graph.concepts import Route, Status
from ecg_ontology.graph.routing import canonical_code, code_text, malformation

logger = logging.getLogger(__name__)

_BETWEEN_CODES = re.compile(r"[\s,;|]+")


@dataclass(frozen=True, eq=False)
class CodedRecords:
    """Lists of codes in the layout of an Arrow list column with dictionary-encoded strings.

    Attributes:
        vocabulary: the V distinct codes.
        ids: intp[K], the codes of all records in order, as positions in `vocabulary`.
        offsets: intp[B + 1]. The ids of record b are ``ids[offsets[b] : offsets[b + 1]]``.

    Raises:
        UsageError: an id isn't a position in `vocabulary`, or the offsets don't divide the ids into records.

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
            problem = f"ids must be from 0 to {size - 1}, got {ids.min()} to {ids.max()}"
            raise UsageError(problem, remedy="Pass a vocabulary that has every code")
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
            problem = f"offsets must rise from 0 to the number of ids, which is {len(ids)}"
            remedy = "Give one offset per record, and the number of ids at the end"
            raise UsageError(problem, remedy=remedy)

    @classmethod
    def of(cls, records: Sequence[Sequence[str | int]]) -> "CodedRecords":
        """Encode the codes of records. The vocabulary is in the order of first appearance.

        Args:
            records: lists of codes, as text or integers.

        Raises:
            UsageError: a record isn't a list, or a code is neither text nor an integer.
        """
        position: defaultdict[str | int, int] = defaultdict()
        position.default_factory = position.__len__  # a new code gets the next position
        try:
            if any(issubclass(kind, str | bytes | Mapping) for kind in set(map(type, records))):
                raise TypeError  # letters of a string or keys of a dictionary would be taken for codes
            sizes = np.fromiter(map(len, records), np.intp, len(records))
            ids = np.fromiter(map(position.__getitem__, chain.from_iterable(records)), np.intp, sizes.sum())
        except TypeError:
            _refuse_other_than_lists(records)
            raise
        codes = [code_text(code) for code in position]
        _refuse_joined(codes)
        vocabulary = {code: number for number, code in enumerate(dict.fromkeys(codes))}
        if len(vocabulary) < len(codes):  # a code occurs both as a number and as text
            ids = np.array([vocabulary[code] for code in codes], np.intp)[ids]
        return cls(tuple(vocabulary), ids, np.append(0, sizes.cumsum()))

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.offsets) - 1


def _refuse_joined(codes: Sequence[str]) -> None:
    """Raise if a text contains several codes."""
    for code in codes:
        parts = _BETWEEN_CODES.split(code.strip()) if _BETWEEN_CODES.search(code) else []
        if len(parts) > 1 and not any(malformation(canonical_code(part)) for part in parts):
            problem = f"a string must be a single code, got {len(parts)} codes in {code[:60]!r}"
            raise UsageError(problem, remedy="Split it into a list")


def _refuse_other_than_lists(records: object) -> None:
    remedy = 'Give a list of codes for each record, such as [["164889003"], []]'
    if isinstance(records, str | bytes) or not isinstance(records, Collection):
        raise UsageError(f"records must be a list, got {str(records)[:60]!r}", remedy=remedy)
    for number, record in enumerate(records):
        if isinstance(record, str | bytes) or not isinstance(record, Collection):
            raise UsageError(f"record {number} must be a list of codes, got {record!r}", remedy=remedy)
        if isinstance(record, Mapping):
            statements = [f"scp:{name}" for name in record][:3]
            remedy = f"List the true statements, such as {statements}"
            problem = f"record {number} must be a list of codes, got the dictionary {str(record)[:60]}"
            raise UsageError(problem, remedy=remedy)
        for code in record:
            code_text(code)


def mention_strange(routes: Sequence[Route], strict: bool) -> None:
    """Log a warning about unknown or malformed codes, or raise `UsageError` if `strict`."""
    strange = {status: [route for route in routes if route.status is status] for status in _STRANGE}
    kinds = [f"{len(found)} {status}" for status, found in strange.items() if found]
    if kinds:
        first = ", ".join(repr(route.code[:60]) for found in strange.values() for route in found[:3])
        problem = f"{' and '.join(kinds)} of {len(routes)} codes are ignored: {first}"
        if strict:
            raise UsageError(problem, remedy="Correct the codes, or leave out strict")
        logger.warning("%s", problem)


_STRANGE = (Status.unknown, Status.invalid)
