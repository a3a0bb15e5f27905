"""What `marecg embed` and `marecg predict` do: records and arrays on disk in, named arrays out.

Shapes: K leads as found, L samples.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.config import LEADS
from marecg.data.arrays import ArrayFile, is_array
from marecg.data.candidates import Candidate
from marecg.data.discovery import find
from marecg.data.headers import read_header
from marecg.data.layout import Layout
from marecg.data.reasons import Reason
from marecg.data.records import read_signal
from marecg.data.signal import known_leads
from marecg.data.units import amplitude_doubt
from marecg.errors import InputError, RecordError, UsageError
from marecg.inference import BATCH, best_device, concepts, encode
from marecg.model import MarEcg
from marecg.vectors import writing
from marecg.windows import Recording, lead_places, recording


@dataclass(frozen=True)
class Embedded:
    """What was embedded.

    Attributes:
        ids: the records, in the order of the file.
        failed: what could not be read, with the reason.
        doubtful: what was embedded but is hardly in mV, with the reason.
    """

    ids: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    doubtful: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Neighbour:
    """A concept beside another in the graph, with its own probability."""

    abbr: str
    probability: float


@dataclass(frozen=True)
class Prediction:
    """One concept of a record: its share of q, and its neighbours' shares."""

    index: int
    abbr: str
    label: str
    probability: float
    neighbours: list[Neighbour]


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


Watch = Callable[[Sequence[Entry]], Iterable[Entry]]
"""Passes the records through; a progress bar, say."""


def embed_files(
    run: str | Path,
    inputs: Sequence[str | Path],
    out: str | Path,
    *,
    layout: Layout | None = None,
    patches: bool = False,
    batch_size: int = BATCH,
    watch: Watch = iter,
) -> Embedded:
    """Embed WFDB headers, folders of records and array files into one `.npz` or `.parquet` file.

    The file holds what `vectors.writing` says. A record that can't be read is left out and named.

    Args:
        run: a run or a model, as for `MarEcg.from_pretrained`.
        inputs: headers, folders, or array files.
        out: where to write; its ending says how.
        layout: what the arrays are; without it, those in folders are passed over.
        patches: write H̄ as well.
        batch_size: windows per forward pass.
        watch: sees each record go by.

    Raises:
        UsageError: another ending, an array without a layout, or an unknown lead.
        InputError: not one record can be read.
    """
    model = MarEcg.from_pretrained(run).to(best_device())
    if layout is not None:
        lead_places(layout.leads)
    done = Embedded()
    with writing(out, model.config.width, patches=patches) as add:
        found = _recordings(model, watch(entries(inputs, layout)), done)
        for row, embedded in enumerate(encode(model, found, batch_size)):
            add(done.ids[row], embedded)
        if not done.ids:
            first = next(iter(done.failed.values()))
            raise InputError(f"not one record could be read, the first because: {first}")
    return done


def predict_file(
    run: str | Path, record: str | Path, top: int = 5, layout: Layout | None = None
) -> list[Prediction]:
    """The concepts that a record is nearest to, most probable first, each with its graph neighbours.

    Raises:
        RecordError: the record can't be read.
        UsageError: the run was trained without GSCL, or the file or folder holds several records.
    """
    model = MarEcg.from_pretrained(run).to(best_device())
    found = entries([record], layout)
    if len(found) != 1:
        raise UsageError(f"holds {len(found)} records", where=record, remedy="Name one record")
    signal = found[0].read()
    whole = recording(signal.x_KL, signal.fs, signal.leads, model.config)
    q_N = concepts(model, np.stack([each.rhythm for each in encode(model, [whole])]))[0]
    nodes, near_NN = model.ontology.nodes, model.ontology.adjacency
    return [
        Prediction(
            int(index),
            nodes[index].abbr,
            nodes[index].label,
            float(q_N[index]),
            [Neighbour(nodes[near].abbr, float(q_N[near])) for near in np.flatnonzero(near_NN[index])],
        )
        for index in np.argsort(-q_N)[:top]
    ]


def entries(inputs: Sequence[str | Path], layout: Layout | None = None) -> list[Entry]:
    """Every record of headers, folders and array files, each once, none read yet.

    Raises:
        CorpusError: a folder holds no records.
        UsageError: an array is given without a layout, or does not have it.
        InputError: an array file can't be read.
    """
    opened = lru_cache(maxsize=2)(ArrayFile)
    found: dict[tuple[Path, int], Entry] = {}  # each record once: a shell's * names its header and its signal
    for given in map(Path, inputs):
        if not given.is_dir() and not is_array(given):
            header = given.with_suffix(".hea")
            read = partial(_leads_there, header, header.parent, header.stem)
            found.setdefault((header.resolve(), -1), Entry(str(header), read))
            continue
        for each in find([given], layout=layout):
            key = each.file.resolve(), each.row
            if layout is not None and is_array(each.file):
                name = each.file.stem if each.row < 0 else f"{each.file.stem}/{each.row}"
                if given.is_dir():
                    name = f"{each.source}/{name}"
                read = partial(_row, opened, each.file, layout, each.row, name)
                found.setdefault(key, Entry(f"{each.file}#{each.row}", read))
            else:
                found.setdefault(key, Entry(str(each.file), partial(_found, each)))
    return list(found.values())


def _recordings(model: MarEcg, found: Iterable[Entry], done: Embedded) -> Iterator[Recording]:
    """What the encoder takes; what it can't take is noted in `done`."""
    for entry in found:
        try:
            signal = entry.read()
            whole = recording(signal.x_KL, signal.fs, signal.leads, model.config)
        except (RecordError, UsageError) as error:
            done.failed[entry.place] = str(error) if error.where else f"{entry.place}: {error}"
            continue
        doubt = amplitude_doubt(signal.x_KL)
        if doubt:
            done.doubtful[signal.name] = doubt
        done.ids.append(signal.name)
        yield whole


def _row(
    opened: Callable[[Path, Layout], ArrayFile], file: Path, layout: Layout, row: int, name: str
) -> Signal:
    array = opened(file, layout)
    return Signal(name, array.signal(max(row, 0))[0], layout.fs, array.leads)


def _found(candidate: Candidate) -> Signal:
    """A record as its dataset reads it, or with the leads that it has."""
    try:
        record = candidate.read()
    except RecordError as error:
        if error.reason != Reason.missing_lead or candidate.file.suffix != ".hea":
            raise
        name = f"{candidate.source}/{candidate.file.stem}"
        return _leads_there(candidate.file, candidate.root, name)
    return Signal(f"{candidate.source}/{record.id}", record.x_CL, record.fs, LEADS)


def _leads_there(header: Path, root: Path, name: str) -> Signal:
    """A WFDB record with those of the twelve leads that it has."""
    parsed = read_header(header, root)
    leads = known_leads([channel.name for channel in parsed.channels])
    x_KL, _, _ = read_signal(parsed, root, leads=leads)
    return Signal(name, x_KL, parsed.fs, leads)
