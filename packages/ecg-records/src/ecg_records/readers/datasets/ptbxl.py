"""Read PTB-XL in PhysioNet's layout.

A release has `ptbxl_database.csv` (a row per ECG), `scp_statements.csv` (meanings of the statements), and two
copies of the recordings: `records500/` at the original 500 Hz, and `records100/` at 100 Hz.
Wagner et al. 2020, doi:10.1038/s41597-020-0495-6.

Shapes: K leads of the file, L samples.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ecg_records.dx import NO_DIAGNOSIS
from ecg_records.errors import CorpusError
from ecg_records.machine import MachineReport, number
from ecg_records.readers.identity import PTBXL, patient_of
from ecg_records.readers.tables import columns, rows
from ecg_records.readers.wfdb import read_leads
from ecg_records.readers.wfdb_header import read_header
from ecg_records.record import Candidate, Record, age_in_years, inside, is_regular, unlisted
from ecg_records.stretch import WHOLE, Stretch

DATABASE = "ptbxl_database.csv"
STATEMENTS = "scp_statements.csv"
FS = 500
RECORDS = ("records500", "records100")
"""Folders of the recordings at 500 and 100 Hz."""


@dataclass(frozen=True)
class Entry:
    """Row of `ptbxl_database.csv`.

    Attributes:
        scp: SCP-ECG statements of the record, each with its likelihood in percent. A likelihood of 0 means
            unknown.
        file: Path of the recording at 500 Hz in the release, without ending.
        slow_file: Path of the recording at 100 Hz, or "".
    """

    ecg_id: int
    patient: str | None
    age: float | None
    sex: str | None
    scp: dict[str, float]
    fold: int
    file: str
    slow_file: str = ""
    acquired: str | None = None
    device: str | None = None
    report: str = ""


@dataclass(frozen=True)
class Statement:
    """Row of `scp_statements.csv`, the table of statements.

    Attributes:
        name: Abbreviation of the statement.
        description: Meaning of the statement.
        diagnostic, form, rhythm: Whether the statement belongs to this category.
        superclass, subclass: Diagnostic class and subclass, or None.
    """

    name: str
    description: str
    diagnostic: bool
    form: bool
    rhythm: bool
    superclass: str | None
    subclass: str | None


@dataclass(frozen=True)
class PtbXl:
    """Reader of the records in `ptbxl_database.csv`. `Candidate.key` is an `Entry`.

    Attributes:
        rate: Sampling rate of the copy to read, 500 or 100 Hz. The other copy is read if this copy is
            missing.
    """

    rate: int = FS
    source = PTBXL
    marks = (DATABASE,)

    def is_root(self, folder: Path) -> bool:
        """Return whether the folder is the root of a PTB-XL release."""
        return is_root(folder)

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """Find the records in `ptbxl_database.csv` that are on disk.

        Headers that aren't in the table become unusable candidates. Raises the same errors as `database`.
        """
        listed: list[Candidate] = []
        for entry in entries(root, self.rate):
            header = header_of(root, entry, self.rate)
            both = (root / f"{file}.hea" for file in (entry.file, entry.slow_file))
            copies = tuple(file for file in both if file != header)
            listed.append(Candidate(root, header, PTBXL, self, entry, fold=entry.fold, copies=copies))
        yield from listed
        headers = (file for name in RECORDS for file in sorted((root / name).rglob("*.hea")))
        yield from unlisted(self, root, headers, listed, DATABASE)

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read the record of an entry. Raises `RecordError` if the record can't be used."""
        return read(candidate.root, candidate.key, stretch, self.rate)


def is_root(folder: Path) -> bool:
    """Return whether a folder is the root of a PTB-XL release.

    It must have the table `ptbxl_database.csv`. The table must have a column `ecg_id`, or the folder must
    have another part of a release.
    """
    table = folder / DATABASE
    needed = (*RECORDS, STATEMENTS)
    return is_regular(table) and (
        "ecg_id" in columns(table) or any((folder / name).exists() for name in needed)
    )


def database(root: Path) -> list[Entry]:
    """Return all rows of `ptbxl_database.csv`, sorted by ecg_id, including records that aren't on disk.

    Raises `CorpusError` if the table is missing or doesn't belong to PTB-XL.
    """
    table = rows(root / DATABASE, "ecg_id", "scp_codes", "strat_fold", "filename_hr")
    return sorted((_entry(row, root) for row in table), key=lambda row: row.ecg_id)


