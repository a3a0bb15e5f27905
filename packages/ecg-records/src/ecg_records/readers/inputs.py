"""Find the records that a user names: files, folders, arrays or addresses, with any leads and any length.

Shapes: C and K leads of the file, L samples.
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
    """Find all records of headers, folders, array files or addresses, without reading them.

    The keys of the result are names that distinguish the records. A record in a folder is named by the folder
    and its path in the folder. An input that is a file is named by its file name. A shell's `*` matches both
    the header and the signal file of a record, so a record that is named twice is returned once.
    `layout` is the layout of arrays. If None, arrays in folders are ignored.

    Raises:
        CorpusError: If a folder contains no records or a file doesn't exist.
        UsageError: If an array doesn't fit the layout or there is no layout, or the layout names unknown
            leads.
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
    names = {file: as_text(without_ending(name)) for file, name in names_apart(files).items()}
    by_name: dict[str, Candidate] = {}
    for entry in with_root_names(candidates.values()):
        row = "" if entry.row < 0 else f"/{entry.row}"
        by_name[f"{names[entry.file]}{row}" if entry.file in names else entry.name] = entry
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
    """Read a record, or `seconds` of it from the second `start` on, and mend it by `mended_record`.

    Raises the errors of `Candidate.read` and `mended_record`.
    """
    return mended_record(candidate.read(seconds, start), candidate.place)


def mended_record(record: Record, place: str | None = None) -> Record:
    """Return a record whose damaged leads are mended or hidden (`quality.mended`).

    A record with doubtful units or a duration of less than a second is returned unchanged. Raises
    `RecordError` if all leads are damaged and the recording was read to its full length. The error names the
    record as `place`, or by its path if None.
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


def _find(path: Path, layout: Layout | None) -> Iterable[Candidate]:
    if path.is_dir() or is_array(path) or (is_regular(path) and format_of(path)):
        return find([path], layout=layout)
    header = path
    if not is_header(path.name):  # `path` may be the name of a record or a signal file
        header, other = path.with_name(f"{path.name}.hea"), path.with_suffix(".hea")
        header = other if is_regular(other) and not is_regular(header) else header
    if not is_regular(header) and _is_absent(header):
        if _is_absent(path):
            raise CorpusError("no such file", where=path, remedy="Check its name and folder")
        unusable = Unusable(Reason.signal_format, f"isn't an ECG in a supported format: {FORMATS_READ}")
        return [Candidate(path.parent, path, as_text(path.parent.name), HEADERS, unusable=unusable)]
    return HEADERS.records(path.parent, [header])


def _is_absent(file: Path) -> bool:
    """Return whether a file certainly doesn't exist. False if the file system is unreachable."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
