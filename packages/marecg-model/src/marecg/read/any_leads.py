"""Records as they lie on disk, of any leads and length, for an encoder to read one after another.

Shapes: K leads as found, L samples.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.config import LEADS
from marecg.ecg.signal import known_leads, lead_places
from marecg.errors import Reason, RecordError
from marecg.read.array_layout import Layout
from marecg.read.arrays import ArrayFile, is_array
from marecg.read.discovery import find
from marecg.read.record import Candidate
from marecg.read.wfdb import read_signal
from marecg.read.wfdb_header import read_header


class Signal(NamedTuple):
    """A record as it was found: its name, x_KL in mV, its rate and its leads."""

    name: str
    x_KL: NDArray[np.float32]
    fs: float
    leads: Sequence[str]


class Entry(NamedTuple):
    """A record to come: where it is, and how it is read (raises `RecordError`)."""

    place: str
    read: Callable[[], Signal]


def entries(inputs: Sequence[str | Path], layout: Layout | None = None) -> list[Entry]:
    """Every record of headers, folders and array files, each once, none read yet.

    Raises:
        CorpusError: a folder holds no records.
        UsageError: an array is given without a layout, or does not have it, or that names unknown leads.
        InputError: an array file can't be read.
    """
    if layout is not None:
        lead_places(layout.leads)
    opened = lru_cache(maxsize=2)(ArrayFile)
    found: dict[tuple[Path, int], Entry] = {}  # each record once: a shell's * names its header and its signal
    for given in map(Path, inputs):
        if given.is_dir() or is_array(given):
            for each in find([given], layout=layout):
                prefix = f"{each.source}/" if given.is_dir() else ""
                entry = Entry(str(each.root / each.path), partial(_read, each, prefix, layout, opened))
                found.setdefault((each.file.resolve(), each.row), entry)
        else:
            header = given.with_suffix(".hea")
            read = partial(_leads_there, header, header.parent, header.stem)
            found.setdefault((header.resolve(), -1), Entry(str(header), read))
    return list(found.values())


def _read(
    candidate: Candidate, prefix: str, layout: Layout | None, opened: Callable[[Path, Layout], ArrayFile]
) -> Signal:
    """A record as its dataset reads it, or with the leads that it has."""
    file, row = candidate.file, candidate.row
    try:
        record = candidate.read()
    except RecordError as error:
        if error.reason != Reason.missing_lead:
            raise
        if file.suffix == ".hea":
            return _leads_there(file, candidate.root, prefix + file.stem)
        if layout is None:
            raise
        array = opened(file, layout)
        name = file.stem if row < 0 else f"{file.stem}/{row}"
        return Signal(prefix + name, array.signal(max(row, 0))[0], layout.fs, array.leads)
    return Signal(prefix + record.id, record.x_CL, record.fs, LEADS)


def _leads_there(header: Path, root: Path, name: str) -> Signal:
    """A WFDB record with those of the twelve leads that it has."""
    parsed = read_header(header, root)
    leads = known_leads([channel.name for channel in parsed.channels])
    x_KL, _, _ = read_signal(parsed, root, leads=leads)
    return Signal(name, x_KL, parsed.fs, leads)