def entries(root: Path, rate: int = FS) -> list[Entry]:
    """Return the rows of `ptbxl_database.csv` whose header is on disk, sorted by ecg_id.

    Raises the same errors as `database`.
    """
    return [row for row in database(root) if is_regular(header_of(root, row, rate))]


def statements(root: Path) -> dict[str, Statement]:
    """Return the SCP-ECG statements by name. Raises `CorpusError` if the table can't be read."""
    categories = ("diagnostic", "form", "rhythm")
    return {
        row[""]: Statement(
            name=row[""],
            description=row["description"],
            **{category: row[category] in ("1", "1.0") for category in categories},
            superclass=row["diagnostic_class"] or None,
            subclass=row["diagnostic_subclass"] or None,
        )
        for row in rows(
            root / STATEMENTS, "", "description", *categories, "diagnostic_class", "diagnostic_subclass"
        )
    }


def header_of(root: Path, entry: Entry, rate: int = FS) -> Path:
    """Return the header of an entry at 500 or 100 Hz, or at the other rate if only this copy exists."""
    files = (entry.file, entry.slow_file) if rate == FS else (entry.slow_file, entry.file)
    preferred, other = (root / f"{file}.hea" for file in files)
    return other if is_regular(other) and not is_regular(preferred) else preferred


def read(root: Path, entry: Entry, stretch: Stretch = WHOLE, rate: int = FS) -> Record:
    """Read the record of an entry. Its codes are `scp:` CURIEs, such as `scp:IMI`.

    Raises `RecordError` if the record can't be used.
    """
    header = header_of(root, entry, rate)
    parsed = read_header(header, root)
    x_KL, leads, length, notes = read_leads(parsed, root, stretch)
    if parsed.fs != FS:
        notes = (*notes, f"recorded at {FS} Hz, read at {parsed.fs:g} Hz")
    return Record(
        id=f"{entry.ecg_id:05d}",
        source=PTBXL,
        path=header,
        x_KL=x_KL,
        fs=parsed.fs,
        length=length,
        codes=tuple(f"scp:{statement}" for statement in entry.scp),
        age=entry.age,
        sex=entry.sex,
        patient=entry.patient,
        notes=notes if entry.scp else (*notes, NO_DIAGNOSIS),
        leads=leads,
        acquired=entry.acquired,
        device=entry.device,
        machine=MachineReport.of({}, [entry.report, *entry.scp]),
    )


def _entry(row: dict[str, str], root: Path) -> Entry:
    try:
        files = row["filename_hr"], row.get("filename_lr") or ""
        for file in files:
            if not inside(root / file, root):
                raise ValueError(f"{file} is outside the release's folder")
        return Entry(
            ecg_id=int(row["ecg_id"]),
            patient=str(int(float(row["patient_id"]))) if row.get("patient_id") else None,
            # ages above 89 are published as 300, to protect the patients
            age=90.0 if number(row.get("age")) >= 300 else age_in_years(row.get("age")),
            sex={"0": "M", "1": "F"}.get(row.get("sex") or ""),
            scp={
                str(name): float(likelihood)
                for name, likelihood in ast.literal_eval(row["scp_codes"]).items()
            },
            fold=int(float(row["strat_fold"])),
            file=files[0],
            slow_file=files[1],
            acquired=(row.get("recording_date") or "").replace(" ", "T") or None,
            device=" ".join((row.get("device") or "").split()) or None,
            report=row.get("report") or "",
        )
    except _NO_VALUES as error:
        problem = f"row {row['ecg_id']!r} can't be parsed ({error})"
        raise CorpusError(problem, where=root / DATABASE, remedy="Download PTB-XL again") from error


_NO_VALUES = (ValueError, TypeError, AttributeError, OverflowError, SyntaxError, MemoryError, RecursionError)
"""Errors that `float`, `int` and `literal_eval` raise for invalid text."""


def patients_by_identity(roots: Iterable[Path]) -> dict[str, str | None]:
    """Return the patient (`patient_of`) of each record in PTB-XL releases, by the record's public name.

    A public name is a result of `identity`, such as `ptbxl/00034`. Records that aren't on disk are included.
    Folders that aren't PTB-XL releases are skipped.
    """
    rows = [row for root in roots if is_root(root) for row in database(root)]
    return {f"ptbxl/{row.ecg_id:05d}": patient_of(PTBXL, row.patient) for row in rows}
