"""Preparing a corpus, beside the plain loop of wfdb and NeuroKit2; bytes on disk beside raw int16.

Shapes: C leads, L samples.
"""

import warnings
from itertools import count

import neurokit2 as nk
import numpy as np
import wfdb
from joblib.externals.loky import get_reusable_executor
from numpy.typing import NDArray
from scipy.signal import resample_poly

from marecg.bench.corpora import long_record, prepared, records, workspace
from marecg.bench.ratio import Effort, Reach, Row, costs, speedups
from marecg.config import LEADS, CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepare_record import prepare_block
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
    """How much faster two processes are than one, halved.

    The first turn starts the workers; their imports are no matter of throughput.
    """
    source, numbers = records(effort.of(2 * RECORDS)), count()

    def by(jobs: int) -> None:
        prepare([source], workspace() / f"prepared-{next(numbers)}", jobs=jobs)

    try:
        return [faster / 2 for faster in speedups(lambda: by(2), lambda: by(1), effort)]
    finally:
        get_reusable_executor().shutdown()  # idle workers would keep this process for five minutes


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
    Row("prepare-two", "efficiency of two processes", "one process", Reach("≥", 0.85), "1", two_processes),
    Row("prepare-long", "a 115-s record, time", "a 10-s record", Reach("≤", 1.1), "", long_records),
    Row("bytes", "bytes per record", "raw int16", Reach("≤", 1.01), "1", bytes_on_disk),
)
