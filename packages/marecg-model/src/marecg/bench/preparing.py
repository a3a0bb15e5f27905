"""Preparing a corpus, beside the plain loop of wfdb and NeuroKit2; bytes on disk beside raw int16.

Shapes: C leads, L samples.
"""

import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import neurokit2 as nk
import numpy as np
import wfdb
from numpy.typing import NDArray
from scipy.signal import resample_poly

from marecg.bench.corpora import long_record, prepared, records, workspace
from marecg.bench.ratio import Effort, Reach, Row, costs, speedups
from marecg.config import LEADS, CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepare_record import prepare_block
from marecg.corpus.workers import workers
from marecg.read.discovery import find
from marecg.read.record import Candidate

RECORDS = 512
LONG, SHORT = 115_200, 10_000
"""Samples at 1000 Hz: PTB's longest records, and ten seconds."""


def one_process(effort: Effort) -> list[float]:
    """Our preparation beside what a script would do, which judges, hashes and writes nothing."""
    candidates = find([records(effort.of(RECORDS))])[: effort.of(RECORDS // 2)]
    return speedups(
        lambda: prepare_block(candidates, CorpusConfig()),
        lambda: [plain_way(candidate) for candidate in candidates],
        effort,
    )


def plain_way(candidate: Candidate) -> NDArray[np.float32]:
    """wfdb, scipy, and NeuroKit2's own pipeline for the peaks."""
    record = wfdb.rdrecord(str(candidate.file.with_suffix("")))
    order = [record.sig_name.index(lead) for lead in LEADS]
    x_CL = record.p_signal.T[order]
    if record.fs != 500:
        x_CL = resample_poly(x_CL, 500, record.fs, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean_L = nk.ecg_clean(x_CL[0], sampling_rate=500, method="pantompkins1985")
        nk.ecg_peaks(clean_L, sampling_rate=500, method="pantompkins1985")
    return np.asarray(x_CL[:, :4700], np.float32)


def two_processes(effort: Effort) -> list[float]:
    """Two workers of one preparation beside two preparations at the same time, of half the records each.

    Both have their processes running already: imports are no matter of throughput. Two threads of one core
    are never twice as fast as one of them, together or each for itself.
    """
    half, numbers = effort.of(RECORDS), count()
    halves = [records(half, seed=seed) for seed in (1, 2)]

    def out() -> Path:
        return workspace() / f"prepared-{next(numbers)}"

    with workers(2 * half, 2, None), ProcessPoolExecutor(2, get_context("spawn")) as two:
        return speedups(
            lambda: prepare(halves, out(), jobs=2),
            lambda: list(two.map(by_itself, halves, [out(), out()])),
            effort,
        )


def by_itself(source: Path, out: Path) -> None:
    """Prepare a folder in one process."""
    prepare([source], out, jobs=1)


def long_records(effort: Effort) -> list[float]:
    """Time of 115-s records over that of 10-s ones: they are cropped before they are resampled."""
    long, short = (find([long_record(samples)]) * effort.of(40) for samples in (LONG, SHORT))
    return costs(
        lambda: prepare_block(long, CorpusConfig()),
        lambda: prepare_block(short, CorpusConfig()),
        effort,
    )


def bytes_on_disk(effort: Effort) -> list[float]:
    """All files of a corpus over its records' windows as raw int16."""
    corpus = prepared(effort.of(RECORDS))
    raw = len(corpus) * len(LEADS) * corpus.config.window * 2
    return [sum(path.stat().st_size for path in corpus.folder.rglob("*") if path.is_file()) / raw]


ROWS = (
    Row("prepare", "prepare, one process", "wfdb + NeuroKit2 loop", Reach("≥", 1.5), "", one_process),
    Row(
        "prepare-two",
        "prepare, two processes, records/s",
        "two prepares of half the records each, at the same time",
        Reach("≥", 0.92),
        "1",
        two_processes,
    ),
    Row("prepare-long", "a 115-s record, time", "a 10-s record", Reach("≤", 1.1), "", long_records),
    Row("bytes", "bytes per record", "raw int16", Reach("≤", 1.01), "1", bytes_on_disk),
)
