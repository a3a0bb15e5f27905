"""Codes of a corpus from WFDB headers, PTB-XL's database, or a table of codes or counts."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ecg_ontology.base.errors import InputError, UsageError
from ecg_ontology.base.reading import refuse_pipe
from ecg_ontology.base.tables import column_names, rows
from ecg_ontology.codes.code_tables import CodeTable
from ecg_ontology.codes.dx import CPSC_LABELS, diagnoses, header_comments
from ecg_ontology.graph.concepts import FrozenModel
from ecg_ontology.graph.routing import canonical_code

PAPER_SOURCES = ("Ningbo", "Georgia", "PTB")
"""The three sources of the pretraining corpus, as the official Dx map names their columns."""

PTBXL = "ptbxl_database.csv"
"""Names the statements of PTB-XL's records, whose headers name none."""

_LIKELIHOOD = r"\s*'([^']+)'\s*:\s*[0-9.]+\s*"
"""A statement in the column scp_codes, which holds them as Python writes a dictionary."""


class CorpusCodes(FrozenModel):
    """The codes of a corpus.

    Attributes:
        name: the path it was read from.
        counts: number of records by code.
        records: the code list of each record; `None` where only counts are known.
        sources: the columns that a table of counts was summed over.
    """

    name: str
    counts: dict[str, int]
    records: tuple[tuple[str, ...], ...] | None = None
    sources: tuple[str, ...] = ()


def read_corpus(path: str | Path, sources: Sequence[str] = ()) -> CorpusCodes:
    r"""Read the codes of a corpus.

    Args:
        path: a folder of WFDB headers, searched in depth; a PTB-XL release (its statements become ``scp:…``);
            a ``.parquet`` table with each record's list of codes in the column ``codes``; or a ``.csv`` of
            codes and counts.
        sources: columns of the ``.csv`` to add up; by default those of the paper's corpus where the table
            has them (Ningbo, Georgia, PTB), else ``count`` or ``total``.

    Returns:
        How often each code occurs, and the codes of each record where the source has them.

    Raises:
        InputError: the path is not there, can't be read, or holds no codes.
        UsageError: the table has no such column.

    Example:
        >>> import ecg_ontology, tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.hea").write_text("a 12 500 5000\n#Dx: 164889003,426783006\n")
        >>> ecg_ontology.read_corpus(folder).records
        (('164889003', '426783006'),)
    """
    path = Path(path)
    if path.suffix == ".parquet":
        return _from_records(path, _lists(path))
    if path.is_file():
        return _from_table(path, sources)
    if not path.is_dir():
        remedy = "Give a folder of headers, a .parquet of code lists, or a .csv of counts"
        raise InputError("is not there", where=path, remedy=remedy)
    if (path / PTBXL).is_file():
        return _from_table(path / PTBXL, sources)
    return _from_records(path, _headers(path))


def corpus_of(table: CodeTable) -> CorpusCodes:
    """Return the codes of a user's table as a corpus. Raises `InputError` if it has none."""
    return _from_records(table.path, tuple(table.codes.values()))


def _from_records(path: Path, records: tuple[tuple[str, ...], ...]) -> CorpusCodes:
    counts = Counter(code for codes in records for code in dict.fromkeys(codes))
    if not counts:
        remedy = "Headers name theirs in a comment, #Dx: 164889003,426783006; tables in the code column"
        raise InputError(f"names no code in any of its {len(records)} records", where=path, remedy=remedy)
    return CorpusCodes(name=str(path), counts=dict(counts), records=records)


def _headers(folder: Path) -> tuple[tuple[str, ...], ...]:
    headers = sorted(path for path in folder.rglob("*.hea") if not path.is_dir())
    if not headers:
        problem = "holds no WFDB header (.hea)"
        raise InputError(problem, where=folder, remedy="Give the folder that holds the records")
    return tuple(_codes_of(header) for header in headers)


def _codes_of(header: Path) -> tuple[str, ...]:
    """What the ``#Dx`` of one header names, CPSC2018's labels as codes; other text counts as what it is."""
    refuse_pipe(header, "Remove it, or give another folder", InputError)
    try:
        text = header.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=header) from error
    words = diagnoses(header_comments(text).get("dx", "")).words
    return tuple(dict.fromkeys(CPSC_LABELS.get(word, word) for word in words))


def _lists(table: Path) -> tuple[tuple[str, ...], ...]:
    if "codes" not in column_names(table):
        raise InputError("isn't a table with lists of codes in a column `codes`", where=table)
    return tuple(_codes_in(cell) for _, (cell,) in rows(table, ["codes"]))


def _codes_in(cell: object) -> tuple[str, ...]:
    """The codes of a cell: a list, or a text with one or several; numbers that have become floats too."""
    if isinstance(cell, str):
        return tuple(canonical_code(code) for code in re.split(r"[\s,;|]+", cell) if code)
    codes = cell if isinstance(cell, list) else [] if cell is None else [cell]
    return tuple(canonical_code(str(code)) for code in codes if code is not None and str(code) != "nan")


def _from_table(path: Path, sources: Sequence[str]) -> CorpusCodes:
    header = column_names(path)
    if "scp_codes" in header:
        texts = rows(path, ["scp_codes"])
        return _from_records(path, tuple(_statements(text, path, place) for place, (text,) in texts))
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
            problem = f"{place} counts {code} a second time"
            raise InputError(problem, where=path, remedy="Keep one row for each code")
        counts[code] = sum(_count(number, path, code) for number in numbers)
    return CorpusCodes(name=str(path), counts={code: n for code, n in counts.items() if n}, sources=chosen)


def _statements(text: str, path: Path, place: str) -> tuple[str, ...]:
    if not re.fullmatch(rf"\{{({_LIKELIHOOD}(,|(?=\}})))*\}}", text.strip()):
        problem = f"{place} names its statements as {text[:60]!r}"
        raise InputError(problem, where=path, remedy="Download PTB-XL again")
    return tuple(f"scp:{name}" for name in re.findall(_LIKELIHOOD, text))


def _count(text: str, path: Path, code: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InputError(f"counts {text!r} records of {code}", where=path, remedy="Counts are whole numbers")
    return int(text)
