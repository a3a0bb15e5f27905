"""What `marecg embed` and `marecg predict` do: records and arrays on disk in, named arrays out."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Ontology
from marecg.model.mar_ecg import MarEcg
from marecg.read.any_leads import read_one
from marecg.read.array_layout import Layout
from marecg.read.record import Candidate
from marecg.use.embed import BATCH, Readout, best_device, encode
from marecg.use.inputs import Inputs
from marecg.use.predict import concepts
from marecg.use.recordings import Embedded, none_read, prepared, recordings
from marecg.use.vectors import writing

logger = logging.getLogger(__name__)


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


Passing = Callable[[Iterable[tuple[str, Candidate]]], Iterable[tuple[str, Candidate]]]
"""Hands the records on by name; a progress bar, say."""


def embed_files(
    run: str | Path,
    inputs: Sequence[str | Path],
    out: str | Path,
    *,
    layout: Layout | None = None,
    patches: bool = False,
    readout: Readout = "rhythm",
    batch_size: int = BATCH,
    watch: Passing = iter,
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
        watch: sees each record go by.

    Raises:
        UsageError: another ending, an array without a layout, or an unknown lead.
        InputError: not one record can be read.
    """
    model = MarEcg.from_pretrained(run).to(best_device())
    done = Embedded()
    with writing(out, model.config, patches=patches, readout=readout) as add:
        found = recordings(model, watch(Inputs(inputs, layout)), done)
        for row, embedded in enumerate(encode(model, found, batch_size)):
            add(done.ids[row], embedded)
        if not done.ids:
            raise none_read(done.failed)
    return done


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
