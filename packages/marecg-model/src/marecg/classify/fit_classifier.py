"""`marecg classify fit`: train a calibrated classifier on a labelled corpus and evaluate it on test records.

Shapes: M test records, K classes; B records of a block, F values of a readout.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_base import parquet_batches, refuse_others, refuse_pipe, replacing
from ecg_records.signal.leads import LEADS
from marecg.base.progress import shown
from marecg.classify.classifier import EcgClassifier
from marecg.classify.classifier_folder import FILES, MARK
from marecg.classify.classifier_scores import (
    EVALUATION,
    Counts,
    Evaluation,
    class_scores,
    group_scores,
)
from marecg.classify.tuning import HEADS, Vectors
from marecg.corpus import index, trained_on
from marecg.corpus.prepared import Corpus
from marecg.embedding.embed import loaded
from marecg.errors import CorpusError, InputError, UsageError
from marecg.evaluate.methods.feature_blocks import Block, read_block, write_block
from marecg.evaluate.methods.frozen_encoder import FULL_POOLING
from marecg.evaluate.reporting import leak
from marecg.evaluate.scores.results import describe_leak
from marecg.evaluate.tasks.corpus import corpus_recordings, corpus_task
from marecg.evaluate.tasks.label_tables import read_labels
from marecg.evaluate.tasks.task import FS, SPLITS, TEST, TRAIN, VAL, Task
from marecg.model.mar_ecg import MarEcg
from marecg.model.names import public_name
from marecg.model.pretrained import folder_of, weights_sha256
from marecg.model.windows import Recording, recording

PREDICTIONS, CARD, PAGE = "predictions.parquet", "README.md", "report.html"
"""Files in a classifier's folder: predictions of the test records, model card and report."""
INDEXED = ("id", "source", "patient", "age", "sex", "acquired", "device")
"""Columns of the corpus index that are copied to the predictions, if present."""
FILE_RECORDS = 64
"""Number of records per stored block of embeddings. Progress is reported after each block."""
COMPARED = 256
"""Number of test records on which an exported file is compared with the classifier."""
EVALUATION_FILES = {*FILES, EVALUATION, PREDICTIONS, CARD, PAGE}
"""Files in the folder of a classifier. A folder with any other file isn't replaced."""
MISSING_NAMED = 5
"""Maximum number of missing records that are listed by name."""


def fit_classifier(
    classifier: EcgClassifier,
    data: str | Path,
    out: str | Path,
    labels: str | Path | None = None,
    *,
    exclusive: bool = False,
    prevalence: Mapping[str, float] | None = None,
) -> Evaluation:
    """Train, calibrate and evaluate a classifier, and write it to a folder.

    The folder also gets `evaluation.json` and `predictions.parquet`.

    Args:
        classifier: unfitted classifier with the settings of the training. Its base model isn't changed.
        data: folder of a prepared corpus.
        out: new folder, or a folder with an older classifier, which is replaced. A folder with other files is
            refused.
        labels: CSV file with labels (`label_tables.read_labels`). If None, the classes are the findings
            (leaves of the graph) that enough records of the corpus have.
        exclusive: whether each record has exactly one class. If so, only the most probable class is reported.
        prevalence: share of records that are expected to have a class when the classifier is used, by class.
            Classes may be left out.

    Raises:
        InputError: a class has too few labels, or the labels contradict `exclusive`.
        UsageError: the prevalence or a setting is invalid.
    """
    data, out, labels = Path(data), Path(out), None if labels is None else Path(labels)
    refuse_others(out, EVALUATION_FILES.__contains__, mark=MARK)
    classifier.tuning()  # raises for invalid settings before anything is read
    classifier.fs = FS if classifier.fs is None else classifier.fs  # corpora for classifiers have this rate
    model = loaded(classifier.model)

    # labels
    task, y_MK = _labels(labels, data)
    prevalence = _checked(prevalence or {}, task.classes)
    if exclusive:
        _check_exclusive(task, y_MK, labels or data)
    counts = _counts(task, y_MK, labels or data)

    # split
    train, val, test = (np.flatnonzero(task.split_M == part).tolist() for part in (TRAIN, VAL, TEST))

    # features
    def fetch(position: int) -> Recording:
        return recording(task.recordings.read(int(task.row_M[position])), FS, LEADS, model.config)

    vectors = Vectors(model, fetch, classifier.readouts()[-1])
    reused = _embed_blocks(vectors, [*train, *val, *test], task, data, out)

    # head, calibration and thresholds, as in `EcgClassifier.fit`
    classifier.fit_rows(vectors, y_MK, train, val, np.array(task.classes), several=not exclusive)

    # evaluation on the test records
    frame = _predictions(classifier, task, y_MK, data, test, classifier.tuned_.logits(vectors, test))
    model_folder = None if isinstance(classifier.model, MarEcg) else folder_of(classifier.model)
    leaking = leak(trained_on.folder_beside(model_folder), task) if model_folder else None
    leaked = {*leaking.same_record, *leaking.same_patient, *leaking.same_signal} if leaking else set()
    frame["seen"] = frame["name"].isin(leaked)
    evaluation = Evaluation(
        model="a model in memory" if model_folder is None else public_name(str(classifier.model)),
        data=data.resolve().name,
        task=task.name,
        folds=task.folds,
        counts=counts,
        missing=len(task.missing),
        missing_names=task.missing[:MISSING_NAMED],
        exclusive=exclusive,
        leak=describe_leak(leaking),
        seen=int(frame["seen"].sum()),
        readout=classifier.readout_,
        losses=classifier.losses_,
        reused=reused,
        scores=(
            *class_scores(classifier, frame, counts, prevalence),
            *group_scores(classifier, frame, counts),
        ),
    )
    with replacing(out, private=True) as temporary:
        classifier.write(temporary)
        (temporary / EVALUATION).write_text(evaluation.model_dump_json(indent=2), encoding="utf-8")
        frame.to_parquet(temporary / PREDICTIONS, index=False)
    return evaluation


