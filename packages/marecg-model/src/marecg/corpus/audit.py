"""`marecg audit`: does a pretraining corpus hold records, patients or signals of an evaluation set?

Paper, §Pretraining Corpus: PTB-XL is held out from pretraining throughout. The CinC Challenges ship PTB-XL
under other names, so this has to be checked on the records themselves.

Shapes: C leads, L samples, K evaluation records, M corpus records, F features of a fingerprint.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Ontology
from marecg.base.config import CorpusConfig, Frozen
from marecg.base.errors import RecordError
from marecg.base.progress import Progress, passing, shown
from marecg.corpus import index
from marecg.corpus.prepare_record import judged_samples, signal_hash, windowed
from marecg.corpus.prepared import Corpus
from marecg.read.datasets import cpsc2018, ptbxl
from marecg.read.datasets.cinc2021 import COLLECTIONS
from marecg.read.discovery import find
from marecg.read.record import Candidate
from marecg.storage.copies import ensure_local

ALIKE = 0.98
"""Correlation of two fingerprints from which on two windows are taken for one recording."""
_ROWS = ["id", "source", "root", "path", "codes", "patient", "signal_hash"]
_PTBXL_IN_CINC = re.compile(r"HR(\d{5})")
_STEP = 20
_BLOCK = 1024


class Overlap(Frozen):
    """How many names each side has, those in both, and those that the corpus lacks."""

    corpus: int
    evaluation: int
    shared: tuple[str, ...]
    only_in_evaluation: tuple[str, ...]


class Audit(Frozen):
    """What `audit` found, key by key as `--format json` prints it.

    Attributes:
        records: of the corpus.
        evaluation_records: of the evaluation sources, as far as they can be read.
        shared_ids: pairs (corpus record, evaluation record) of one identity.
        shared_patients: corpus records of a patient of the evaluation set.
        same_dataset: corpus records of PTB-XL or CPSC2018, whether this copy of it has them or not.
        identical: pairs whose windows are the same bit for bit.
        similar: pairs whose windows correlate, with their correlation.
        codes: the codes of either side.
        leaves: the leaves that those stand for.
        leaking: every corpus record that one of the lists names.
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
    """What is compared of the evaluation records: K names, identities, patients, hashes and fingerprints."""

    names: list[str]
    identities: list[str]
    patients: list[str | None]
    hashes: list[str]
    codes: set[str]
    prints_KF: NDArray[np.float32]


def audit(folder: str | Path, against: Sequence[str | Path], progress: Progress = shown) -> Audit:
    """Look in a prepared corpus for the records of evaluation sources, given as `prepare` takes them.

    Raises `CorpusError` where the folder isn't a corpus, or a source can't be listed or holds no records.
    """
    corpus = Corpus.open(folder)
    rows = index.of(corpus.folder, _ROWS).to_pylist()
    sources = [ensure_local(source) for source in against]
    evaluated = _evaluated(passing(find(sources), "evaluation records", progress), corpus.config)
    patients = ptbxl_patients(sources)
    names = [f"{row['root']}/{row['path']}" for row in rows]
    identities = [identity(row["id"], row["source"]) for row in rows]
    datasets = {dataset_of(who) for who in evaluated.identities} - {""}
    theirs = set(evaluated.patients) - {None}
    shared_ids = _pairs(names, identities, evaluated.names, evaluated.identities)
    named = list(zip(names, identities, rows, strict=True))
    shared_patients = tuple(
        name
        for name, who, row in named
        if patients.get(who, patient_of(row["source"], row["patient"])) in theirs
    )
    same_dataset = tuple(name for name, who, _ in named if dataset_of(who) in datasets)
    identical = _pairs(names, [row["signal_hash"] for row in rows], evaluated.names, evaluated.hashes)
    similar = _similar(corpus, names, evaluated, progress)
    in_pairs = [pair[0] for pair in (*shared_ids, *identical)] + [name for name, _, _ in similar]
    ours, ontology = {code for row in rows for code in row["codes"]}, corpus.ontology()
    return Audit(
        records=len(corpus),
        evaluation_records=len(evaluated.names),
        shared_ids=shared_ids,
        shared_patients=shared_patients,
        same_dataset=same_dataset,
        identical=identical,
        similar=similar,
        codes=_overlap(ours, evaluated.codes),
        leaves=_overlap(_leaves(ours, ontology), _leaves(evaluated.codes, ontology)),
        leaking=tuple(sorted({*shared_patients, *same_dataset, *in_pairs})),
    )


def identity(name: str, source: str) -> str:
    """What a record is called across releases: HRnnnnn of the Challenges is PTB-XL's ecg_id nnnnn.

    Example:
        >>> identity("HR00034", "ptb-xl"), identity("00034", "ptbxl"), identity("A0001", "cpsc_2018")
        ('ptbxl/00034', 'ptbxl/00034', 'cpsc2018/A0001')
    """
    in_cinc = _PTBXL_IN_CINC.fullmatch(name)
    if in_cinc:
        return f"ptbxl/{in_cinc[1]}"
    if source in ("cpsc_2018", cpsc2018.SOURCE):
        return f"{cpsc2018.SOURCE}/{name}"
    return f"{ptbxl.SOURCE}/{name}" if source == ptbxl.SOURCE else name


