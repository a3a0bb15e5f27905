"""Read the PTB Diagnostic ECG Database in PhysioNet's layout: 1000 Hz, 15 leads, diagnoses in words.

Each patient has a folder (`patient001/s0010_re.hea`). Bousseljot et al. 1995, doi:10.13026/C28C71.
`cinc2021` reads the CinC Challenges' copy, which has codes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ecg_records.dx import NO_DIAGNOSIS
from ecg_records.readers.wfdb import read_record
from ecg_records.readers.wfdb_header import read_header
from ecg_records.record import Candidate, Record
from ecg_records.stretch import WHOLE, Stretch

SOURCE = "ptbdb"
CODES = {
    "myocardial infarction": "164865005",
    "healthy control": "426783006",
    "bundle branch block": "6374002",
    "dysrhythmia": "698247007",
    "heart failure": "84114007",
    "valvular heart disease": "368009",
    "hypertrophy": "266249003",
    "myocardial hypertrophy": "266249003",
}
"""Equivalent code in the official table `Dx_map.csv` for each reason for admission. Other reasons have no
code."""

_PATIENT = re.compile(r"patient\d{3}")
_RECORD = re.compile(r"s\d{4}(_re|lre)\.hea")


@dataclass(frozen=True)
class Ptbdb:
    """Reader of the records in the patients' folders."""

    source = SOURCE
    marks = ("patient001",)

    def is_root(self, folder: Path) -> bool:
        """Return whether the folder `patient001` has a record that is named as in this database."""
        return any(_RECORD.fullmatch(file.name) for file in (folder / "patient001").glob("s*.hea"))

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """Find the headers in the patients' folders, without their subfolders."""
        for file in root.glob("patient*/*.hea"):
            if _PATIENT.fullmatch(file.parent.name):
                yield Candidate(root, file, self.source, self)

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read a record.

        Its codes come from the reason for admission, and from a `#Dx` comment if a user added the comment.

        Raises `RecordError` like `wfdb.read_record`.
        """
        record = read_record(candidate.file, candidate.root, stretch)
        reason = read_header(candidate.file, candidate.root).comments.get("reason for admission", "")
        code = CODES.get(reason.partition("(")[0].strip().lower())
        note = f"reason for admission {reason!r} " + (f"read as {code}" if code else "has no code")
        return replace(
            record,
            source=self.source,
            codes=tuple(dict.fromkeys((*([code] if code else []), *record.codes))),
            patient=candidate.file.parent.name,
            notes=(*(note for note in record.notes if note != NO_DIAGNOSIS), note),
        )