def _labels(labels: Path | None, data: Path) -> tuple[Task, NDArray[np.float64]]:
    """Return a task and its labels [M, K]. The classes come from a table, or are the leaves of the corpus.

    Unknown labels are NaN.
    """
    if labels is None:
        task = corpus_task(data)
        return task, task.y_MK.astype(np.float64)
    task, has_label_MK = read_labels(labels, data)
    return task, np.where(has_label_MK, task.y_MK, np.nan)


def _embed_blocks(vectors: Vectors, records: Sequence[int], task: Task, data: Path, out: Path) -> int:
    """Embed the records of a task, and return the number of vectors reused from an earlier run.

    Vectors are stored in blocks in `embedding_folder`. An interrupted run continues after the last block, and
    a second classifier on the same records reuses all blocks. The key of a block names the encoder, the
    readout and the signals. A block with a longer readout is reused as well. Blocks follow the order of the
    corpus, so that they don't depend on the labels.
    """
    ordered = sorted(records, key=lambda row: task.row_M[row])
    hashes = index.of(data, ["signal_hash"])["signal_hash"].take(task.row_M).to_pylist()
    weights, reused, folder = weights_sha256(vectors.model), 0, embedding_folder(data, out)
    readouts = HEADS[HEADS.index(vectors.readout) :]
    with shown("embedding: records") as report:
        for first in range(0, len(ordered), FILE_RECORDS):
            rows = ordered[first : first + FILE_RECORDS]
            signals = " ".join(hashes[row] for row in rows)
            keys = [f"{weights} {readout} {FULL_POOLING} {signals}" for readout in readouts]
            block = next(filter(None, (read_block(folder, key, len(rows)) for key in keys)), None)
            if block is None:
                write_block(folder, keys[0], Block(vectors(rows).astype(np.float32), ("",) * len(rows)))
            else:
                vectors.add(rows, block.x_BF)
                reused += len(rows)
            report(first + len(rows), len(ordered))
    return reused


def embedding_folder(data: Path, out: Path) -> Path:
    """Return the folder for embeddings, `NAME-embedding`.

    It lies next to the corpus `data`, or next to `out` if the parent folder of `data` isn't writable. NAME is
    the name of `data` or `out`.
    """
    data = data.absolute()
    beside = data if os.access(data.parent, os.W_OK) else out
    return beside.with_name(f"{beside.name}-embedding")


