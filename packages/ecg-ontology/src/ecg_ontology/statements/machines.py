"""Read statements of electrocardiographs, by a table of known lines or else by rules.

The table has lines from GE's 12SL, Philips' DXL, Mortara's Veritas and MIMIC-IV-ECG.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, get_args

from ecg_base import InputError
from ecg_ontology.base.reading import read_text as file_text
from ecg_ontology.base.tables import column_names, rows
from ecg_ontology.base.text_folding import fold
from ecg_ontology.graph.concepts import FrozenModel
from ecg_ontology.ontology import Ontology
from ecg_ontology.statements.cue_scope import Certainty
from ecg_ontology.statements.finding_patterns import chain_of
from ecg_ontology.statements.lexicon import table_rows
from ecg_ontology.statements.reading import Mention, read_text, resolved

TEXT_COLUMNS = ("statement", "statements", "text", "report")
"""Names of the statement column."""
ID_COLUMNS = ("id", "study_id", "record", "ecg_id")
"""Names of the record column."""
_NUMBERED = re.compile(r"report_\d+")
"""Pattern of the statement columns in MIMIC-IV-ECG's table of machine measurements."""
_SAID = re.compile(r"(\S+)(?: \(([^)]*)\))?")
CERTAINTIES: tuple[Certainty, ...] = get_args(Certainty)


class KnownStatement(NamedTuple):
    """Row of the table of known lines: a text that devices print, and its findings with their certainty."""

    machine: str
    text: str
    says: tuple[tuple[str, str], ...]


@cache
def known_statements() -> dict[str, KnownStatement]:
    """Return the table of known lines, by the text of the line after `fold`."""
    table = {}
    for machine, text, says in table_rows("statements.tsv"):
        parts = [match for part in says.split("; ") if (match := _SAID.fullmatch(part))]
        table[fold(text)] = KnownStatement(machine, text, tuple((part[1], part[2] or "") for part in parts))
    return table


def read_statement(onto: Ontology, text: str) -> tuple[Mention, ...]:
    """Return the findings in a statement of a device, by the table of known lines or else by rules.

    Args:
        onto: the cardiac concept graph, or an extension of it.
        text: a single line.

    Example:
        >>> import ecg_ontology
        >>> (infarct,) = read_statement(ecg_ontology.load(), "Possible inferior infarct")
        >>> infarct.concept.abbr, infarct.certainty
        ('InfMI', 'possible')
    """
    known = known_statements().get(fold(text))
    if known is None:
        return read_text(onto, text)
    by_rules = {mention.finding: mention for mention in read_text(onto, text)}
    return tuple(_mention(onto, text, name, cue, by_rules.get(name)) for name, cue in known.says)


def _mention(onto: Ontology, text: str, name: str, cue: str, read: Mention | None) -> Mention:
    finding, concept = resolved(onto, chain_of(name))
    sure: Certainty = next((certainty for certainty in CERTAINTIES if certainty == cue), "certain")
    return Mention(
        concept=concept,
        finding=finding,
        text=text,
        certainty=sure,
        denied=cue == "denied",
        historical=cue == "past",
        incomplete=bool(read and read.incomplete),
        acuity=read.acuity if read else "",
    )


class StatementUse(FrozenModel):
    """Distinct text, with the number of its lines, its findings, and how it was read.

    `read_by` is "table" for a known line, "rules" for another text with a finding, and "" otherwise.
    """

    text: str
    lines: int
    read_by: str
    says: tuple[Mention, ...]


class StatementReport(FrozenModel):
    """Counts of the statements in a collection, by how they were read.

    Attributes:
        lines: number of statements.
        distinct: number of distinct statements.
        in_table: number of statements in the table of known lines.
        by_rules: number of other statements in which the rules recognised a finding.
        unread: number of statements that aren't in the table and have no recognised finding.
        records: number of records with a statement.
        records_coded: number of records with a finding that is present and has a concept.
        statements: the distinct statements, most frequent first.
    """

    lines: int
    distinct: int
    in_table: int
    by_rules: int
    unread: int
    records: int
    records_coded: int
    statements: tuple[StatementUse, ...]


def read_statements(path: str | Path) -> Iterator[tuple[str, str]]:
    """Yield pairs of record and statement from a text file with a statement per line, or from a table.

    A table has a column of statements (`TEXT_COLUMNS` lists its possible names), or the columns `report_0`,
    `report_1`, … of MIMIC-IV-ECG. It may have a column of records (see `ID_COLUMNS`). Without this column,
    every row is a record. In a text file, every line is a record. Raises `InputError` if the file can't be
    read.
    """
    path = Path(path)
    if path.suffix.lower() not in {".csv", ".tsv", ".xlsx", ".parquet"}:
        yield from (
            (str(number), line.strip())
            for number, line in enumerate(file_text(path).splitlines())
            if line.strip()
        )
        return
    names = column_names(path)
    texts = [name for name in names if _NUMBERED.fullmatch(name)] or [
        name for name in TEXT_COLUMNS if name in names
    ][:1]
    if not texts:
        remedy = f"Name the column {TEXT_COLUMNS[0]}, or give a text file with a statement per line"
        raise InputError("has no column of statements", where=path, remedy=remedy)
    record = next((name for name in ID_COLUMNS if name in names), "")
    for place, (*cells,) in rows(path, [*([record] if record else []), *texts]):
        name = str(cells[0]) if record else place
        for cell in cells[1:] if record else cells:
            for text in cell if isinstance(cell, list) else [cell]:
                if text and str(text).strip():
                    yield name, str(text).strip()


def statement_report(onto: Ontology, statements: Iterable[tuple[str, str]]) -> StatementReport:
    """Count the statements that are understood, and return the findings of each distinct statement.

    Args:
        onto: the cardiac concept graph, or an extension of it.
        statements: pairs of record and text.
    """
    of_record: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for record, text in statements:
        counts[text] += 1
        of_record.setdefault(record, set()).add(text)
    uses = [_use(onto, text, count) for text, count in counts.most_common()]
    present = {use.text for use in uses if any(mention.concept and mention.present for mention in use.says)}
    return StatementReport(
        lines=counts.total(),
        distinct=len(uses),
        in_table=_lines(uses, "table"),
        by_rules=_lines(uses, "rules"),
        unread=_lines(uses, ""),
        records=len(of_record),
        records_coded=sum(not texts.isdisjoint(present) for texts in of_record.values()),
        statements=tuple(uses),
    )


def _use(onto: Ontology, text: str, count: int) -> StatementUse:
    mentions = read_statement(onto, text)
    reader = "table" if fold(text) in known_statements() else "rules" if mentions else ""
    return StatementUse(text=text, lines=count, read_by=reader, says=mentions)


def _lines(uses: Sequence[StatementUse], reader: str) -> int:
    return sum(use.lines for use in uses if use.read_by == reader)
