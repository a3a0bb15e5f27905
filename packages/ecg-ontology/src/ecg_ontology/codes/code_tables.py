"""Code tables of users: one row per record and code, or one per record with a list.

Codes of other vocabularies become CURIEs (`icd10:I48.0`), or SNOMED CT by what the user brings: a mapping, in
SSSOM or as a plain table, or OMOP's CONCEPT table.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from ecg_ontology.base.errors import InputError, UsageError, refuse_unknown
from ecg_ontology.base.tables import column_names, rows
from ecg_ontology.formats.sssom import code_pairs
from ecg_ontology.graph.routing import malformation

CodeVocabulary = Literal["snomed", "icd10", "omop", "scp"]
VOCABULARIES: tuple[str, ...] = get_args(CodeVocabulary)
ID_COLUMN = "id"
CODE_COLUMNS = ("code", "codes")
"""What the column of codes is called where nobody says."""
MAPPING_COLUMNS = ("code", "snomed")
_ICD10 = re.compile(r"[A-Z][0-9][0-9A-Z]\.?[0-9A-Z]{0,4}")
_SHORT_NAMES = {"icd10cm": "icd10", "icd10gm": "icd10", "icd-10": "icd10"}
"""Names of ICD-10 in other tables."""
MACHINE = "machine"
"""The name of the packaged mapping of electrocardiographs' statements."""


@dataclass(frozen=True)
class CodeTable:
    """Codes and patients by record id.

    Attributes:
        path: the table.
        codes: the codes of each record, in the order of the rows, each once; a record may have none.
        patients: the patient of each record for which the table names one.
        about: what makes it this table: hashes of the files, columns, vocabulary.

    Example:
        >>> CodeTable(Path("codes.csv"), {"a": ("164889003",)}, {"a": "patient 7"}, {}).patients["a"]
        'patient 7'
    """

    path: Path
    codes: dict[str, tuple[str, ...]]
    patients: dict[str, str]
    about: dict[str, Any]


@dataclass(frozen=True)
class CodeMapping:
    """Mapping from codes or texts to SNOMED CT.

    Attributes:
        path: the file.
        targets: the identifiers of each code or text, as it is spelt.

    Example:
        >>> CodeMapping(Path("m.csv"), {"I480": ("164889003",)}).of("icd10:I48.0")
        ('164889003',)
    """

    path: Path
    targets: dict[str, tuple[str, ...]]

    @classmethod
    def read(cls, path: str | Path) -> "CodeMapping":
        """Return the mapping in a `.csv` with the columns `code` and `snomed`, or in a `.sssom.tsv`.

        Args:
            path: the file; ``machine`` for the packaged mapping of electrocardiographs' statements.

        Raises:
            InputError: it can't be read.
        """
        if str(path) == MACHINE:
            from ecg_ontology.codes.statements import MachineStatements

            return MachineStatements()
        targets: dict[str, tuple[str, ...]] = {}
        for subject, target in _pairs(Path(path)):
            targets[subject] = (*targets.get(subject, ()), target)
        return cls(Path(path), targets)

    def of(self, code: str) -> tuple[str, ...]:
        """Return the SNOMED CT identifiers of a code or text; () where it isn't in the mapping.

        Its case, its vocabulary's name and the point of ICD-10 may be another than in the mapping. () as well
        where these are all that tells two codes of the mapping apart.

        Args:
            code: as a hospital wrote it.
        """
        if code in self.targets:
            return self.targets[code]
        vocabulary, bare = _parted(code)
        alike = {
            targets
            for other, targets in self._by_bare.get(bare, ())
            if not vocabulary or other == vocabulary or (not other and vocabulary in VOCABULARIES)
        }
        return alike.pop() if len(alike) == 1 else ()

    @cached_property
    def _by_bare(self) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        """Vocabulary and targets of the subjects of one bare spelling."""
        subjects: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for subject, targets in self.targets.items():
            vocabulary, bare = _parted(subject)
            subjects.setdefault(bare, []).append((vocabulary, targets))
        return subjects

    @property
    def about(self) -> dict[str, Any]:
        """Identity of the mapping, for provenance."""
        return {"sha256": {"mapping": _sha256(self.path)}}


