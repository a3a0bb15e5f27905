"""Search a corpus for records, patients and signals of evaluation sets, and for damage (`marecg audit`).

An evaluation set is a collection of records on which models are tested, such as PTB-XL. A model mustn't be
trained on these records. The PhysioNet/CinC Challenges distribute PTB-XL under other names, so the search
also compares signals.

Shapes: B records of a block, C leads, L samples, K evaluation records, M corpus records,
F features of a fingerprint, N concepts.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from joblib import Parallel, cpu_count, delayed
from numpy.typing import NDArray

from ecg_ontology import Ontology
from ecg_records.readers.datasets.ptbxl import patients_by_identity
from ecg_records.readers.discovery import find
from ecg_records.readers.identity import dataset_of, identity, patient_of
from ecg_records.record import Candidate
from ecg_records.storage.copies import ensure_local
from marecg.base.progress import Progress, passing, shown
from marecg.corpus import index
from marecg.corpus.columns import BLOCK_ROWS, Texts
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare_record import prepare_record
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError, OutputError, RecordError
from marecg.model.stored_signal import signal_hash
from marecg.settings import Frozen

ALIKE = 0.98
"""Minimum correlation of two fingerprints at which two windows count as the same recording."""
_ROWS = ["id", "source", "root", "path", "codes", "patient", "signal_hash"]
CHECKED = Path("supervision", "checked.json")
"""File in a corpus with the sizes and times of its files when all signals last matched their hashes."""
_STEP = 20
_MEAN = np.full(_STEP, 1 / _STEP, np.float32)
_BLOCK = 128


class Overlap(Frozen):
    """Overlap of a corpus and an evaluation set in their codes or leaves.

    A leaf is a concept that isn't a family (root) of the graph.

    Attributes:
        corpus: Number of codes or leaves in the corpus.
        evaluation: Number of codes or leaves in the evaluation set.
        shared: Codes or leaves in both.
        only_in_evaluation: Codes or leaves that the corpus lacks.
    """

    corpus: int
    evaluation: int
    shared: tuple[str, ...]
    only_in_evaluation: tuple[str, ...]


class Audit(Frozen):
    """Result of an audit, with the keys that `--format json` prints.

    Attributes:
        records: Number of records in the corpus.
        evaluation_records: Number of readable records in the evaluation sources.
        shared_ids: Pairs (corpus record, evaluation record) that were published under the same name.
        shared_patients: Corpus records whose patient is in the evaluation sources.
        same_dataset: Corpus records of PTB-XL or CPSC2018, if the evaluation sources contain any record of
            the same dataset, even if they don't contain the corpus record itself.
        identical: Pairs (corpus record, evaluation record) whose stored signals are bit-identical.
        similar: Pairs (corpus record, evaluation record) with similar signals, and their correlation.
        codes: Overlap of the codes.
        leaves: Overlap of the leaves (concepts that aren't families) to which the codes are mapped.
        leaking: All corpus records in any of the lists above.
    """

    records: int
    evaluation_records: int
    shared_ids: tuple[tuple[str, str], ...]
    shared_patients: tuple[str, ...]
    same_dataset: tuple[str, ...]
    identical: tuple[tuple[str, str], ...]
    similar: tuple[tuple[str, str, float], ...]
    codes: Overlap
    leaves: Overlap
    leaking: tuple[str, ...]


@dataclass(frozen=True)
class Evaluated:
    """Evaluation records to compare with a corpus.

    Entry k of each list belongs to record k. `identities` are published names, and `hashes` are hashes of the
    signals. `codes` has the codes of all records. Row k of `prints_KF` is the fingerprint of record k.
    """

    names: list[str]
    identities: list[str]
    patients: list[str | None]
    hashes: list[str]
    codes: set[str]
    prints_KF: NDArray[np.float32]


def audit(folder: str | Path, against: Sequence[str | Path], progress: Progress = shown) -> Audit:
    """Search a prepared corpus for the records of evaluation sources.

    Args:
        folder: Prepared corpus.
        against: Evaluation sources, in any form accepted by `prepare`.
        progress: Function that opens a progress display: `shown` or `silent` of `marecg.base.progress`.

    Raises:
        CorpusError: If the folder isn't a corpus, or a source can't be listed or has no records.
    """
    corpus = Corpus.open(folder)
    rows = index.of(corpus.folder, _ROWS)
    sources = [ensure_local(source) for source in against]
    evaluated = _evaluated(passing(find(sources), "evaluation records", progress), corpus.config)
    patients = patients_by_identity(sources)
    names, records = index.names(rows), rows["id"].to_pylist()
    collections, owners = rows["source"].to_pylist(), rows["patient"].to_pylist()
    identities = list(map(identity, records, collections))
    datasets = {dataset_of(published) for published in evaluated.identities} - {""}
    evaluation_patients = set(evaluated.patients) - {None}
    shared_ids = _pairs(names, identities, evaluated.names, evaluated.identities)
    shared_patients = tuple(
        name
        for name, published, source, owner in zip(names, identities, collections, owners, strict=True)
        if patients.get(published, patient_of(source, owner)) in evaluation_patients
    )
    same_dataset = tuple(
        name for name, published in zip(names, identities, strict=True) if dataset_of(published) in datasets
    )
    identical = _pairs(names, rows["signal_hash"].to_pylist(), evaluated.names, evaluated.hashes)
    similar = _similar(corpus, names, evaluated, progress)
    in_pairs = [pair[0] for pair in (*shared_ids, *identical)] + [name for name, _, _ in similar]
    corpus_codes, ontology = set(pc.unique(pc.list_flatten(rows["codes"])).to_pylist()), corpus.ontology()
    return Audit(
        records=len(corpus),
        evaluation_records=len(evaluated.names),
        shared_ids=shared_ids,
        shared_patients=shared_patients,
        same_dataset=same_dataset,
        identical=identical,
        similar=similar,
        codes=_overlap(corpus_codes, evaluated.codes),
        leaves=_overlap(_leaves(corpus_codes, ontology), _leaves(evaluated.codes, ontology)),
        leaking=tuple(sorted({*shared_patients, *same_dataset, *in_pairs})),
    )


def damaged_records(folder: str | Path) -> list[str]:
    """Return the names of damaged records: the name of the source folder, `/`, and the path in it.

    A record is damaged if its signal doesn't match its hash, or its labels don't match its codes. Raises
    `CorpusError` if the folder isn't a finished corpus, or if a file can't be read.
    """
    corpus = Corpus.open(folder)
    damaged_M = ~_have_hashes(corpus)
    rows, ontology = index.of(corpus.folder, ["root", "path", "codes"]), corpus.ontology()
    for first in range(0, len(corpus), BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        y_MN = ontology.leaf_multi_hot(rows["codes"].slice(first, BLOCK_ROWS).to_pylist(), strict=None)
        damaged_M[block] |= (y_MN != corpus.y[block]).any(axis=1)
        damaged_M[block] |= ontology.primary(y_MN) != corpus.primary[block]
    return index.names(rows.filter(pa.array(damaged_M)))


def refuse_damaged(corpus: Corpus, progress: Progress = shown) -> None:
    """Check the signals of a corpus. Skip the check if the files haven't changed since the last check.

    Raises `CorpusError` if a signal doesn't match its hash.
    """
    with suppress(CorpusError):
        if index.read_json(corpus.folder / CHECKED) == _states(corpus):
            return
    damaged_M = ~_have_hashes(corpus, progress)
    if damaged_M.any():
        first = index.names(index.of(corpus.folder, ["root", "path"]).filter(pa.array(damaged_M)))[0]
        problem = f"is damaged ({damaged_M.sum():,} signals, such as {first})"
        raise CorpusError(problem, where=corpus.folder, remedy=index.AGAIN)


def _states(corpus: Corpus) -> dict[str, list[int]]:
    """Return the sizes and modification times of a corpus' index and shards."""
    paths = [corpus.folder / index.FILE, *(corpus.folder / "shards").iterdir()]
    return {path.name: [path.stat().st_size, path.stat().st_mtime_ns] for path in paths}


def _have_hashes(corpus: Corpus, progress: Progress = shown) -> NDArray[np.bool_]:
    """Return whether each signal matches its hash in the index, bool [M].

    If all signals match, write the file `CHECKED`, so that the next check can be skipped.
    """
    states = _states(corpus)
    hashes = Texts[str](index.of(corpus.folder, ["signal_hash"])["signal_hash"])

    def block(first: int) -> list[bool]:
        rows = range(first, min(first + _BLOCK, len(corpus)))
        stated = hashes[first : first + _BLOCK]
        return [signal_hash(d_CL) == text for d_CL, text in zip(corpus.stored(rows), stated, strict=True)]

    blocks, matches = range(0, len(corpus), _BLOCK), list[bool]()
    hashed = Parallel(cpu_count(), backend="threading", return_as="generator")(map(delayed(block), blocks))
    with progress("check: signals") as tell:
        for block_matches in hashed:
            matches += block_matches
            corpus.release()
            tell(len(matches), len(corpus))
    if all(matches):
        with suppress(OutputError):  # a read-only corpus is checked again next time
            index.write_json(states, corpus.folder / CHECKED)
    return np.array(matches, bool)


def fingerprints(d_BCL: NDArray[np.int16]) -> NDArray[np.float32]:
    """Reduce stored signals to unit vectors, [B, F].

    The dot product of two vectors is the correlation of the two signals at 25 Hz.
    """
    windows, leads, samples = d_BCL.shape
    pieces = np.empty((leads, samples // _STEP, _STEP), np.float32)  # reused, to stay in the cache
    slow_BCF = np.empty((windows, *pieces.shape[:2]), np.float32)
    for d_CL, slow_CF in zip(d_BCL, slow_BCF, strict=True):
        pieces[:] = d_CL[:, : pieces[0].size].reshape(pieces.shape)
        np.matmul(pieces, _MEAN, out=slow_CF)
    slow_BCF -= slow_BCF.mean(axis=2, keepdims=True)
    prints_BF = slow_BCF.reshape(windows, -1)
    prints_BF /= np.maximum(np.linalg.norm(prints_BF, axis=1, keepdims=True), 1e-6)
    return prints_BF


def _evaluated(candidates: Iterable[Candidate], config: CorpusConfig) -> Evaluated:
    """Prepare the evaluation records as the corpus does, so that copies have equal hashes.

    Records that can't be prepared are skipped, because they can't be in the corpus.
    """
    names, identities, patients, hashes, prints = [], [], [], [], []
    codes = set[str]()
    for candidate in candidates:
        try:
            record = candidate.read(seconds=config.seconds_read)
            row, d_CL = prepare_record(record, config)
        except RecordError:
            continue
        names.append(f"{candidate.root_name}/{candidate.path}")
        identities.append(identity(record.id, record.source))
        patients.append(patient_of(record.source, record.patient))
        codes.update(record.codes)
        hashes.append(row["signal_hash"])
        prints.append(fingerprints(d_CL[None]))
    prints_KF = np.concatenate(prints) if prints else np.zeros((0, 1), np.float32)
    return Evaluated(names, identities, patients, hashes, codes, prints_KF)


def _pairs(
    names: list[str], keys: list[str], other_names: list[str], other_keys: list[str]
) -> tuple[tuple[str, str], ...]:
    """Return the pairs (name, other name) with equal keys."""
    other_of = dict(zip(other_keys, other_names, strict=True))
    return tuple((name, other_of[key]) for name, key in zip(names, keys, strict=True) if key in other_of)


def _leaves(codes: set[str], ontology: Ontology) -> set[str]:
    """Return the abbreviations of the leaf concepts to which codes are mapped.

    Leaves can be compared between collections. Codes can't, because SNOMED CT and SCP-ECG share no codes.
    """
    return {ontology.nodes[leaf].abbr for route in ontology.routes(sorted(codes)) for leaf in route.leaves}


def _overlap(in_corpus: set[str], in_evaluation: set[str]) -> Overlap:
    return Overlap(
        corpus=len(in_corpus),
        evaluation=len(in_evaluation),
        shared=tuple(sorted(in_corpus & in_evaluation)),
        only_in_evaluation=tuple(sorted(in_evaluation - in_corpus)),
    )


def _similar(
    corpus: Corpus, names: list[str], evaluated: Evaluated, progress: Progress
) -> tuple[tuple[str, str, float], ...]:
    """Return the pairs of correlated windows with their correlation.

    Such windows show the same recording, but one of the copies was filtered, rescaled or rounded.
    """
    pairs: list[tuple[str, str, float]] = []
    blocks = range(0, len(corpus) if evaluated.names else 0, _BLOCK)
    for first in passing(blocks, f"blocks of {_BLOCK:,} corpus records", progress):
        rows = np.arange(first, min(first + _BLOCK, len(corpus)))
        correlation_MK = fingerprints(corpus.stored(rows)) @ evaluated.prints_KF.T
        corpus.release()
        for m, k in zip(*np.nonzero(correlation_MK >= ALIKE), strict=True):
            pairs.append((names[first + m], evaluated.names[k], round(float(correlation_MK[m, k]), 4)))
    return tuple(pairs)
