"""Measure the preparation of a corpus, relative to a loop with wfdb and NeuroKit2; and its size on disk.

Shapes: C leads, L samples.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import neurokit2 as nk
import numpy as np
import wfdb
from numpy.typing import NDArray
from scipy.signal import resample_poly

from benchmarks.corpora import long_record, prepared, records, workspace
from benchmarks.ratio import Effort, Reach, Row, costs, seconds, speedups
from benchmarks.together import beside_two_apart
from ecg_records.readers.discovery import find
from ecg_records.record import Candidate
from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import resample
from marecg.base.memory import keep_freed
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import TASK_RECORDS, prepare
from marecg.corpus.prepare_record import prepare_block
from marecg.corpus.workers import workers

RECORDS = 512
PAPER_RECORDS = 40_721
"""Number of records in the paper's pretraining corpus (§subsec:pretrain-corpus)."""
LONG, SHORT = 115_200, 10_000
"""Number of samples at 1000 Hz in PTB's longest records, and in ten seconds."""


def one_process(effort: Effort) -> list[float]:
    """Return the speed of our preparation, relative to a simple script.

    The script doesn't check, hash or write anything.
    """
    candidates = some_records(effort)
    return speedups(
        lambda: in_blocks(candidates),
        lambda: [plain_way(candidate) for candidate in candidates],
        effort,
    )


def over_reading(effort: Effort) -> list[float]:
    """Return the time of our preparation divided by the time of reading and resampling."""
    candidates, config = some_records(effort), CorpusConfig()

    def read() -> None:
        for candidate in candidates:
            record = candidate.read(seconds=config.seconds_read)
            resample(record.x_CL, record.fs, config.fs)

    return costs(lambda: in_blocks(candidates), read, effort)


def some_records(effort: Effort) -> list[Candidate]:
    """Return synthetic records. Freed memory is kept by the process, as in `marecg prepare`."""
    keep_freed()
    return find([records(effort.of(RECORDS))])[: effort.of(RECORDS // 2)]


def in_blocks(candidates: Sequence[Candidate]) -> None:
    """Prepare records as a worker does, without writing them."""
    for first in range(0, len(candidates), TASK_RECORDS):
        prepare_block(candidates[first : first + TASK_RECORDS], CorpusConfig())


def plain_way(candidate: Candidate) -> NDArray[np.float32]:
    """Prepare a record as a simple script would, with wfdb, scipy and NeuroKit2."""
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
    """Return the speed of two workers of one preparation, relative to two preparations at the same time.

    There are more repeats, because turns are short and vary by a tenth.
    """
    return beside_two_apart(prepared_by, effort.of(RECORDS), replace(effort, repeats=3 * effort.repeats))


def prepared_by(sources: Sequence[Path], out: Path, jobs: int) -> None:
    """Prepare folders of records. This function can be sent to another process."""
    prepare(sources, out, jobs=jobs)


def whole_corpus(effort: Effort) -> list[float]:
    """Return the minutes in which two processes would prepare the paper's corpus.

    The time is extrapolated from two measurements: the first includes the start of the processes, and the
    second has twice as many records. The imports of the command aren't included.
    """
    number, numbers = effort.of(RECORDS), count()
    first, second = (records(number, seed=seed) for seed in (1, 2))

    def took(*sources: Path) -> float:
        return seconds(lambda: prepare(sources, workspace() / f"paper-{next(numbers)}", jobs=2))

    def turn() -> float:
        with workers(2 * number, 2, None):
            start, again, twice = took(first), took(first), took(first, second)
        return (start + (PAPER_RECORDS - number) / number * (twice - again)) / 60

    return [turn() for _ in range(effort.repeats)]


def long_records(effort: Effort) -> list[float]:
    """Return the time for 115-s records divided by the time for 10-s records.

    Long records should take no longer, because they are cropped before they are resampled.
    """
    long, short = (find([long_record(samples)]) * effort.of(40) for samples in (LONG, SHORT))
    return costs(
        lambda: in_blocks(long),
        lambda: in_blocks(short),
        effort,
    )


def bytes_on_disk(effort: Effort) -> list[float]:
    """Return the size of a corpus' files divided by the size of its windows as raw int16."""
    corpus = prepared(effort.of(RECORDS))
    raw = len(corpus) * len(LEADS) * corpus.config.window * 2
    return [sum(path.stat().st_size for path in corpus.folder.rglob("*") if path.is_file()) / raw]


ROWS = (
    Row(
        "prepare",
        "`prepare` in one process, records/s",
        "loop with wfdb and NeuroKit2, records/s",
        Reach("≥", 2.5),
        "",
        one_process,
    ),
    Row(
        "prepare-limit",
        "`prepare` in one process, time",
        "only reading and resampling",
        Reach("≤", 4),
        "1",
        over_reading,
    ),
    Row(
        "prepare-paper",
        "`prepare` of 40,721 records in two processes, extrapolated time",
        "60 s",
        Reach("≤", 1),
        "",
        whole_corpus,
    ),
    Row(
        "prepare-two",
        "`prepare` in two processes, records/s",
        "two separate `prepare` commands with half the records each",
        Reach("≥", 0.92),
        "1",
        two_processes,
    ),
    Row(
        "prepare-long",
        "`prepare` of a 115-s record, time",
        "`prepare` of a 10-s record",
        Reach("≤", 1.1),
        "",
        long_records,
    ),
    Row("bytes", "bytes per prepared record", "raw int16 signals", Reach("≤", 1.01), "1", bytes_on_disk),
)
