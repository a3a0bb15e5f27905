"""Predict the concepts of records with a trained encoder, without a probe.

q is a record's shares over the concepts of the graph (the paper's eq. gscl-pred). They add up to 1, and a
larger share means that the record is more similar to the concept. `predict_table` returns q for many records.
h_rhythm is the encoder's vector of a record, from which q is computed. A leaf is a finding of the graph.

Shapes: B records, K leads or classes, L samples, D width, N concepts, T steps through a record.
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
    """Neighbour of a concept in the graph.

    Attributes:
        index, abbr, label: the neighbour.
        relation: type of the edge between the concept and the neighbour.
        share: the record's share q of the neighbour.
    """

    index: int
    abbr: str
    label: str
    relation: str
    share: float


@dataclass(frozen=True)
class Prediction:
    """Predicted concept of a record, with its share q and its graph neighbours.

    Attributes:
        index, abbr, label: the concept.
        share: the record's share q of the concept.
        neighbours: neighbours of the concept in the graph, by descending share.
        support: number of training records with the concept; None for a family, or if it is unknown.
        by_family: share of the leaf's family, for a leaf that no training record had. It ranks records better
            than the leaf's own share. None for other concepts.
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
        fs: sampling rate in Hz. It must be given.
        leads: names of the K leads, in the order of `signals` and in upper or lower case.
        batch_size: windows per forward pass.
        device: device on which the model runs, for example `cuda`. If None, a model stays on its device, and
            a loaded model uses a GPU if there is one.

    Raises:
        UsageError: as for `embed`, or if the model was trained without codes or without the objective GSCL.
        CheckpointError: the model can't be loaded, or its output isn't finite.

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
        UsageError: the model was trained without codes or without the objective GSCL.
        CheckpointError: q isn't finite.
    """
    with torch.no_grad():
        logits_BN = model.concept_logits(torch.from_numpy(rhythm_BD).to(model.prototypes))
    q_BN: NDArray[np.float32] = logits_BN.float().softmax(-1).cpu().numpy()
    if not np.isfinite(q_BN).all():
        raise CheckpointError(
            "the model returns shares that are not finite", remedy="Use a model whose training didn't diverge"
        )
    return q_BN


def step_vectors(
    model: MarEcg, record: str | Path, step: float, seconds: float, layout: Layout | None = None
) -> tuple[list[float], NDArray[np.float32]]:
    """Embed parts of a long record, of which one begins every `step` seconds.

    Unreadable parts are left out, and a warning names the first of them. Raises `InputError` if no part can
    be read.

    Args:
        model: the encoder.
        record: file of the record.
        step: seconds between the starts of two parts.
        seconds: duration of a part.
        layout: sampling rate, leads and units, if the file is a plain array.

    Returns:
        Starts of the parts in seconds, and their h_rhythm [T, D].
    """
    parts = in_parts([("", find_one(record, layout))], partial(every, step), seconds)
    entries = (Unread(f"@{part.part.start:g} s", part.place, partial(read_mended, part)) for _, part in parts)
    done = Embedded()
    items = embedded(model, entries, done, PASS_WINDOWS, patches=False)
    rows = [(row["start"], vectors.rhythm) for row, vectors in items]
    done.refuse_none()
    for verdict, steps in (("left out", done.failed), ("check", done.doubtful)):
        if steps:
            logger.warning("%s: %d steps, the first %s: %s", verdict, len(steps), *next(iter(steps.items())))
    starts, vectors = zip(*rows, strict=True)
    return list(starts), np.stack(vectors)


def reader_of(run: str | Path) -> MarEcg | EcgClassifier:
    """Load a classifier from its folder, or any other model on the best device.

    Raises `CheckpointError` if it can't be loaded.
    """
    if is_classifier(run):
        return EcgClassifier.load(run)
    model = MarEcg.from_pretrained(run).to(best_device())
    title = model.ontology.header.title
    if title.endswith("not for use"):
        logger.warning("%s was trained with a graph that is not for use: %s", run, title)
    return model


def answers_and_risk(
    run: str | Path, reader: MarEcg | EcgClassifier, risk: float | None = None, labels: Path | None = None
) -> tuple[Answers | None, float]:
    """Return a model's fitted answers, or None if it has none; and the risk, which is `RISK` by default.

    Raises `UsageError` if `risk` or `labels` is given, but the model has no fitted answers.
    """
    answers = None if isinstance(reader, EcgClassifier) else answers_of(run, reader)
    if answers is None and (risk is not None or labels is not None):
        remedy = "Leave risk and calibrate out, or fit answers: python -m marecg.use.fit_answers --help"
        raise UsageError(
            "has no calibrated answers, but risk or calibrate was given", where=run, remedy=remedy
        )
    return answers, RISK if risk is None else risk


def predict_table(
    reader: MarEcg | EcgClassifier,
    records: Inputs,
    answers: Answers | None = None,
    risk: float = RISK,
    labels: Path | None = None,
) -> tuple[pd.DataFrame, Embedded]:
    """Return a table of records with their shares of the concepts, or with the probabilities of classes.

    The table has a row per record and these columns:

    - `id`: name of the record, as in `marecg embed`.
    - `record`, `source`: name of the record within its source, and the source, for example a study.
    - `identity`: published name, for example `ptbxl/00001` for the record of PTB-XL with the `ecg_id` 1.
    - `patient`: id of the patient.
    - `start`: beginning of the part of a long record that the row is about, in seconds.
    - A column per concept or class, with its name. The column of a class called `start` is `p start`.
    - For each leaf without training records, the share of its family, for example `InfMI by family`.
    - `called`: for a classifier, the classes that it assigns.
    - `answers`: if answers are given, the findings and families that can be reported at the risk.

    Args:
        reader: model or classifier, from `reader_of`.
        records: records to read.
        answers: fitted answers of the model; None to leave out the column `answers`.
        risk: share of answers that may be wrong.
        labels: CSV of labels of some of the records, to which the answers are first adapted
            (`Answers.recalibrated`).

    Returns:
        The table, and the outcome of reading the records. An unreadable record has no row.

    Raises:
        InputError: every record is unreadable, or the labels are unusable.
        UsageError: the model was trained without codes or without the objective GSCL.
    """
    classifier = reader if isinstance(reader, EcgClassifier) else None
    model = reader.encoder if isinstance(reader, EcgClassifier) else reader
    names = classifier.classes_.tolist() if classifier else [node.abbr for node in model.ontology.nodes]
    label_table = None if answers is None or labels is None else answers.read_labels(labels)
    done, rows = Embedded(), list[dict[str, Any]]()
    stream = readable(records, model.config, done)
    blocks: list[NDArray[np.floating]] = []
    family_columns = (
        {} if classifier else {leaf: f"{names[leaf]} by family" for leaf in judged_by_family(model)}
    )
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
    for leaf, share_B in (by_family(model, shares.to_numpy()) if family_columns else {}).items():
        shares[family_columns[leaf]] = share_B
    rows = [row | {"identity": published_as(row["record"], row["source"])} for row in rows]
    table = pd.concat([pd.DataFrame(rows, columns=RECORD_COLUMNS), shares], axis=1)
    if answers is not None:
        q_BN = shares.to_numpy()[:, : len(names)]
        if label_table is not None and labels is not None:
            record_names = list(map(_names, rows))
            answers = answers.recalibrated(model.ontology, q_BN, record_names, label_table, labels)
        answered = answers.select(model.ontology, q_BN, risk)
        table["answers"] = ["; ".join(names[answer.concept] for answer in found) for found in answered]
    if classifier:
        reached = classifier.calls(shares.to_numpy())
        table["called"] = ["; ".join(str(name) for name in np.array(names)[is_K]) for is_K in reached]
    return table, done


def _names(row: dict[str, Any]) -> set[str]:
    """Return the names by which a table of labels may name a record."""
    return {str(row["id"]), str(row["record"]), f"{row['source']}/{row['record']}", str(row["identity"])}


def as_csv(table: pd.DataFrame) -> str:
    """Format the table as CSV, with six digits per share. Cells are escaped for spreadsheet programs."""
    starts = table["start"].map("{:.12g}".format)
    table = table.assign(start=starts).rename(columns=guarded).map(guarded)
    text: str = table.to_csv(index=False, float_format="%.6g")
    return text


def predict_into(
    run: str | Path, records: Inputs, out: Path, risk: float | None = None, labels: Path | None = None
) -> Embedded:
    """Write `predict_table` to a `.csv` or `.parquet` file, and return the outcome of reading the records.

    Args:
        run: a model or classifier, as for `reader_of`.
        records: records to read.
        out: file to write.
        risk: share of answers that may be wrong; None for the default.
        labels: CSV of labels, as for `predict_table`.

    Raises:
        UsageError: the file has another suffix or is an input; or as for `predict_table`.
        InputError: every record is unreadable, or the labels are unusable.
        CheckpointError: the model can't be loaded.
        OutputError: the file can't be written.
    """
    if out.suffix not in (".csv", ".parquet"):
        problem = f"must end in .csv or .parquet, got {out.suffix or 'no suffix'}"
        raise UsageError(problem, where=out, remedy="Change the file's suffix")
    records.refuse(out)
    with replacing(out, private=True) as temporary:
        reader = reader_of(run)
        table, done = predict_table(reader, records, *answers_and_risk(run, reader, risk, labels), labels)
        if out.suffix == ".csv":
            temporary.write_text(as_csv(table), encoding="utf-8")
        else:
            table.rename(columns=str).to_parquet(temporary, index=False)
    return done


def nearest(model: MarEcg, q_N: NDArray[np.floating], top: int) -> list[Prediction]:
    """Return the `top` concepts with the largest shares in a record's q, with their graph neighbours."""
    return [_prediction(model, q_N, index) for index in np.argsort(-q_N, kind="stable")[:top].tolist()]


def untaught_leaves(model: MarEcg, q_N: NDArray[np.floating]) -> list[Prediction]:
    """Return the leaves without training records, in descending order of their families' shares."""
    predictions = [_prediction(model, q_N, index) for index in judged_by_family(model)]
    return sorted(predictions, key=lambda prediction: -(prediction.by_family or 0))


def _prediction(model: MarEcg, q_N: NDArray[np.floating], index: int) -> Prediction:
    nodes = model.ontology.nodes
    support = (model.provenance and model.provenance.support) or {}
    edges = sorted(model.ontology.neighbours(index), key=lambda edge: -q_N[edge[0].index])
    neighbours = [
        Neighbour(node.index, node.abbr, node.label, relation, float(q_N[node.index]))
        for node, relation in edges
    ]
    abbr, label = nodes[index].abbr, nodes[index].label
    share = by_family(model, q_N).get(index)
    family_share = None if share is None else float(share)
    return Prediction(index, abbr, label, float(q_N[index]), neighbours, support.get(abbr), family_share)
