"""Read code tables of users: a row per record and code, or a row per record with a list of codes.

Codes of other vocabularies than SNOMED CT become CURIEs (`icd10:I48.0`). If the user supplies a mapping or
OMOP's CONCEPT table, they become SNOMED CT codes.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecg_base import InputError, UsageError, file_sha256, refuse_unknown
from ecg_ontology.base.tables import column_names, rows
from ecg_ontology.codes.code_mapping import MACHINE, VOCABULARIES, CodeMapping, cell_text
from ecg_ontology.graph.routing import canonical_code

logger = logging.getLogger(__name__)

ID_COLUMN = "id"
_ROUNDED = re.compile(r"\d+(\.\d+)?[eE]\+?\d+")
"""Number in the short notation of spreadsheet programs, such as 1.6E+08."""
CODE_COLUMNS = ("code", "codes")
"""Default names of the code column."""


@dataclass(frozen=True)
class CodeTable:
    """Codes and patients by record id.

    Attributes:
        path: the table.
        codes: codes of each record in row order, without duplicates. A record may have no codes.
        patients: patient of each record for which the table has a patient.
        about: hashes of the files, names of the columns, and vocabulary, to record the origin of the codes.

    Example:
        >>> CodeTable(Path("codes.csv"), {"a": ("164889003",)}, {"a": "patient 7"}, {}).patients["a"]
        'patient 7'
    """

    path: Path
    codes: dict[str, tuple[str, ...]]
    patients: dict[str, str]
    about: dict[str, Any]


def read_code_table(
    path: str | Path,
    id_column: str = ID_COLUMN,
    code_column: str = "",
    patient_column: str = "",
    vocabulary: str = "snomed",
    mapping: str | Path | None = None,
    concepts: str | Path | None = None,
) -> CodeTable:
    r"""Read each record's codes and patient from a table.

    Args:
        path: a `.csv` or `.tsv` (separated by comma, semicolon or tab), a `.xlsx`, or a `.parquet`.
        id_column: column of record ids, by default `id`.
        code_column: column with a code per row, or in Parquet a list of codes. The default is `code` or
            `codes`.
        patient_column: column of patient ids, or "" if the table has no patients.
        vocabulary: `snomed`, `icd10`, `omop` (concept ids) or `scp`.
        mapping: mapping from the codes or texts in the table to SNOMED CT, see `CodeMapping.read`. `None`
            keeps the codes.
        concepts: file of OMOP's CONCEPT table, which translates the concept ids of `omop` to codes. `None`
            keeps the concept ids.

    Raises:
        InputError: a file can't be read, a row has no record id, or a record has two patients.
        UsageError: a column is missing, or the vocabulary is unknown.

    Example:
        >>> import ecg_ontology, tempfile
        >>> table = Path(tempfile.mkdtemp()) / "statements.csv"
        >>> _ = table.write_text("id;code\n00001;NORM\n")
        >>> ecg_ontology.read_code_table(table, vocabulary="scp").codes
        {'00001': ('scp:NORM',)}
    """
    path = Path(path)
    refuse_unknown("vocabulary", vocabulary, VOCABULARIES, "codes.vocabulary")
    if concepts is not None and vocabulary != "omop":
        remedy = "Add --set codes.vocabulary=omop"
        raise UsageError("a CONCEPT table needs codes.vocabulary=omop", where="codes.concepts", remedy=remedy)
    names = column_names(path)
    code_column = code_column or next((name for name in CODE_COLUMNS if name in names), CODE_COLUMNS[0])
    columns = [name for name in (id_column, code_column, patient_column) if name]
    if missing := [name for name in columns if name not in names]:
        problem = f"has no column {', '.join(missing)}"
        raise UsageError(problem, where=path, remedy=f"It has {', '.join(map(str, names[:20]))}")
    names_of = _concepts(Path(concepts)) if concepts is not None else {}
    mapped = CodeMapping.read(mapping) if mapping is not None else None
    translate = _translation(vocabulary, mapped, names_of)
    codes: dict[str, dict[str, None]] = {}
    stated_codes: set[str] = set()
    patients: dict[str, str] = {}
    for place, (record, stated, *patient) in rows(path, columns):
        name = cell_text(record)
        if not name:
            raise InputError(
                f"column `{id_column}` must name a record, got an empty cell", where=f"{path}, {place}"
            )
        record_codes = codes.setdefault(name, {})
        for code in stated if isinstance(stated, list) else [stated]:
            text = canonical_code(cell_text(code)) if vocabulary == "omop" else cell_text(code)
            if vocabulary == "omop" and _ROUNDED.fullmatch(text):
                remedy = "Spreadsheet programs round long numbers: keep the column as text"
                raise InputError(
                    f"an OMOP concept id must be a whole number, got {text}",
                    where=f"{path}, {place}",
                    remedy=remedy,
                )
            if text:
                stated_codes.add(text)
                record_codes.update(dict.fromkeys(translate(text)))
        stated_patient = cell_text(patient[0]) if patient else ""
        if stated_patient and patients.setdefault(name, stated_patient) != stated_patient:
            problem = f"record {name} must have one patient, got a second patient"
            raise InputError(problem, where=f"{path}, {place}", remedy="Correct the patient of the record")
    if mapped is not None and stated_codes and not any(mapped.of(names_of.get(c, c)) for c in stated_codes):
        logger.warning("%s: no row matches any of the %d codes of %s", mapping, len(stated_codes), path)
    files = {"table": path, "mapping": None if str(mapping) == MACHINE else mapping, "concepts": concepts}
    origin = {
        "sha256": {role: file_sha256(Path(file)) for role, file in files.items() if file is not None},
        "columns": columns,
        "vocabulary": vocabulary,
    }
    return CodeTable(path, {name: tuple(stated) for name, stated in codes.items()}, patients, origin)


def _translation(
    vocabulary: str, mapped: CodeMapping | None, names: dict[str, str]
) -> Callable[[str], tuple[str, ...]]:
    """Return a function that translates a code of the table to codes that an ontology can route."""
    from_concepts = frozenset(names.values())

    def translate(code: str) -> tuple[str, ...]:
        code = names.get(code, code)
        if mapped is not None and (targets := mapped.of(code)):
            return targets
        is_code = vocabulary == "snomed" or ":" in code or code in from_concepts
        return (code if is_code else f"{vocabulary}:{code}",)

    return translate


def _concepts(path: Path) -> dict[str, str]:
    """Read the code of each OMOP concept id: a SNOMED CT identifier, or a CURIE of another vocabulary."""
    columns = ["concept_id", "vocabulary_id", "concept_code"]
    names = column_names(path, quoted=False)
    if missing := [name for name in columns if name not in names]:
        raise InputError(
            f"a CONCEPT table must have a column {', '.join(missing)}, got no such column", where=path
        )
    codes = {}
    for _, (concept, vocabulary, code) in rows(path, columns, quoted=False):
        name = cell_text(vocabulary)
        codes[canonical_code(cell_text(concept))] = (
            cell_text(code) if name == "SNOMED" else f"{name.lower()}:{cell_text(code)}"
        )
    return codes