def published_as(name: str, source: str) -> str | None:
    """What the world calls a record; None for one of no published collection, whose name says nothing.

    Example:
        >>> published_as("HR00034", "ptb-xl"), published_as("E00001", "georgia"), published_as("1", "mine")
        ('ptbxl/00034', 'georgia/E00001', None)
    """
    who = identity(name, source)
    if dataset_of(who):
        return who
    return f"{source}/{name}" if source in COLLECTIONS else None


def dataset_of(who: str) -> str:
    """The dataset that an identity names, if any."""
    return who.rpartition("/")[0]


def patient_of(source: str, patient: str | None) -> str | None:
    """A patient's name across sources, if it is known."""
    return f"{source}/{patient}" if patient else None


def fingerprint(x_CL: NDArray[np.float32]) -> NDArray[np.float32]:
    """A unit vector whose dot product with another's is the correlation of the two windows at 25 Hz."""
    slow_CF = x_CL[:, : x_CL.shape[1] // _STEP * _STEP].reshape(x_CL.shape[0], -1, _STEP).mean(axis=2)
    slow_CF -= slow_CF.mean(axis=1, keepdims=True)
    return np.asarray(slow_CF / max(float(np.linalg.norm(slow_CF)), 1e-6), np.float32).reshape(-1)


def _evaluated(candidates: Iterable[Candidate], config: CorpusConfig) -> Evaluated:
    """Read the evaluation records; those that can't be read can't be in the corpus either."""
    names, identities, patients, hashes, prints = [], [], [], [], []
    codes = set[str]()
    for candidate in candidates:
        try:
            record = candidate.read(seconds=config.seconds_read)
        except RecordError:
            continue
        if not np.isfinite(record.x_CL[:, : judged_samples(record.fs, config)]).all():
            continue
        d_CL, _ = windowed(record, config)
        names.append(f"{candidate.root_name}/{candidate.path}")
        identities.append(identity(record.id, record.source))
        patients.append(patient_of(record.source, record.patient))
        codes.update(record.codes)
        hashes.append(signal_hash(d_CL))
        prints.append(fingerprint(d_CL.astype(np.float32)))
    prints_KF = np.stack(prints) if prints else np.zeros((0, 1), np.float32)
    return Evaluated(names, identities, patients, hashes, codes, prints_KF)


def ptbxl_patients(roots: Iterable[Path]) -> dict[str, str | None]:
    """Identity → patient of every PTB-XL record, on disk or not: the Challenges' copies name no patient."""
    rows = [row for root in roots if ptbxl.is_root(root) for row in ptbxl.database(root)]
    return {f"ptbxl/{row.ecg_id:05d}": patient_of(ptbxl.SOURCE, row.patient) for row in rows}


def _pairs(
    ours: list[str], our_keys: list[str], theirs: list[str], their_keys: list[str]
) -> tuple[tuple[str, str], ...]:
    """Names whose keys are equal."""
    name_of = dict(zip(their_keys, theirs, strict=True))
    return tuple((name, name_of[key]) for name, key in zip(ours, our_keys, strict=True) if key in name_of)


def _leaves(codes: set[str], ontology: Ontology) -> set[str]:
    """The leaves that codes stand for: SNOMED-CT and SCP-ECG have no code in common."""
    return {ontology.nodes[leaf].abbr for route in ontology.routes(sorted(codes)) for leaf in route.leaves}


def _overlap(ours: set[str], theirs: set[str]) -> Overlap:
    return Overlap(
        corpus=len(ours),
        evaluation=len(theirs),
        shared=tuple(sorted(ours & theirs)),
        only_in_evaluation=tuple(sorted(theirs - ours)),
    )


def _similar(
    corpus: Corpus, names: list[str], evaluated: Evaluated, progress: Progress
) -> tuple[tuple[str, str, float], ...]:
    """Pairs that correlate: near-duplicates that were filtered, rescaled or rounded on the way."""
    pairs: list[tuple[str, str, float]] = []
    blocks = range(0, len(corpus) if evaluated.names else 0, _BLOCK)
    for first in passing(blocks, f"blocks of {_BLOCK:,} corpus records", progress):
        rows = np.arange(first, min(first + _BLOCK, len(corpus)))
        prints_MF = np.stack([fingerprint(x_CL) for x_CL in corpus.signals(rows)])
        alike_MK = prints_MF @ evaluated.prints_KF.T
        for m, k in zip(*np.nonzero(alike_MK >= ALIKE), strict=True):
            pairs.append((names[first + m], evaluated.names[k], round(float(alike_MK[m, k]), 4)))
    return tuple(pairs)
