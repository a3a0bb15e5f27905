"""Measure the time and memory before the first training step on a corpus of millions of records.

The corpus is simulated: ids, codes, leaves and beats are drawn, and the shards are sparse files without
signals. Ten million records take 3 GB of disk. Opening, supervision, shuffling, resuming and the first
batches are as in a real training.

Shapes: M records, V codes, N concepts.
"""

import json
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import ecg_ontology
from ecg_base import refuse_others
from ecg_records.signal.leads import LEADS
from marecg import recipes
from marecg.corpus import index, trained_on
from marecg.corpus.batches import BatchStream
from marecg.corpus.config import CorpusConfig
from marecg.corpus.index import write_json
from marecg.corpus.plan import Plan
from marecg.corpus.prepared import Corpus
from marecg.corpus.supervision import FOLDER
from marecg.train.data import supervise
from marecg.train.run_folder import fingerprint

PIECE = 1 << 16
"""Number of rows in a row group of the index. A row group is drawn at a time."""
CODES = ("164889003", "54329005", "426783006", "713427006", "59118001", "270492004")
T = TypeVar("T")


def simulate(folder: Path, records: int) -> None:
    """Write a folder with a simulated corpus.

    Raises:
        UsageError: the folder contains other files.
        OutputError: the folder can't be written.
    """
    ours = {"corpus.json", "index.parquet", "shards", FOLDER, index.ONTOLOGY}
    refuse_others(folder, ours.__contains__)
    config, onto = CorpusConfig(), ecg_ontology.load()
    sizes = [min(config.shard, records - first) for first in range(0, records, config.shard)]
    (folder / "shards").mkdir(parents=True, exist_ok=True)
    for number, size in enumerate(sizes):
        _sparse(folder / "shards" / f"{number:05d}.npy", (size, len(LEADS), config.window))
    with pq.ParquetWriter(folder / "index.parquet", index.SCHEMA, compression="zstd") as file:
        for first in range(0, records, PIECE):
            file.write_table(_rows(np.arange(first, min(first + PIECE, records)), config, onto))
    onto.save(folder / index.ONTOLOGY)
    shards = {f"{number:05d}.npy": size for number, size in enumerate(sizes)}
    write_json(Plan.of(folder, [], config, onto).settings | {"shards": shards}, folder / "corpus.json")


def _sparse(path: Path, shape: tuple[int, ...]) -> None:
    numpy: Any = np.lib.format
    with path.open("wb") as file:
        numpy.write_array_header_1_0(file, {"descr": "<i2", "fortran_order": False, "shape": shape})
        file.truncate(file.tell() + 2 * int(np.prod(shape)))


def _rows(number_M: Any, config: CorpusConfig, onto: ecg_ontology.Ontology) -> pa.Table:
    """Return rows of the index. A record has one code and 6 to 16 beats, and a patient has three records."""
    draw = np.random.default_rng(int(number_M[0]))
    records = len(number_M)
    code_M = draw.integers(len(CODES), size=records)
    y_VN = onto.leaf_multi_hot([[code] for code in CODES])
    leaves = [np.flatnonzero(y_N).tolist() for y_N in y_VN]
    primary_V = onto.primary(y_VN)
    count_M = draw.integers(6, 17, size=records)
    ends = np.concatenate([[0], np.cumsum(count_M)])
    beat = np.arange(ends[-1]) - np.repeat(ends[:-1], count_M)
    spacing = np.repeat(config.window // (count_M + 1), count_M)
    peaks = (beat * spacing + spacing // 2 + draw.integers(-20, 21, size=len(beat))).astype(np.int32)
    zeros_M = np.zeros(records, np.int64)
    columns = {
        "id": _numbered("R", number_M),
        "path": pc.binary_join_element_wise(_numbered("R", number_M), pa.scalar(".hea"), ""),
        "shard": number_M // config.shard,
        "row": number_M % config.shard,
        "codes": pa.array([[code] for code in CODES]).take(code_M),
        "leaves": pa.array(leaves).take(code_M),
        "primary": primary_V[code_M],
        "rpeaks": pa.ListArray.from_arrays(ends.astype(np.int32), peaks),
        "patient": _numbered("P", number_M // 3),
        "signal_hash": _numbered("00000000", number_M * 7_919),
        "notes": pa.array([[]], pa.list_(pa.string())).take(zeros_M),
    }
    constants = {
        "source": "archive",
        "root": "archive",
        "fs": 500.0,
        "length": 5000,
        "n_valid": config.window,
    }
    columns |= {name: pa.repeat(value, records) for name, value in constants.items()}
    arrays = [
        pa.array(columns[field.name]).cast(field.type)
        if field.name in columns
        else pa.nulls(records, field.type)
        for field in index.SCHEMA
    ]
    return pa.table(arrays, schema=index.SCHEMA)


def _numbered(letter: str, number_M: Any) -> pa.Array:
    digits = pc.utf8_lpad(pa.array(number_M).cast(pa.string()), 12, "0")
    return pc.binary_join_element_wise(pa.scalar(letter), digits, "")


def stages(folder: Path) -> dict[str, dict[str, float]]:
    """Measure each stage of a start in a new process.

    Returns:
        For each stage `seconds`, `cpu_seconds`, `resident_gb` at its end, and `peak_gb` up to its end.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(_stages, folder).result()


def _stages(folder: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}

    def timed(name: str, stage: Callable[[], T]) -> T:
        began, busy = time.perf_counter(), time.process_time()
        done = stage()
        spent = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - busy}
        found[name] = {unit: round(value, 3) for unit, value in spent.items()} | _memory()
        return done

    config = recipes.tiny()
    size = config.train.batch_size
    timed("imports", lambda: None)
    corpus = timed("open", lambda: Corpus.open(folder))
    supervision = timed("supervision", lambda: supervise(config, corpus, corpus.ontology()))
    stream = BatchStream(corpus, supervision, size, 1000, seed=0)
    timed("shuffle", lambda: stream.rows(0))
    timed("first batch", lambda: stream.batch(0))
    timed("ten more batches", lambda: [stream.batch(number) for number in range(1, 11)])
    resumed = BatchStream(corpus, supervision, size, 1000, seed=0)
    resumed.load_state_dict({"next": 11})
    timed("resume at batch 11", lambda: next(iter(resumed)))
    with TemporaryDirectory() as run:
        timed("what the run keeps of it", lambda: _keep(corpus, Path(run)))
    return found


def _keep(corpus: Corpus, run: Path) -> None:
    """Write and read what a training does at its start and whenever it is resumed."""
    fingerprint(corpus)
    trained_on.write(corpus, run)
    trained_on.evaluation_records(corpus)


def _memory() -> dict[str, float]:
    """Return the current and the peak resident memory in GB. They include pages of mapped files."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "resident_gb": round(pages * os.sysconf("SC_PAGE_SIZE") / 1e9, 2),
        "peak_gb": round(peak * 1024 / 1e9, 2),
    }


def scale(folder: Path, records: int) -> dict[str, Any]:
    """Simulate a corpus if there is none yet, and measure a first start and a second start.

    The second start reuses the supervision that the first start has stored.
    """
    if not (folder / "corpus.json").is_file():
        simulate(folder, records)
    about = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    count = sum(about["shards"].values())
    return {"records": count, "first start": stages(folder), "next start": stages(folder)}
