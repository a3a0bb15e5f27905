"""What a trained encoder says of signals without any probe: q over the concepts (eq. gscl-pred).

Shapes: B records, K leads as named, L samples, D width, N concepts, T steps of a time line.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ecg_ontology import Ontology
from marecg.base.config import LEADS
from marecg.base.device import best_device
from marecg.base.errors import CheckpointError
from marecg.model.mar_ecg import MarEcg
from marecg.read.array_layout import Layout
from marecg.read.inputs import find_one
from marecg.read.parts import every, in_parts
from marecg.use.classifier import EcgClassifier
from marecg.use.embed import BATCH, embed, encode, loaded
from marecg.use.recordings import Embedded, embedded, prepared

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


def predict(
    model: MarEcg | str | Path,
    signals: ArrayLike,
    *,
    fs: float = math.nan,
    leads: Sequence[str] = LEADS,
    batch_size: int = BATCH,
) -> NDArray[np.float32]:
    """Return q over the N concepts of each record (eq. gscl-pred), float32 [B, N], without any probe.

    Args:
        model: a model, or the name of one: a run, a model folder, an installed model, owner/name on the hub.
        signals: [B, K, L] in mV.
        fs: their sampling rate in Hz.
        leads: the names of the K leads, in any order and of any case.
        batch_size: windows per forward pass.

    Raises:
        UsageError: as for `embed`, or the model was trained without GSCL or without a label.
        CheckpointError: as for `embed`.

    Example:
        >>> q_BN = predict("marecg-small", x_BKL, fs=500, leads=["I", "II", "V1"])  # doctest: +SKIP
        >>> q_BN.sum(1)  # doctest: +SKIP
        array([1., 1.], dtype=float32)
    """
    model = loaded(model)
    return concepts(model, embed(model, signals, fs=fs, leads=leads, batch_size=batch_size).rhythm)


def concepts(model: MarEcg, rhythm_BD: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return q of records by their h_rhythm, [B, N].

    Raises:
        UsageError: the model was trained without GSCL, or without a label.
        CheckpointError: q isn't finite.
    """
    with torch.no_grad():
        logits_BN = model.concept_logits(torch.from_numpy(rhythm_BD).to(model.prototypes))
    q_BN: NDArray[np.float32] = logits_BN.float().softmax(-1).cpu().numpy()
    if not np.isfinite(q_BN).all():
        raise CheckpointError(
            "the model gives shares that are not finite", remedy="Use a model whose training did not diverge"
        )
    return q_BN


def predict_file(
    run: str | Path, record: str | Path, top: int = 5, layout: Layout | None = None
) -> list[Prediction]:
    """The concepts that a record is nearest to, most probable first, each with its graph neighbours.

    Logs a warning where the amplitude isn't a heart's in mV.

    Raises:
        InputError: the record can't be read.
        UsageError: the run was trained without GSCL or without a label, or the file or folder holds several
            records.
    """
    model = _model(run)
    _, whole, doubt = prepared(find_one(record, layout).read, record, model)
    if doubt:
        logger.warning("check the units: %s", doubt)
    q_N = concepts(model, np.stack([each.rhythm for each in encode(model, [whole], patches=False)]))[0]
    return _nearest(model, q_N, top)


def predict_steps(
    run: str | Path, record: str | Path, step: float, top: int = 5, layout: Layout | None = None
) -> dict[float, list[Prediction]]:
    """The concepts that each step of a recording is nearest to, by the second at which the step begins.

    Steps that can't be read are left out, and a warning names the first; so it does where the amplitude isn't
    a heart's in mV.

    Args:
        run: a run or a model.
        record: a record, or an array of one.
        step: seconds.
        top: how many concepts.
        layout: what an array is.

    Raises:
        InputError: not one step can be read.
        UsageError: as `predict_file`.
    """
    model = _model(run)
    starts, rhythm_TD = step_vectors(model, record, step, layout)
    q_TN = concepts(model, rhythm_TD)
    return {start: _nearest(model, q_N, top) for start, q_N in zip(starts, q_TN, strict=True)}


def step_vectors(
    model: MarEcg,
    record: str | Path,
    step: float,
    layout: Layout | None = None,
    seconds: float | None = None,
) -> tuple[list[float], NDArray[np.float32]]:
    """Where the steps of a recording begin, in seconds, and h_rhythm of each, [T, D]; see `predict_steps`.

    Of each step its first `seconds` are read, where that is given.
    """
    parts = in_parts([("", find_one(record, layout))], partial(every, step), seconds or step)
    named = ((f"@{part.part.start:g} s", part.place, part.read) for _, part in parts)
    done = Embedded()
    rows = [
        (row["start"], vectors.rhythm) for row, vectors in embedded(model, named, done, BATCH, patches=False)
    ]
    done.refuse_none()
    for what, steps in (("left out", done.failed), ("check the units", done.doubtful)):
        if steps:
            logger.warning("%s: %d steps, the first %s: %s", what, len(steps), *next(iter(steps.items())))
    starts, vectors = zip(*rows, strict=True)
    return list(starts), np.stack(vectors)


def _model(run: str | Path) -> MarEcg:
    model = MarEcg.from_pretrained(run).to(best_device())
    title = model.ontology.header.title
    if title.endswith("not for use"):  # as `ecgonto perturb` names its graphs
        logger.warning("%s follows a graph that is wrong on purpose: %s", run, title)
    return model


def _nearest(model: MarEcg, q_N: NDArray[np.float32], top: int) -> list[Prediction]:
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


@dataclass(frozen=True)
class Call:
    """One class of a fitted classifier on a record; `called` where its probability reaches the threshold."""

    name: str | int
    probability: float
    threshold: float
    called: bool


def classify_file(folder: str | Path, record: str | Path, layout: Layout | None = None) -> list[Call]:
    """The calibrated probability of every class of a classifier, most probable first.

    Logs a warning where the amplitude isn't a heart's in mV.

    Raises:
        InputError: the record can't be read.
        UsageError: the file or folder holds several records.
        CheckpointError: the folder isn't a classifier.
    """
    classifier = EcgClassifier.load(folder)
    _, whole, doubt = prepared(find_one(record, layout).read, record, classifier.encoder)
    if doubt:
        logger.warning("check the units: %s", doubt)
    p_K = classifier.predict_recordings([whole])[0].tolist()
    rows = zip(classifier.classes_.tolist(), p_K, classifier.thresholds_.tolist(), strict=True)
    return sorted((Call(name, p, cut, p >= cut) for name, p, cut in rows), key=lambda call: -call.probability)
