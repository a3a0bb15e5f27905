"""Read MIMIC-IV-ECG in PhysioNet's layout: 800,000 records without codes.

`record_list.csv` lists the records (`files/p1000/p10000032/s40689238/40689238`). Leads are read by name,
because aVF comes before aVL in the files. Gow et al. 2023, doi:10.13026/4nqg-sb35.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ecg_records.readers.tables import columns, rows
from ecg_records.readers.wfdb import read_record
from ecg_records.record import Candidate, Record, is_regular, unlisted
from ecg_records.stretch import WHOLE, Stretch

LIST = "record_list.csv"


@dataclass(frozen=True)
class MimicIvEcg:
    """Reader of the records in `record_list.csv`. Other records below `files/` can't be read."""

    source = "mimic-iv-ecg"
    marks = (LIST,)

    def is_root(self, folder: Path) -> bool:
        """Return whether the folder has a list with the file and the subject of each record."""
        return {"subject_id", "path"} <= columns(folder / LIST)

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """Find the records in `record_list.csv` that are on disk.

        Headers below `files/` that aren't in the list become unusable candidates. Raises the same errors as
        `tables.rows`.
        """
        listed = [
            Candidate(root, file, self.source, self, row["subject_id"])
            for row in rows(root / LIST, "subject_id", "path")
            if (file := root / f"{row['path']}.hea").is_relative_to(root) and is_regular(file)
        ]
        yield from listed
        yield from unlisted(self, root, sorted((root / "files").rglob("*.hea")), listed, LIST)

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read a record. Raises `RecordError` like `wfdb.read_record`."""
        record = read_record(candidate.file, candidate.root, stretch)
        return replace(record, source=self.source, patient=candidate.key)
