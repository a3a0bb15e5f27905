"""Measure the intervals of a corpus' records once, and store them in the corpus.

Shapes: C leads, L samples.
"""

import logging

import pyarrow as pa
from joblib import Parallel, delayed

from ecg_base import OutputError, replacing
from ecg_records.measurements.intervals import measure
from ecg_records.signal.leads import LEADS
from marecg.base.progress import passing
from marecg.corpus import index
from marecg.corpus.prepared import Corpus
from marecg.corpus.supervision import FOLDER as SUPERVISION
from marecg.corpus.workers import workers

logger = logging.getLogger(__name__)

INTERVALS = ("rate", "p", "pr", "qrs", "qt", "qtc", "axis")
"""Columns, in beats per minute, milliseconds and degrees. A value is null if it can't be measured."""
SCHEMA = pa.schema([*((name, pa.float64()) for name in INTERVALS), ("signal_hash", pa.string())])
BLOCK_RECORDS = 64
MEASURED_BY = 6
"""Version of the measurement. Stored intervals of other versions aren't used."""


def intervals(corpus: Corpus) -> pa.Table:
    """Return rate, P, PR, QRS, QT, QTc and axis (the columns `INTERVALS`) with a row per record.

    The rate is in beats per minute, the axis in degrees, and the others in milliseconds. A value is null if
    it can't be measured.

    The table is read from the corpus folder. If it isn't there, intervals are measured, and stored if the
    folder can be written.
    """
    path = corpus.folder / SUPERVISION / f"intervals-{MEASURED_BY}.parquet"
    hashes = index.of(corpus.folder, ["signal_hash"])["signal_hash"]
    if path.is_file():
        cached = index.read(path)
        if cached.schema == SCHEMA and cached["signal_hash"].equals(hashes):
            return cached.drop_columns("signal_hash")
    logger.warning("measuring the intervals of %d records; later commands reuse them", len(corpus))
    starts = range(0, len(corpus), BLOCK_RECORDS)
    with workers(len(corpus), jobs=-1, cluster=None, where=corpus.folder):
        work = Parallel(return_as="generator")(delayed(_measured)(corpus, first) for first in starts)
        blocks = [next(work) for _ in passing(starts, f"intervals: blocks of {BLOCK_RECORDS} records")]
    columns = list(zip(*(row for block in blocks for row in block), strict=True))
    table = pa.table([*(pa.array(column, pa.float64()) for column in columns), hashes], schema=SCHEMA)
    try:
        path.parent.mkdir(exist_ok=True)
        with replacing(path, private=True) as temporary:
            index.write(table, temporary)
    except (OSError, OutputError) as error:  # the user can't write to the corpus
        logger.warning("measured intervals can't be stored: %s", error)
    return table.drop_columns("signal_hash")


def _measured(corpus: Corpus, first: int) -> list[tuple[float | None, ...]]:
    rows: list[tuple[float | None, ...]] = []
    for row in range(first, min(first + BLOCK_RECORDS, len(corpus))):
        x_CL = corpus.signals([row])[0][:, : corpus.n_valid[row]]
        measured = measure(x_CL, corpus.config.fs, LEADS)
        rows.append(
            (measured.rate, measured.p, measured.pr, measured.qrs, measured.qt, measured.qtc(), measured.axis)
        )
    return rows
