"""The codes of a corpus: from WFDB headers, from a prepared corpus, or from a table of counts."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ecg_ontology.concepts import Frozen
from ecg_ontology.errors import InputError, UsageError

PAPER_SOURCES = ("Ningbo", "Georgia", "PTB")
"""The three sources of the pretraining corpus, as the official Dx map names their columns."""

_DX = re.compile(r"#\s*Dx:(.*)", re.IGNORECASE)


class Corpus(Frozen):
    """What is known of a corpus' codes.

    Attributes:
        name: the path it was read from.
        counts: number of records by code.
        records: the code list of each record; `None` where only counts are known.
        sources: the columns that a table of counts was summed over.

    Example:
        >>> import ecg_ontology
        >>> ecg_ontology.Corpus(name="one record", counts={"164889003": 1}, records=(("164889003",),)).counts
        {'164889003': 1}
    """

    name: str
    counts: dict[str, int]
    records: tuple[tuple[str, ...], ...] | None = None
    sources: tuple[str, ...] = ()


def read_corpus(path: str | Path, sources: Sequence[str] = ()) -> Corpus:
    r"""Read the codes of a corpus.

    Args:
        path: a folder of WFDB headers, searched in depth; a prepared corpus (a folder whose ``index.parquet``
            lists each record's codes in the column ``codes``); or a ``.csv`` of codes and counts.
        sources: columns of the ``.csv`` to add up; by default those of the paper's corpus where the table
            has them (Ningbo, Georgia, PTB), else ``count`` or ``total``.

    Raises:
        InputError: the path is not there or holds no codes.
        UsageError: the table has no such column.

    Example:
        >>> import ecg_ontology, tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.hea").write_text("a 12 500 5000\n#Dx: 164889003,426783006\n")
        >>> ecg_ontology.read_corpus(folder).records
        (('164889003', '426783006'),)
    """
    path = Path(path)
    if path.is_file():
        return _from_table(path, sources)
    if (path / "index.parquet").is_file():
        return _from_records(path, _prepared(path / "index.parquet"))
    if not path.is_dir():
        raise InputError(
            "is not there",
            where=path,
            remedy="Give a folder of headers, a prepared corpus, or a .csv of counts",
        )
    return _from_records(path, _headers(path))


def _from_records(path: Path, records: tuple[tuple[str, ...], ...]) -> Corpus:
    counts = Counter(code for codes in records for code in dict.fromkeys(codes))
    return Corpus(name=str(path), counts=dict(counts), records=records)


def _headers(folder: Path) -> tuple[tuple[str, ...], ...]:
    headers = sorted(folder.rglob("*.hea"))
    if not headers:
        raise InputError(
            "holds no WFDB header (.hea)", where=folder, remedy="Give the folder that holds the records"
        )
    return tuple(_codes_of(header) for header in headers)


def _codes_of(header: Path) -> tuple[str, ...]:
    """The codes of one header; text that is no code stays in the list and is counted as malformed."""
    for line in header.read_text(encoding="utf-8", errors="replace").splitlines():
        if match := _DX.match(line):
            return tuple(code for part in match[1].split(",") if (code := part.strip()))
    return ()


def _prepared(index: Path) -> tuple[tuple[str, ...], ...]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise UsageError("reading a prepared corpus needs pyarrow", remedy="pip install pyarrow") from error
    try:
        rows = parquet.read_table(index, columns=["codes"])["codes"].to_pylist()
    except (ArrowException, KeyError, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"is no index of a prepared corpus: {reason[:200]}", where=index) from error
    return tuple(tuple(codes or ()) for codes in rows)


def _from_table(path: Path, sources: Sequence[str]) -> Corpus:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, restval=""))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read as a table of counts ({error})", where=path) from error
    header = list(rows[0]) if rows else []
    if "code" not in header:
        raise InputError("has no column `code`", where=path, remedy="Give a .csv with columns code and count")
    chosen = tuple(sources) or _default_columns(header)
    missing = [column for column in chosen if column not in header]
    if missing or not chosen:
        raise UsageError(
            f"has no column {', '.join(missing) or 'count'}", where=path, remedy=f"It has {', '.join(header)}"
        )
    counts = {row["code"]: sum(_count(row[column], path, row["code"]) for column in chosen) for row in rows}
    return Corpus(name=str(path), counts={code: n for code, n in counts.items() if n}, sources=chosen)


def _default_columns(header: Sequence[str]) -> tuple[str, ...]:
    paper = tuple(column for column in PAPER_SOURCES if column in header)
    return paper or tuple(column for column in ("count", "total") if column in header)[:1]


def _count(text: str, path: Path, code: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InputError(f"counts {text!r} records of {code}", where=path, remedy="Counts are whole numbers")
    return int(text)
