"""Predictions of a trained encoder without a probe: q over the concepts (eq. gscl-pred).

`marecg predict` returns a table for many records or steps. Each has a row with keys for joining other tables.

Shapes: B records, K leads as named or classes, L samples, D width, N concepts, T steps of a time line.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray

from ecg_base import guarded, replacing
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.identity import published_as
from ecg_records.readers.inputs import find_one, read_mended
from ecg_records.readers.parts import every, in_parts
from ecg_records.signal.leads import LEADS
from marecg.base.device import best_device
from marecg.classify.classifier import EcgClassifier
from marecg.classify.classifier_folder import is_classifier
from marecg.embedding.embed import PASS_WINDOWS, embed, encode, loaded
from marecg.embedding.inputs import Inputs, Unread
from marecg.embedding.recordings import Embedded, embedded, readable
from marecg.errors import CheckpointError, UsageError
from marecg.model.by_family import by_family, judged_by_family
from marecg.model.mar_ecg import MarEcg
from marecg.model.windows import required_rate
from marecg.use.answers import RISK, Answers, answers_of
from marecg.use.concept_shares import ConceptShares

logger = logging.getLogger(__name__)
BATCH_RECORDS = 64
"""Number of records whose signals are in memory at once."""
RECORD_COLUMNS = ("id", "record", "source", "identity", "patient", "start")


@dataclass(frozen=True)
class Neighbour:
    """Neighbour of a concept in the graph, with the relation of the edge and the neighbour's share of q."""

    index: int
    abbr: str
    label: str
    relation: str
    share: float


@dataclass(frozen=True)
class Prediction:
    """Predicted concept of a record, with its share of q and its graph neighbours.

    Attributes:
        index, abbr, label: the concept.
        share: its share of q.
        neighbours: its neighbours in the graph, by descending share.
        support: number of training records with the concept; None for a family, or if it is unknown.
        by_family: share of the leaf's family if no training record had the leaf, because the family's share
            ranks records better for such a leaf; otherwise None.
    """

    index: int
    abbr: str
    label: str
    share: float
    neighbours: list[Neighbour]
    support: int | None = None
    by_family: float | None = None


def predict(
    model: MarEcg | str | Path,
    signals: ArrayLike,
    *,
    fs: float | None = None,
    leads: Sequence[str] = LEADS,
    batch_size: int = PASS_WINDOWS,
    device: str | torch.device | None = None,
) -> ConceptShares:
    """Return q over the N concepts for each record (eq. gscl-pred), without a probe.

    The result is a float32 array [B, N] with the names of the concepts (`ConceptShares`).

    Args:
        model: a model, a run, a model folder, the name of an installed model, or owner/name on the hub.
        signals: [B, K, L] in mV.
        fs: sampling rate in Hz, required.
        leads: names of the K leads, in any order and in upper or lower case.
        batch_size: windows per forward pass.
        device: as for `embed`.

    Raises:
        UsageError: as for `embed`; or the model was trained without GSCL or without labels.
        CheckpointError: as for `embed`.

    Example:
        >>> q_BN = predict("marecg-small", x_BKL, fs=500, leads=["I", "II", "V1"])  # doctest: +SKIP
        >>> q_BN["AF"], q_BN.to_frame(), np.asarray(q_BN).sum(1)  # doctest: +SKIP
    """
    model = loaded(model, device)
    rhythm_BD = embed(model, signals, fs=required_rate(fs), leads=leads, batch_size=batch_size).rhythm
    return ConceptShares(concepts(model, rhythm_BD), {node.abbr: node.label for node in model.ontology.nodes})


