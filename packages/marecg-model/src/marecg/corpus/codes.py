"""Match a user's table of codes with records.

The table has a column with the id of a record. The id is the record's path below the source folder
(`2024/a.dcm`) or its file name, with or without the ending. If a file contains several records, `/` and the
record's row number in the file follow. If there is only a single file, the id can be just the row number.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

import pyarrow as pa

from ecg_ontology import CodeMapping, CodeTable, Ontology
from ecg_records.record import Candidate, Record, without_ending
from marecg.corpus import index
from marecg.corpus.account import CodeAccount, Unreached
from marecg.errors import CorpusError

EXAMPLES = 3
"""Maximum number of records that an error names."""


class LabelOverride(NamedTuple):
    """Codes and patient from the user's table, which replace the values in a record's file.

    Attributes:
        codes: Codes of the record. Empty if the table has no code for the record.
        patient: Patient of the record. None keeps the patient in the file.
    """

    codes: tuple[str, ...]
    patient: str | None = None

    @property
    def key(self) -> str:
        """Text that differs if the codes or the patient differ, used as a part of a cache key."""
        return repr(tuple(self))

    def on(self, record: Record) -> Record:
        """Return the record with the replaced codes and patient."""
        return replace(record.coded(self.codes), patient=self.patient or record.patient)


class StatementCodes(NamedTuple):
    """User's mapping from an electrocardiograph's statements to codes.

    The codes of a record's statements are added to the codes in the record's file.
    """

    mapping: CodeMapping

    @property
    def key(self) -> str:
        """Text that differs if the mapping differs, used as a part of a cache key."""
        return repr(tuple(self))

    def on(self, record: Record) -> Record:
        """Return the record with the added codes."""
        added = [code for text in record.machine.statements for code in self.mapping.of(text)]
        return record.coded(tuple(dict.fromkeys([*record.codes, *added])))


def with_codes(
    candidates: Sequence[Candidate], table: CodeTable, ontology: Ontology
) -> tuple[list[Candidate], CodeAccount]:
    """Attach the codes of a table to candidates, the records found in the sources.

    Returns:
        The candidates in the same order, and the result of the matching.

    Raises:
        CorpusError: If an id in the table matches several records, if two ids match the same record, or if
            no id matches a record.
    """
    owner = _owners(candidates, table)
    if not owner:
        ids, names = list(table.codes)[:EXAMPLES], [candidate.path for candidate in candidates[:EXAMPLES]]
        problem = f"must have ids of records that were found, got {', '.join(ids) or 'none'}"
        raise CorpusError(problem, where=table.path, remedy=f"Use ids such as {', '.join(names)}")
    coded = list(candidates)
    for number, name in owner.items():
        override = LabelOverride(table.codes[name], table.patients.get(name))
        coded[number] = replace(coded[number], stated=override)
    carried = Counter(code for name in owner.values() for code in table.codes[name])
    routes = {code: ontology.route(code) for code in sorted(carried)}
    owned = set(owner.values())
    account = CodeAccount(
        records_with_codes=sum(bool(table.codes[name]) for name in owned),
        records_without_row=tuple(
            f"{candidate.root_name}/{candidate.path}"
            for number, candidate in enumerate(candidates)
            if number not in owner
        ),
        ids_without_record=tuple(name for name in table.codes if name not in owned),
        reaching_nothing=tuple(
            Unreached(code=code, status=str(route.status), records=carried[code])
            for code, route in routes.items()
            if not route.nodes
        ),
    )
    return coded, account


def of_statements(rows: pa.Table, mapping: CodeMapping, ontology: Ontology) -> CodeAccount:
    """Count the kept records that have codes, after a mapping has added codes for their statements.

    The result also lists the records without a mapped statement, and the statements that lead to no concept.

    Args:
        rows: Rows of `index.parquet`.
        mapping: Mapping from statements to codes.
        ontology: Ontology that maps codes to concepts.
    """
    stated = rows["statements"].to_pylist()
    counts = Counter(text for texts in stated for text in texts)
    meaning = {text: mapping.of(text) for text in sorted(counts)}
    routes = {code: ontology.route(code) for codes in meaning.values() for code in codes}
    unreached = [
        Unreached(
            code=text, status=str(routes[codes[0]].status) if codes else "unmapped", records=counts[text]
        )
        for text, codes in meaning.items()
        if not any(routes[code].nodes for code in codes)
    ]
    pairs = zip(index.names(rows), stated, strict=True)
    return CodeAccount(
        records_with_codes=sum(map(bool, rows["codes"].to_pylist())),
        records_without_row=tuple(name for name, texts in pairs if not any(meaning[text] for text in texts)),
        ids_without_record=(),
        reaching_nothing=tuple(unreached),
    )


def _owners(candidates: Sequence[Candidate], table: CodeTable) -> dict[int, str]:
    """Return the id of each candidate that is in the table, by the number of the candidate.

    Raises `CorpusError` if an id matches several candidates, or a candidate has several ids.
    """
    paths: defaultdict[str, set[int]] = defaultdict(set)
    names: defaultdict[str, set[int]] = defaultdict(set)
    single_file = len({candidate.file for candidate in candidates}) == 1
    for number, candidate in enumerate(candidates):
        with_root = {candidate.path, f"{candidate.root_name}/{candidate.path}"}
        spellings = ((paths, _spelt(with_root)), (names, _record_names(candidate, single_file)))
        for numbers_of, of_candidate in spellings:
            for name in of_candidate & table.codes.keys():
                numbers_of[name].add(number)
    owner: dict[int, str] = {}
    for name in table.codes:
        matches = sorted(paths[name] or names[name])
        if len(matches) > 1:
            examples = ", ".join(candidates[number].path for number in matches[:EXAMPLES])
            problem = f"{name} must be the id of a single record, got {len(matches)} records ({examples})"
            raise CorpusError(
                problem, where=table.path, remedy="Use the paths of the records, with file endings"
            )
        for number in matches:
            if number in owner:
                problem = f"{candidates[number].path} must have a single id, got {owner[number]} and {name}"
                raise CorpusError(problem, where=table.path, remedy="Use one id for each record")
            owner[number] = name
    return owner


def _record_names(candidate: Candidate, single_file: bool) -> set[str]:
    """Return names under which the table may list a record, such as the file name. They may not be unique."""
    path, row = candidate.path, "" if candidate.row < 0 else f"/{candidate.row}"
    file = path.rpartition("#")[0] if row else path
    name = PurePosixPath(file).name
    names = {f"{stem}{row}" for stem in (file, without_ending(file), name, without_ending(name))}
    if row and candidate.own_name:
        names.add(candidate.own_name)
    names.add(candidate.name)  # used by `marecg embed` and `marecg cohort`
    return _spelt(names | {str(candidate.row)} if row and single_file else names)


def _spelt(names: Iterable[str]) -> set[str]:
    """Return names in the Unicode form of the table (NFC). File systems may store ü as two characters."""
    return {unicodedata.normalize("NFC", name) for name in names}