def read_code_table(
    path: str | Path,
    id_column: str = ID_COLUMN,
    code_column: str = "",
    patient_column: str = "",
    vocabulary: str = "snomed",
    mapping: str | Path | None = None,
    concepts: str | Path | None = None,
) -> CodeTable:
    r"""Return each record's codes and patient in a `.csv` or `.tsv` (comma, semicolon or tab) or `.parquet`.

    Args:
        path: the table.
        id_column: names the record.
        code_column: one code a row, or in Parquet a list of them; without it `code` or `codes`.
        patient_column: names the patient, if any does.
        vocabulary: `snomed`, `icd10`, `omop` (concept ids) or `scp`.
        mapping: from these codes, or any texts, to SNOMED CT: a `.csv` with the columns `code` and `snomed`,
            or a `.sssom.tsv`.
        concepts: OMOP's CONCEPT table, for concept ids.

    Raises:
        InputError: a file can't be read, a row names no record, or a record has two patients.
        UsageError: there is no such column or vocabulary.

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
        raise UsageError("a CONCEPT table is for OMOP's concept ids", where="codes.concepts", remedy=remedy)
    names = column_names(path)
    code_column = code_column or next((name for name in CODE_COLUMNS if name in names), CODE_COLUMNS[0])
    columns = [name for name in (id_column, code_column, patient_column) if name]
    if missing := [name for name in columns if name not in names]:
        problem = f"has no column {', '.join(missing)}"
        raise UsageError(problem, where=path, remedy=f"It has {', '.join(map(str, names[:20]))}")
    translate = _translation(vocabulary, mapping, concepts)
    codes: dict[str, dict[str, None]] = {}
    patients: dict[str, str] = {}
    for place, (record, stated, *patient) in rows(path, columns):
        name = _text(record)
        if not name:
            raise InputError(f"names no record in `{id_column}`", where=f"{path}, {place}")
        mine = codes.setdefault(name, {})
        for code in stated if isinstance(stated, list) else [stated]:
            if text := _text(code):
                mine.update(dict.fromkeys(translate(text)))
        if patient and (whose := _text(patient[0])) and patients.setdefault(name, whose) != whose:
            problem = f"record {name} has a second patient"
            raise InputError(problem, where=f"{path}, {place}", remedy="Give each record one patient")
    files = {"table": path, "mapping": None if str(mapping) == MACHINE else mapping, "concepts": concepts}
    origin = {
        "sha256": {what: _sha256(Path(file)) for what, file in files.items() if file is not None},
        "columns": columns,
        "vocabulary": vocabulary,
    }
    return CodeTable(path, {name: tuple(stated) for name, stated in codes.items()}, patients, origin)


def _text(cell: object) -> str:
    """A cell as text; of pandas' column of whole numbers with gaps, the whole number.

    A Mac spells ü in two characters and a spreadsheet in one: here it is one.
    """
    if isinstance(cell, float):
        return "" if math.isnan(cell) else str(int(cell)) if cell.is_integer() else str(cell)
    return "" if cell is None else unicodedata.normalize("NFC", str(cell).strip())


def _translation(
    vocabulary: str, mapping: str | Path | None, concepts: str | Path | None
) -> Callable[[str], tuple[str, ...]]:
    """A function from a code of the table to codes that an ontology can be asked for."""
    names = _concepts(Path(concepts)) if concepts is not None else {}
    from_concepts = frozenset(names.values())
    mapped = CodeMapping.read(mapping) if mapping is not None else None

    def translate(code: str) -> tuple[str, ...]:
        code = names.get(code, code)
        if mapped is not None and (targets := mapped.of(code)):
            return targets
        is_code = vocabulary == "snomed" or ":" in code or code in from_concepts
        return (code if is_code else f"{vocabulary}:{code}",)

    return translate


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    """The rows of a mapping: (code or text, SNOMED CT identifier); one without an identifier says nothing."""
    if path.suffix.lower() != ".csv":
        yield from code_pairs(path)
        return
    if missing := [name for name in MAPPING_COLUMNS if name not in column_names(path)]:
        problem = f"isn't a mapping: it has no column {', '.join(missing)}"
        raise InputError(problem, where=path, remedy="Name its columns code and snomed")
    for place, (code, target) in rows(path, list(MAPPING_COLUMNS)):
        identifier = _text(target)
        if not identifier:
            continue
        if reason := malformation(identifier) if identifier.isdecimal() else "it isn't a number":
            problem = f"{identifier!r} isn't a SNOMED CT identifier: {reason}"
            raise InputError(problem, where=f"{path}, {place}", remedy="Write the number alone, or nothing")
        yield _text(code), identifier


def _parted(code: str) -> tuple[str, str]:
    """The vocabulary's name and the code in capitals, of ICD-10 without its point: hospitals write I480."""
    named = re.match(r"([\w.-]+):(?=\S)", code)
    bare = code[named.end() :].upper() if named else code.upper()
    vocabulary = named[1].lower() if named else ""
    return _SHORT_NAMES.get(vocabulary, vocabulary), bare.replace(".", "") if _ICD10.fullmatch(bare) else bare


def _concepts(path: Path) -> dict[str, str]:
    """OMOP concept id → SNOMED CT identifier, or a CURIE by the name of another vocabulary."""
    columns = ["concept_id", "vocabulary_id", "concept_code"]
    names = column_names(path)
    if missing := [name for name in columns if name not in names]:
        raise InputError(f"isn't a CONCEPT table: it has no column {', '.join(missing)}", where=path)
    codes = {}
    for _, (concept, vocabulary, code) in rows(path, columns):
        name = _text(vocabulary)
        codes[_text(concept)] = _text(code) if name == "SNOMED" else f"{name.lower()}:{_text(code)}"
    return codes


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
