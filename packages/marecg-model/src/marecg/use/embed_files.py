"""What `marecg embed` and `marecg predict` do: records and arrays on disk in, named arrays out.

Shapes: N concepts.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Ontology
from marecg.model.mar_ecg import MarEcg
from marecg.read.any_leads import read_one
from marecg.read.array_layout import Layout
from marecg.use.embed import BATCH, Readout, WideEmbeddings, best_device, encode
from marecg.use.inputs import Inputs, Named
from marecg.use.predict import concepts
from marecg.use.processes import EmbedProgress, counted, device_here, elsewhere, processes
from marecg.use.recordings import Embedded, none_read, prepared, recordings
from marecg.use.vectors import writing

logger = logging.getLogger(__name__)
_NONE = np.zeros(0, np.float32)


@dataclass(frozen=True)
class Neighbour:
    """A concept beside another in the graph: what it is to that one, and its own share of q."""

    index: int
    abbr: str
    label: str
    relation: str
    probability: float


@dataclass(frozen=True)
class Prediction:
    """One concept of a record: its share of q, and its neighbours, the most probable first.

    `support` is how many records of the training bore it; None for a family, and where nobody noted it.
    """

    index: int
    abbr: str
    label: str
    probability: float
    neighbours: list[Neighbour]
    support: int | None = None


def embed_files(
    run: str | Path,
    inputs: Sequence[str | Path],
    out: str | Path,
    *,
    layout: Layout | None = None,
    patches: bool = False,
    readout: Readout = "rhythm",
    batch_size: int = BATCH,
    jobs: int | None = None,
    watch: EmbedProgress | None = None,
) -> Embedded:
    """Embed headers, folders, array files and prepared corpora into one `.npz` or `.parquet` file.

    The file holds what `vectors.writing` says. A record that can't be read is left out and named.

    Args:
        run: a run or a model, as for `MarEcg.from_pretrained`.
        inputs: headers, folders, array files, or corpora that `marecg prepare` wrote.
        out: where to write; its ending says how.
        layout: what the arrays are; without it, those in folders are passed over.
        patches: write H̄ as well.
        readout: `wide` writes the wide readout as well.
        batch_size: windows per forward pass.
        jobs: how many processes, which take GPUs in turn; by default as `processes` says.
        watch: called whenever some more records are done.

    Raises:
        UsageError: another ending, an input as output, an array without a layout, or an unknown lead.
        InputError: not one record can be read, or a worker process was killed.
        CheckpointError: the model can't be loaded, gives values that aren't finite, or was replaced.
    """
    model = MarEcg.from_pretrained(run).to(device_here())
    done = Embedded()
    records = Inputs(inputs, layout)  # found before there is a file that could be one of them
    records.refuse(Path(out))
    with writing(out, model.config, patches=patches, readout=readout) as add:

        def tell(more: int = 0) -> None:
            if watch is not None:
                watch(len(done.ids) + len(done.failed) + more, len(records))

        at_once = max(BATCH, batch_size)  # batches end with them, so it does not matter who embeds them
        starts = range(0, len(records), at_once)
        tasks = ((records.part(first, first + at_once),) for first in starts)
        count = min(processes(model, len(records), jobs), len(starts))
        if count > 1:
            make = partial(_for_another, batch_size, patches=patches, readout=readout)
            made = elsewhere(make, str(run), model, tasks, count, None, out)
        else:
            made = (_embedded(batch_size, model, counted(named, tell)) for (named,) in tasks)
        for part, rows in made:
            for name, embedded in rows:
                add(name, embedded)
            done.add(part)
            tell()
        if not done.ids:
            raise none_read(done.failed)
    return done


def _embedded(
    batch_size: int, model: MarEcg, named: Iterable[Named]
) -> tuple[Embedded, Iterable[tuple[str, WideEmbeddings]]]:
    """An account of records, which is whole when all have come, and their vectors by name."""
    done = Embedded()
    vectors = encode(model, recordings(model, named, done), batch_size)
    return done, ((done.ids[row], embedded) for row, embedded in enumerate(vectors))


def _for_another(
    batch_size: int, model: MarEcg, named: Iterable[Named], *, patches: bool, readout: Readout
) -> tuple[Embedded, Iterable[tuple[str, WideEmbeddings]]]:
    """The same for another process, which is sent no more than it writes."""
    done, rows = _embedded(batch_size, model, named)
    unwanted = ({} if patches else {"patch": _NONE}) | ({} if readout == "wide" else {"wide": _NONE})
    return done, [(name, embedded._replace(**unwanted)) for name, embedded in rows]


def predict_file(
    run: str | Path, record: str | Path, top: int = 5, layout: Layout | None = None
) -> list[Prediction]:
    """The concepts that a record is nearest to, most probable first, each with its graph neighbours.

    Logs a warning where the amplitude is no heart's in mV.

    Raises:
        InputError: the record can't be read.
        UsageError: the run was trained without GSCL or without a label, or the file or folder holds several
            records.
    """
    model = MarEcg.from_pretrained(run).to(best_device())
    whole, doubt = prepared(read_one(record, layout), record, model)
    if doubt:
        logger.warning("check the units: %s", doubt)
    q_N = concepts(model, np.stack([each.rhythm for each in encode(model, [whole])]))[0]
    nodes = model.ontology.nodes
    support = (model.provenance and model.provenance.support) or {}
    return [
        Prediction(
            index,
            nodes[index].abbr,
            nodes[index].label,
            float(q_N[index]),
            _around(model.ontology, index, q_N),
            support.get(nodes[index].abbr),
        )
        for index in np.argsort(-q_N, kind="stable")[:top].tolist()
    ]


def _around(onto: Ontology, index: int, q_N: NDArray[np.float32]) -> list[Neighbour]:
    """The neighbours of a concept, the most probable first."""
    near = sorted(onto.neighbours(index), key=lambda pair: -q_N[pair[0].index])
    return [
        Neighbour(other.index, other.abbr, other.label, relation, float(q_N[other.index]))
        for other, relation in near
    ]
