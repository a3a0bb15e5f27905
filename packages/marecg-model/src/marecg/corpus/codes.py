"""Matching of a user's table of codes with records, with counts of unmatched rows.

The table can name a record by its path below the given folder (`2024/a.dcm`) or by its file name, each with
or without the ending. In a file of many records, `/` and the row follow the name. If this file is the only
file, the row suffices.
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
    """Codes and patient of a record in the user's table, in place of the values in its file.

    Attributes:
        codes: Codes, empty if the table gives none for the record.
        patient: Patient. None keeps the patient in the file.
    """

    codes: tuple[str, ...]
    patient: str | None = None

    @property
    def key(self) -> str:
        """Text that identifies the codes and the patient."""
        return repr(tuple(self))

    def on(self, record: Record) -> Record:
        """Return the record with the replaced codes and patient."""
        return replace(record.coded(self.codes), patient=self.patient or record.patient)


class StatementCodes(NamedTuple):
    """Codes that the user's mapping gives a record's statements, in addition to the codes in the file."""

    mapping: CodeMapping

    @property
    def key(self) -> str:
        """Text that identifies the mapping."""
        return repr(tuple(self))

    def on(self, record: Record) -> Record:
        """Return the record with the added codes."""
        meant = [code for text in record.machine.statements for code in self.mapping.of(text)]
        return record.coded(tuple(dict.fromkeys([*record.codes, *meant])))


def with_codes(
    candidates: Sequence[Candidate], table: CodeTable, ontology: Ontology
) -> tuple[list[Candidate], CodeAccount]:
    """Attach a table's codes to candidates. Return the candidates in order, and an account of the matches.

    Raises `CorpusError` if an id in the table matches several records, if a record has two ids, or if no id
    matches a record.
    """
    owner = _owners(candidates, table)
    if not owner:
        ids, names = list(table.codes)[:EXAMPLES], [candidate.path for candidate in candidates[:EXAMPLES]]
        problem = f"must have ids of records that were found, got {', '.join(ids) or 'none'}"
        raise CorpusError(problem, where=table.path, remedy=f"Use ids such as {', '.join(names)}")
    stated = list(candidates)
    for place, name in owner.items():
        override = LabelOverride(table.codes[name], table.patients.get(name))
        stated[place] = replace(stated[place], stated=override)
    carried = Counter(code for name in owner.values() for code in table.codes[name])
    routes = {code: ontology.route(code) for code in sorted(carried)}
    owned = set(owner.values())
    account = CodeAccount(
        records_with_codes=sum(bool(table.codes[name]) for name in owned),
        records_without_row=tuple(
            f"{one.root_name}/{one.path}" for place, one in enumerate(candidates) if place not in owner
        ),
        ids_without_record=tuple(name for name in table.codes if name not in owned),
        reaching_nothing=tuple(
            Unreached(code=code, status=str(route.status), records=carried[code])
            for code, route in routes.items()
            if not route.nodes
        ),
    )
    return stated, account


def of_statements(rows: pa.Table, mapping: CodeMapping, ontology: Ontology) -> CodeAccount:
    """Count the statements of kept records that a mapping covers. `rows` are read from `index.parquet`."""
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
    """Return the table's id for each candidate in the table, by the candidate's position."""
    paths: defaultdict[str, set[int]] = defaultdict(set)
    names: defaultdict[str, set[int]] = defaultdict(set)
    alone = len({candidate.file for candidate in candidates}) == 1
    for place, candidate in enumerate(candidates):
        with_root = {candidate.path, f"{candidate.root_name}/{candidate.path}"}
        for places, of_candidate in ((paths, _spelt(with_root)), (names, _record_names(candidate, alone))):
            for name in of_candidate & table.codes.keys():
                places[name].add(place)
    owner: dict[int, str] = {}
    for name in table.codes:
        mine = sorted(paths[name] or names[name])
        if len(mine) > 1:
            alike = ", ".join(candidates[place].path for place in mine[:EXAMPLES])
            problem = f"{name} must be the id of a single record, got {len(mine)} records ({alike})"
            raise CorpusError(
                problem, where=table.path, remedy="Use the paths of the records, with file endings"
            )
        for place in mine:
            if place in owner:
                problem = f"{candidates[place].path} must have a single id, got {owner[place]} and {name}"
                raise CorpusError(problem, where=table.path, remedy="Use one id for each record")
            owner[place] = name
    return owner


def _record_names(candidate: Candidate, alone: bool) -> set[str]:
    """Return the names of a record that other records may share."""
    path, row = candidate.path, "" if candidate.row < 0 else f"/{candidate.row}"
    file = path.rpartition("#")[0] if row else path
    name = PurePosixPath(file).name
    names = {f"{stem}{row}" for stem in (file, without_ending(file), name, without_ending(name))}
    if row and candidate.own_name:
        names.add(candidate.own_name)
    names.add(candidate.name)  # used by `marecg embed` and `marecg cohort`
    return _spelt(names | {str(candidate.row)} if row and alone else names)


def _spelt(names: Iterable[str]) -> set[str]:
    """Return names in the table's normal form (NFC). File systems may store ü as two characters."""
    return {unicodedata.normalize("NFC", name) for name in names}
