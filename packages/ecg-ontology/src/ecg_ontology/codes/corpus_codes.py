"""Read the codes of a corpus (a collection of ECG records) from a table, or from records in memory.

A table has either the codes of each record, or the number of records for each code.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ecg_base import InputError, UsageError
from ecg_ontology.base.tables import column_names, rows
from ecg_ontology.graph.concepts import FrozenModel
from ecg_ontology.graph.routing import canonical_code

PAPER_SOURCES = ("Ningbo", "Georgia", "PTB")
"""Columns of the official table `Dx_map.csv` for the three sources of the pretraining corpus."""

_LIKELIHOOD = r"\s*'([^']+)'\s*:\s*[0-9.]+\s*"
"""Pattern of a statement in the column scp_codes, which contains Python dictionaries as text."""


class CorpusCodes(FrozenModel):
    """Codes of a corpus.

    Attributes:
        name: path of the table, or of the records.
        counts: number of records by code.
        records: codes of each record, or `None` if only counts are known.
        sources: columns of counts that were added up, if the corpus is a table of counts.
    """

    name: str
    counts: dict[str, int]
    records: tuple[tuple[str, ...], ...] | None = None
    sources: tuple[str, ...] = ()


def read_corpus(path: str | Path, sources: Sequence[str] = ()) -> CorpusCodes:
    r"""Read the codes of a corpus from a table.

    Args:
        path: a ``.parquet`` table with the list of codes of each record in the column ``codes``, a ``.csv``
            with a row per code (column ``code``) and columns of counts, or PTB-XL's ``ptbxl_database.csv``.
            PTB-XL's statements become ``scp:…``.
        sources: columns of the ``.csv`` to add up. By default the columns of the paper's corpus (Ningbo,
            Georgia, PTB) if the table has them, and ``count`` or ``total`` otherwise.

    Returns:
        The number of records of each code, and the codes of each record if the table contains them.

    Raises:
        InputError: the path doesn't exist or can't be read, or the table has no column of codes or no record
            with a code.
        UsageError: the table lacks a column of counts.

    Example:
        >>> import ecg_ontology, tempfile
        >>> table = Path(tempfile.mkdtemp()) / "counts.csv"
        >>> _ = table.write_text("code,count\n164889003,5\n")
        >>> read_corpus(table).counts
        {'164889003': 5}
    """
    path = Path(path)
    if path.suffix == ".parquet":
        return corpus_of(path, _lists(path))
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "doesn't exist"
        remedy = "Give a .parquet of code lists, or a .csv of codes and counts"
        raise InputError(problem, where=path, remedy=remedy)
    return _from_table(path, sources)


def corpus_of(path: Path, records: Iterable[tuple[str, ...]]) -> CorpusCodes:
    """Count the codes of records. `path` is the file or folder of the records.

    Raises:
        InputError: no record has a code.
    """
    records = tuple(records)
    counts = Counter(code for codes in records for code in dict.fromkeys(codes))
    if not counts:
        remedy = (
            "Write codes to headers as a comment (#Dx: 164889003,426783006), or to the column code of a table"
        )
        raise InputError(f"has no code in any of its {len(records)} records", where=path, remedy=remedy)
    return CorpusCodes(name=str(path), counts=dict(counts), records=records)


def _lists(table: Path) -> tuple[tuple[str, ...], ...]:
    if "codes" not in column_names(table):
        raise InputError("isn't a table with lists of codes in a column `codes`", where=table)
    return tuple(_codes_in(cell) for _, (cell,) in rows(table, ["codes"]))


def _codes_in(cell: object) -> tuple[str, ...]:
    """Return the codes of a cell. A cell is a list, a number, or a text with one or more codes."""
    if isinstance(cell, str):
        return tuple(canonical_code(code) for code in re.split(r"[\s,;|]+", cell) if code)
    codes = cell if isinstance(cell, list) else [] if cell is None else [cell]
    return tuple(canonical_code(str(code)) for code in codes if code is not None and str(code) != "nan")


def _from_table(path: Path, sources: Sequence[str]) -> CorpusCodes:
    header = column_names(path)
    if "scp_codes" in header:
        texts = rows(path, ["scp_codes"])
        return corpus_of(path, (_statements(text, path, place) for place, (text,) in texts))
    if "code" not in header:
        raise InputError("has no column `code`", where=path, remedy="Give a .csv with columns code and count")
    of_paper = tuple(column for column in PAPER_SOURCES if column in header)
    chosen = tuple(sources) or of_paper or tuple(c for c in ("count", "total") if c in header)[:1]
    missing = [column for column in chosen if column not in header]
    if missing or not chosen:
        problem = f"has no column {', '.join(missing) or 'count'}"
        raise UsageError(problem, where=path, remedy=f"It has {', '.join(header)}")
    counts: dict[str, int] = {}
    for place, (text, *numbers) in rows(path, ["code", *chosen]):
        code = canonical_code(text)
        if code in counts:
            problem = f"{code} must have one row, got a second row in {place}"
            raise InputError(problem, where=path, remedy="Merge the rows of the code")
        counts[code] = sum(_count(number, path, code) for number in numbers)
    return CorpusCodes(name=str(path), counts={code: n for code, n in counts.items() if n}, sources=chosen)


def _statements(text: str, path: Path, place: str) -> tuple[str, ...]:
    if not re.fullmatch(rf"\{{({_LIKELIHOOD}(,|(?=\}})))*\}}", text.strip()):
        problem = f"scp_codes must look like {{'NORM': 100.0}}, got {text[:60]!r} in {place}"
        raise InputError(problem, where=path, remedy="Download PTB-XL again")
    return tuple(f"scp:{name}" for name in re.findall(_LIKELIHOOD, text))


def _count(text: str, path: Path, code: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InputError(
            f"the count of {code} must be a whole number, got {text!r}",
            where=path,
        )
    return int(text)
