"""Define a task on a prepared corpus. Its classes are the findings (leaves) of the concept graph.

Shapes: R recordings, M labelled records, N concepts, K classes.
"""

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_records.readers.identity import patient_of, published_as
from ecg_records.readers.parts import name_of, whole_of
from marecg.corpus import index
from marecg.corpus.prepared import Corpus
from marecg.corpus.supervision import FOLDER
from marecg.errors import CorpusError
from marecg.evaluate.tasks.task import (
    FS,
    SPLITS,
    TEST,
    TRAIN,
    VAL,
    LabelTable,
    Recordings,
    Task,
    TaskDefinition,
    assemble,
    files_sha256,
    split_of,
)

SPLIT_RULE = (
    "by a hash of the patient, or of the record if no patient is known: train 60 %, val 20 %, test 20 %"
)
LEAST_SUPPORT = {TRAIN: 10, VAL: 3, TEST: 3}
"""Minimum number of records with a leaf, and of records without it, in each part, for a class."""


def corpus_task(root: Path) -> Task:
    """Build a task with all leaves that enough records have and enough records don't have.

    Records are split by a hash of the patient, or of the record's name if the patient is unknown.
    Raises `CorpusError` if `root` isn't a corpus at 500 Hz, or has no leaf with enough support.
    """
    corpus = Corpus.open(root)
    onto, recordings = corpus.ontology(), corpus_recordings(corpus)
    ids, split_R = recordings.ids, split_by_patient(recordings)
    labelled = np.flatnonzero(corpus.y.any(axis=1) & begins_record(corpus))
    supported = np.flatnonzero(_supported(corpus.y[labelled], split_R[labelled]))
    if not len(supported):
        least = ", ".join(f"{least} {part}" for part, least in LEAST_SUPPORT.items())
        raise CorpusError(
            "no leaf has enough records with and without it in every part",
            where=root,
            remedy=f"Prepare more records: a leaf needs {least} records with it, and as many without it",
        )
    table = LabelTable(
        classes=tuple(onto.nodes[leaf].abbr for leaf in supported),
        ids=tuple(ids[row] for row in labelled),
        y_MK=corpus.y[np.ix_(labelled, supported)],
        split_M=split_R[labelled],
    )
    themselves = {name: (name,) for name in table.classes}
    return assemble("corpus", recordings, table, SPLIT_RULE, concepts=themselves)


def _record_names(corpus: Corpus) -> tuple[str, ...]:
    """Return the name of each record: source and name, or its file if several records have the same name."""
    names = [f"{source}/{record}" for source, record in zip(corpus.sources, corpus.ids, strict=True)]
    counts = Counter(names)
    if len(counts) == len(names):
        return tuple(names)
    rows = index.of(corpus.folder, ["root", "path"]).to_pylist()
    files = [f"{row['root']}/{row['path']}" for row in rows]
    return tuple(name if counts[name] == 1 else file for name, file in zip(names, files, strict=True))


def begins_record(corpus: Corpus) -> NDArray[np.bool_]:
    """Return whether each row of the corpus is the first window of a recording, bool [R]."""
    if corpus.config.windows == "1":
        return np.ones(len(corpus.ids), bool)
    columns = ["root", "path", "start"]  # the windows of a record are adjacent rows
    cells = zip(*index.of(corpus.folder, columns).to_pydict().values(), strict=True)
    records = [(root, path.removesuffix(f"@{start:.12g}")) for root, path, start in cells]
    return np.array([row == 0 or record != records[row - 1] for row, record in enumerate(records)], bool)


def _supported(y_RN: NDArray[np.uint8], split_R: NDArray[np.str_]) -> NDArray[np.bool_]:
    labelled_R = y_RN.any(axis=1)
    enough_N = np.ones(y_RN.shape[1], bool)
    for part in SPLITS:
        y_N = y_RN[labelled_R & (split_R == part)]
        positives = y_N.sum(axis=0, dtype=np.int64)
        enough_N &= np.minimum(positives, len(y_N) - positives) >= LEAST_SUPPORT[part]
    return enough_N


def split_by_patient(recordings: Recordings) -> NDArray[np.str_]:
    """Assign each recording to `train`, `val` or `test`, [R], by a hash of its patient.

    If the patient is unknown, the recording's name is hashed.
    """
    pairs = zip(recordings.patients, recordings.ids, strict=True)
    return np.array([split_of(patient or record) for patient, record in pairs])


def corpus_recordings(corpus: Corpus) -> Recordings:
    """Return the recordings of a corpus at 500 Hz.

    A long recording has several rows in the corpus, one for each window. Reading the first of these rows
    returns the joined signal of all windows. Raises `CorpusError` if the corpus has another sampling rate.
    """
    if corpus.config.fs != FS:
        remedy = f"Prepare the corpus again at {FS} Hz"
        raise CorpusError(f"must be at 500 Hz, got {corpus.config.fs} Hz", where=corpus.folder, remedy=remedy)

    records = np.split(np.arange(len(corpus.ids)), np.flatnonzero(begins_record(corpus))[1:])
    windows = {int(rows[0]): rows for rows in records}

    def read(row: int) -> NDArray[np.float32]:
        rows = windows.get(row, [row])
        parts = [corpus.signals([part_row])[0, :, : corpus.n_valid[part_row]] for part_row in rows]
        return np.concatenate(parts, axis=1)

    # Training writes to `FOLDER`. These files don't change the recordings.
    files = sorted(file for file in corpus.folder.rglob("*.*") if file.parent.name != FOLDER)
    return Recordings(
        name="corpus",
        ids=_record_names(corpus),
        sha256=files_sha256(corpus.folder, files),
        window=f"up to {corpus.config.window / FS:g} s at {FS} Hz, padding left out",
        read=read,
        identities=tuple(map(published_as, corpus.ids, corpus.sources)),
        patients=tuple(map(patient_of, corpus.sources, corpus.patients)),
        people=index.of(corpus.folder, ["age", "sex", "source"]).to_pydict(),
        other_names=partial(_rows_by_name, corpus),
    )


def _rows_by_name(corpus: Corpus) -> dict[str, int]:
    """Return the row of each name that a record can have. A name of several records has the row −1."""
    locations = index.of(corpus.folder, ["root", "path"]).to_pylist()
    rows: dict[str, int] = {}
    columns = zip(corpus.ids, corpus.sources, locations, begins_record(corpus).tolist(), strict=True)
    for row, (record, source, location, begins) in enumerate(columns):
        if not begins:
            continue
        # the name in `embed`, and the name of the recording that the window was cut from
        paths = (location["path"], whole_of(location["path"])[0])
        files = {name_of(location["root"], path) for path in paths}
        names = {record, f"{source}/{record}", *files}
        if record.isdecimal():
            names.add(str(int(record)))
        for name in names:
            rows[name] = -1 if name in rows else row
    return rows


CORPUS = TaskDefinition("corpus", data="corpus", build=corpus_task)