def judged_recordings(folder: Path, data: Path) -> Iterator[Recording]:
    """Return the first `COMPARED` test records of a classifier, on which an exported file is checked.

    Args:
        folder: folder of the classifier.
        data: corpus on which the classifier was evaluated. For another corpus, `CorpusError` is raised.
    """
    recordings, config = corpus_recordings(Corpus.open(data)), MarEcg.from_pretrained(folder).config
    frame = read_predictions(folder, ["row", "name"])[:COMPARED]
    if [recordings.ids[row] for row in frame["row"] if row < len(recordings.ids)] != list(frame["name"]):
        problem = "isn't the corpus on which the classifier was evaluated"
        raise CorpusError(problem, where=data, remedy="Give the corpus that it was fitted with")
    return (recording(recordings.read(int(row)), FS, LEADS, config) for row in frame["row"])


def read_predictions(folder: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a classifier's predictions of its test records, with all columns or with `columns`.

    Raises `InputError` if the file is missing or damaged.
    """
    path, remedy = folder / PREDICTIONS, "Fit the classifier again"
    refuse_pipe(path, remedy)
    tables = parquet_batches(path, columns, where=path, remedy=remedy)
    return pd.concat((table.to_pandas() for table in tables), ignore_index=True)


def _checked(prevalence: Mapping[str, float], classes: Sequence[str]) -> Mapping[str, float]:
    """Return the prevalence unchanged. Raises `UsageError` for an unknown class or an invalid share."""
    for name, share in prevalence.items():
        if name not in classes:
            raise UsageError(f"unknown class {name!r}", remedy=f"Choose from {', '.join(classes)}")
        if not 0 < share < 1:
            raise UsageError(f"the prevalence of {name} must be between 0 and 1, got {share:g}")
    return prevalence


def _check_exclusive(task: Task, y_MK: NDArray[np.float64], where: Path) -> None:
    """Raise `InputError` if a record doesn't have exactly one class."""
    positives_M = np.nansum(y_MK, axis=1)
    wrong = np.flatnonzero((positives_M != 1) | ~np.isfinite(y_MK).all(axis=1))
    if len(wrong):
        first = wrong[0]
        name, count = task.recordings.ids[task.row_M[first]], int(positives_M[first])
        has = f"has {count}" if count != 1 else "has one, and unknown labels"
        problem = f"{len(wrong):,} of {len(y_MK):,} records don't have exactly one class, e.g. {name} {has}"
        remedy = "Give every record exactly one class, or leave out --exclusive"
        raise InputError(problem, where=where, remedy=remedy)


def _counts(task: Task, y_MK: NDArray[np.float64], where: Path) -> Counts:
    """Count positives and labelled records by split and class.

    Raises `InputError` if a split has no positives or no negatives of a class, or if all train records with a
    class are of the same patient.
    """
    patients = task.recordings.patients
    counts: Counts = {}
    for part in SPLITS:
        counts[part] = {}
        for name, y_M in zip(task.classes, y_MK[task.split_M == part].T, strict=True):
            positives, count = int(np.nansum(y_M)), int(np.isfinite(y_M).sum())
            if not 0 < positives < count:
                missing = "positives" if not positives else "negatives"
                problem = f"class {name} has no {missing} among the {count} {part} records with a label"
                remedy = "Label more records, leave the class out, or assign records in a column `split`"
                raise InputError(problem, where=where, remedy=remedy)
            counts[part][name] = (positives, count)
    for column, name in enumerate(task.classes):
        rows = task.row_M[(y_MK[:, column] == 1) & (task.split_M == TRAIN)]
        if len({patients[row] or task.recordings.ids[row] for row in rows}) < 2:
            problem = f"class {name} must have at least 2 patients among the train records, got 1"
            raise InputError(problem, where=where, remedy="Label more patients, or leave the class out")
    return counts


def _predictions(
    classifier: EcgClassifier,
    task: Task,
    y_MK: NDArray[np.float64],
    data: Path,
    test: Sequence[int],
    logits_MK: NDArray[np.float64],
) -> pd.DataFrame:
    """Return a table of the test records: metadata, and the label, logit and probability of each class."""
    rows, present = task.row_M[test], index.schema(data).names
    frame = index.of(data, [name for name in INDEXED if name in present]).take(rows).to_pandas()
    frame.insert(0, "row", rows)
    frame.insert(1, "name", [task.recordings.ids[row] for row in rows])
    p_MK = classifier.probabilities(logits_MK)
    for column, name in enumerate(task.classes):
        frame[f"label {name}"] = y_MK[test, column]
        frame[f"logit {name}"] = logits_MK[:, column]
        frame[f"p {name}"] = p_MK[:, column]
    return frame