def concepts(model: MarEcg, rhythm_BD: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return q of records from their h_rhythm, [B, N].

    Raises:
        UsageError: the model was trained without GSCL or without labels.
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


def step_vectors(
    model: MarEcg, record: str | Path, step: float, seconds: float, layout: Layout | None = None
) -> tuple[list[float], NDArray[np.float32]]:
    """Embed the first `seconds` of each step through a record. Return starts in seconds and h_rhythm [T, D].

    Unreadable steps are left out, and a warning names the first of them. Raises `InputError` if no step can
    be read.
    """
    parts = in_parts([("", find_one(record, layout))], partial(every, step), seconds)
    entries = (Unread(f"@{part.part.start:g} s", part.place, partial(read_mended, part)) for _, part in parts)
    done = Embedded()
    items = embedded(model, entries, done, PASS_WINDOWS, patches=False)
    rows = [(row["start"], vectors.rhythm) for row, vectors in items]
    done.refuse_none()
    for what, steps in (("left out", done.failed), ("check", done.doubtful)):
        if steps:
            logger.warning("%s: %d steps, the first %s: %s", what, len(steps), *next(iter(steps.items())))
    starts, vectors = zip(*rows, strict=True)
    return list(starts), np.stack(vectors)


def reader_of(run: str | Path) -> MarEcg | EcgClassifier:
    """Load the model of a run, or a classifier, for prediction. Raises `CheckpointError`."""
    if is_classifier(run):
        return EcgClassifier.load(run)
    model = MarEcg.from_pretrained(run).to(best_device())
    title = model.ontology.header.title
    if title.endswith("not for use"):
        logger.warning("%s was trained with a graph that is not for use: %s", run, title)
    return model


def telling(
    run: str | Path, reader: MarEcg | EcgClassifier, risk: float | None = None
) -> tuple[Answers | None, float]:
    """Return a model's fitted answers, or None, and the requested or default risk.

    Raises `UsageError` if a risk is requested and the reader has no fitted answers.
    """
    answers = None if isinstance(reader, EcgClassifier) else answers_of(run, reader)
    if answers is None and risk is not None:
        remedy = "Leave the risk out, or fit them: python -m marecg.use.fit_answers --help"
        raise UsageError("has no calibrated answers", where=run, remedy=remedy)
    return answers, RISK if risk is None else risk


def predict_table(
    reader: MarEcg | EcgClassifier, records: Inputs, answers: Answers | None = None, risk: float = RISK
) -> tuple[pd.DataFrame, Embedded]:
    """Return a table of all records with the shares of all concepts or the calibrated class probabilities.

    The table has a row per record and these columns:

    - `id`: name of the record, as in `marecg embed`.
    - `record`, `source`: name of the record within its source, and the source, for example a study.
    - `identity`: published name, for example `ptbxl/00001`, whose number is the `ecg_id`.
    - `patient`: id of the patient.
    - `start`: beginning of the step, in seconds.
    - A column per concept or class. If a class has the name of another column, it becomes `p start`.
    - `InfMI by family`: for a leaf without training records, the share of its family.
    - `called`: for a classifier, the classes that reach their thresholds.
    - `told`: with `answers`, the findings and families that can be reported at the risk.

    Returns:
        The table, and the outcome of reading the records. An unreadable record has no row.

    Raises:
        InputError: every record is unreadable.
        UsageError: the model was trained without GSCL or without labels.
    """
    classifier = reader if isinstance(reader, EcgClassifier) else None
    model = reader.encoder if isinstance(reader, EcgClassifier) else reader
    names = classifier.classes_.tolist() if classifier else [node.abbr for node in model.ontology.nodes]
    done, rows = Embedded(), list[dict[str, Any]]()
    stream = readable(records, model.config, done)
    blocks: list[NDArray[np.floating]] = []
    mark = {} if classifier else {leaf: f"{names[leaf]} by family" for leaf in judged_by_family(model)}
    while block := list(islice(stream, BATCH_RECORDS)):
        rows += [row for row, _ in block]
        ecgs = [ecg for _, ecg in block]
        if classifier:
            blocks.append(classifier.predict_recordings(ecgs))
        else:
            rhythm_BD = np.stack([vectors.rhythm for vectors in encode(model, ecgs, patches=False)])
            blocks.append(concepts(model, rhythm_BD))
    done.refuse_none()
    columns = [f"p {name}" if name in (*RECORD_COLUMNS, "called") else name for name in names]
    shares = pd.DataFrame(np.concatenate(blocks), columns=columns)
    for leaf, share_B in (by_family(model, shares.to_numpy()) if mark else {}).items():
        shares[mark[leaf]] = share_B
    named = [row | {"identity": published_as(row["record"], row["source"])} for row in rows]
    table = pd.concat([pd.DataFrame(named, columns=RECORD_COLUMNS), shares], axis=1)
    if answers is not None:
        answered = answers.told(model.ontology, shares.to_numpy()[:, : len(names)], risk)
        table["told"] = ["; ".join(names[one.concept] for one in some) for some in answered]
    if classifier:
        reached = classifier.calls(shares.to_numpy())
        table["called"] = ["; ".join(str(name) for name in np.array(names)[is_K]) for is_K in reached]
    return table, done


def as_csv(table: pd.DataFrame) -> str:
    """Return the table as CSV with six digits per share. Cells are escaped for spreadsheet programs."""
    starts = table["start"].map("{:.12g}".format)
    table = table.assign(start=starts).rename(columns=guarded).map(guarded)
    text: str = table.to_csv(index=False, float_format="%.6g")
    return text


def predict_into(run: str | Path, records: Inputs, out: Path, risk: float | None = None) -> Embedded:
    """Write `predict_table` to a `.csv` or `.parquet` file, and return the outcome of reading the records.

    Raises:
        UsageError: the file has another suffix or is an input; and as `predict_table`.
        InputError: every record is unreadable.
        CheckpointError: the model can't be loaded.
        OutputError: the file can't be written.
    """
    if out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"can't tell a format from {out}", remedy="End it in .csv or .parquet")
    records.refuse(out)
    with replacing(out, private=True) as temporary:
        reader = reader_of(run)
        table, done = predict_table(reader, records, *telling(run, reader, risk))
        if out.suffix == ".csv":
            temporary.write_text(as_csv(table), encoding="utf-8")
        else:
            table.rename(columns=str).to_parquet(temporary, index=False)
    return done


def nearest(model: MarEcg, q_N: NDArray[np.floating], top: int) -> list[Prediction]:
    """Return a record's nearest concepts, most probable first, with their graph neighbours."""
    return [_prediction(model, q_N, index) for index in np.argsort(-q_N, kind="stable")[:top].tolist()]


def untaught_leaves(model: MarEcg, q_N: NDArray[np.floating]) -> list[Prediction]:
    """Return the leaves without training records, ordered by their families' shares."""
    predictions = [_prediction(model, q_N, index) for index in judged_by_family(model)]
    return sorted(predictions, key=lambda prediction: -(prediction.by_family or 0))


def _prediction(model: MarEcg, q_N: NDArray[np.floating], index: int) -> Prediction:
    nodes = model.ontology.nodes
    support = (model.provenance and model.provenance.support) or {}
    near = sorted(model.ontology.neighbours(index), key=lambda pair: -q_N[pair[0].index])
    others = [
        Neighbour(other.index, other.abbr, other.label, relation, float(q_N[other.index]))
        for other, relation in near
    ]
    abbr, label = nodes[index].abbr, nodes[index].label
    share = by_family(model, q_N).get(index)
    family = None if share is None else float(share)
    return Prediction(index, abbr, label, float(q_N[index]), others, support.get(abbr), family)
