"""Records that a user names: files, folders, arrays or addresses, with any leads and length.

Shapes: C and K leads as found, L samples.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ecg_base import UsageError
from ecg_records.errors import CorpusError, Reason, RecordError
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.arrays.arrays import is_array
from ecg_records.readers.datasets.cinc2021 import is_header
from ecg_records.readers.discovery import HEADERS, find, format_of, names_apart, with_root_names
from ecg_records.record import Candidate, Record, Unusable, as_text, is_regular, without_ending
from ecg_records.signal.leads import lead_places
from ecg_records.signal.quality import CONTRADICT, QualityLimits, mended, verdict
from ecg_records.signal.samples import amplitude_doubt
from ecg_records.storage.copies import ensure_local

FORMATS_READ = (
    "WFDB (.hea), DICOM (.dcm), HL7 aECG, MUSE and Philips (.xml), EDF (.edf), SCP-ECG (.scp), "
    "and, if fs is given, .csv, .tsv, .txt, .npy, .npz, .mat, .h5 and .parquet"
)


def find_inputs(inputs: Sequence[str | Path], layout: Layout | None = None) -> dict[str, Candidate]:
    """Find all records of headers, folders, array files or addresses without reading them, by distinct names.

    A record in a folder is named by the folder and its path in the folder. A file that is an input is named
    by its file name. A record that is named twice is returned once, because a shell's `*` matches both its
    header and its signal file.

    Raises:
        CorpusError: If a folder holds no records or a file doesn't exist.
        UsageError: If an array has no layout or another layout, or the layout names unknown leads.
        InputError: If an array file can't be read.
    """
    if layout is not None:
        lead_places(layout.leads)
    candidates: dict[tuple[str, int], Candidate] = {}
    files: set[Path] = set()
    for local_path in (ensure_local(path).absolute() for path in inputs):
        for candidate in _find(local_path, layout):
            candidates.setdefault((os.path.realpath(candidate.file), candidate.row), candidate)
            if not local_path.is_dir():
                files.add(candidate.file)
    apart = {file: as_text(without_ending(name)) for file, name in names_apart(files).items()}
    by_name: dict[str, Candidate] = {}
    for entry in with_root_names(candidates.values()):
        row = "" if entry.row < 0 else f"/{entry.row}"
        by_name[f"{apart[entry.file]}{row}" if entry.file in apart else entry.name] = entry
    return by_name


def find_one(path: str | Path, layout: Layout | None = None) -> Candidate:
    """Find the single record of a header, array file or folder.

    Raises `UsageError` if there are several records, and the errors of `find_inputs`.
    """
    candidates = find_inputs([path], layout)
    if len(candidates) != 1:
        raise UsageError(
            f"must have exactly one record, got {len(candidates)}",
            where=path,
            remedy="Give the path of a record",
        )
    return next(iter(candidates.values()))


def read_mended(candidate: Candidate, seconds: float | None = None, start: float = 0.0) -> Record:
    """Read and mend a record. Raises the errors of `Candidate.read` and `mended_record`."""
    return mended_record(candidate.read(seconds, start), candidate.place)


def mended_record(record: Record, place: str | None = None) -> Record:
    """Return a record whose damaged leads are mended or hidden (`quality.mended`).

    Records with doubtful units or shorter than a second stay unchanged. Raises `RecordError` if no lead is
    left.
    """
    if amplitude_doubt(record.x_KL) or record.x_KL.shape[1] < record.fs:
        return record
    mend = mended(record.x_KL, record.fs, QualityLimits(), record.leads)
    if mend.hidden_C.all() and record.x_KL.shape[1] >= record.length:
        broken = verdict(mend.measures, QualityLimits(), record.leads)
        problem = f"no lead is usable ({'; '.join(fault for _, fault in broken)})"
        remedy = "Cut the record to a part with undamaged leads"
        raise RecordError(broken[0][0], problem, where=place or record.path, remedy=remedy)
    contradict = [CONTRADICT] * (mend.measures.montage > QualityLimits().montage_limit)
    return replace(record, x_KL=mend.x_CL, notes=(*record.notes, *mend.notes, *contradict))


def _find(given: Path, layout: Layout | None) -> Iterable[Candidate]:
    if given.is_dir() or is_array(given) or (is_regular(given) and format_of(given)):
        return find([given], layout=layout)
    header = given
    if not is_header(given.name):  # `given` may be the name of a record or a signal file
        header, other = given.with_name(f"{given.name}.hea"), given.with_suffix(".hea")
        header = other if is_regular(other) and not is_regular(header) else header
    if not is_regular(header) and _is_absent(header):
        if _is_absent(given):
            raise CorpusError("no such file", where=given, remedy="Check its name and folder")
        unusable = Unusable(Reason.signal_format, f"isn't an ECG in a format that is read: {FORMATS_READ}")
        return [Candidate(given.parent, given, as_text(given.parent.name), HEADERS, unusable=unusable)]
    return HEADERS.records(given.parent, [header])


def _is_absent(file: Path) -> bool:
    """Return whether a file certainly doesn't exist. An unreachable file may exist."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
