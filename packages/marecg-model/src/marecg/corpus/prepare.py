"""Prepare a corpus from folders of records (`marecg prepare`). plan.py lists the files of a corpus.

The records that are found in the sources, called candidates, have a fixed order and are divided into shards.
A finished shard never changes. An interrupted preparation therefore continues with the first missing shard.
It writes the same files as an uninterrupted preparation. A record that can't be used is quarantined: it is
left out of the corpus, and the report states the reason.

Shapes: C leads, L samples, n records.
"""

import logging
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from joblib import Parallel, delayed

import ecg_ontology
from ecg_base import replacing
from ecg_ontology import CodeMapping, CodeTable, Ontology, Profile
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.discovery import find
from ecg_records.readers.parts import in_parts
from ecg_records.record import Candidate
from ecg_records.storage.copies import ensure_local, upload
from ecg_records.storage.lock import locked
from ecg_records.storage.places import is_remote
from marecg.base.progress import Progress, Tell, shown
from marecg.corpus import index
from marecg.corpus.account import CodeAccount, PreparationReport, Quarantined, read_report, report
from marecg.corpus.codes import StatementCodes, of_statements, with_codes
from marecg.corpus.config import CorpusConfig
from marecg.corpus.index import read_json, write_json
from marecg.corpus.plan import Plan
from marecg.corpus.prepare_record import PreparedRecords
from marecg.corpus.shards import ShardWriter, prepare_into
from marecg.corpus.workers import check_jobs, noted, records_named, workers
from marecg.errors import Reason

logger = logging.getLogger(__name__)

TASK_RECORDS = 32
"""Number of records that a worker process prepares per task. Smaller tasks would have too much overhead."""


def prepare(
    sources: Sequence[str | Path],
    out: str | Path,
    config: CorpusConfig | None = None,
    profile: Profile = "paper",
    only: Collection[str] = (),
    jobs: int = -1,
    cluster: str | None = None,
    progress: Progress = shown,
    layout: Layout | None = None,
    codes: CodeTable | CodeMapping | None = None,
    ontology: str | Path | None = None,
) -> PreparationReport:
    """Prepare a corpus, or continue an interrupted preparation.

    Args:
        sources: Folders of records, such as WFDB files or a PTB-XL release, array files, or fsspec addresses
            of folders or files. Subfolders are searched.
        out: Corpus folder, either new or started by the same call. If it is an address, the complete corpus
            is uploaded there (`copies.upload`).
        config: Settings for preparing records. The default settings if None.
        only: Names of collections to include, for example `georgia`. All collections if empty.
        jobs: Number of processes. −1 starts a process per core, if there is enough work.
        cluster: Address of a Dask scheduler whose workers do the work instead. The workers must see the
            sources under the same paths.
        layout: Layout (rate, leads, units) of the array files among the sources. Without a layout, array
            files in folders are skipped.
        codes: Table of codes, which replace the codes in the files (`codes.with_codes`). Or a mapping from
            statements in the files to codes, which are added to the codes in the files.
        ontology: Source of the ontology used to label records; see `ecg_ontology.load`.
        profile: Which of the ontology's mappings from codes to concepts is used; see `ecg_ontology.load`.
        progress: Function that opens a progress display: `shown` or `silent` of `marecg.base.progress`.

    Returns:
        Numbers of kept and quarantined records, with reasons. `report.json` has the same content.

    Raises:
        CorpusError: If there are no records, a source can't be listed, the output is in use or contains
            something else, the cluster can't be reached, or a process was killed.
        SourceError: If the ontology can't be read.
        OutputError: If the output can't be written.
        UsageError: If an array doesn't match the layout, the layout doesn't have the twelve leads, or `jobs`
            is 0.
    """
    check_jobs(jobs)
    config = config or CorpusConfig()
    graph = ecg_ontology.load(ontology, profile)
    if not graph.codes:
        logger.warning("%s has no routing table: no record will have a concept", ontology)
    layout = layout and layout.twelve()
    roots = [ensure_local(source).resolve() for source in sources]
    candidates = find(roots, only, config.ptbxl_folds, layout, config.ptbxl_rate)
    account = None
    if isinstance(codes, CodeMapping):
        candidates = [replace(candidate, stated=StatementCodes(codes)) for candidate in candidates]
    elif codes is not None:
        table = codes.path.resolve()  # may be in a source folder, and look like a file of signals
        signals = [candidate for candidate in candidates if candidate.file != table]
        candidates, account = with_codes(signals, codes, graph)
    if config.windows != "1":
        unlabelled = ((None, candidate) for candidate in candidates)
        candidates = [part for _, part in in_parts(unlabelled, config.starts)]
    origin = codes.about if codes else None
    with upload(str(out), index.ABOUT) if is_remote(out) else nullcontext(Path(out)) as folder:
        plan = Plan.of(folder, candidates, config, graph, layout, origin)
        with locked(plan.out, "prepared"):
            if plan.begin():
                logger.warning("%s is already complete", out)
            else:
                try:
                    for name in noted(plan.building):
                        logger.warning("an earlier command was killed while reading %s", name)
                    with (
                        progress("records") as tell,
                        records_named(plan.building),
                        workers(len(candidates), jobs, cluster, where=plan.out),
                    ):
                        _write_shards(plan, tell, in_place=cluster is None)
                finally:
                    plan.tidy()
                _complete(plan, codes if isinstance(codes, CodeMapping) else account)
            shutil.rmtree(plan.building, ignore_errors=True)
            return read_report(plan.out)


def _write_shards(plan: Plan, tell: Tell, *, in_place: bool) -> None:
    """Write every missing shard, with the processes of joblib's `parallel_config`.

    If `in_place` is True, the processes write signals into the corpus' folder. Otherwise, they send the
    signals back to this process.
    """
    numbers = range(len(plan))
    missing = [number for number in numbers if not plan.has_finished(number)]
    quarantined = sum(
        len(read_json(plan.quarantine_file(number))) for number in numbers if number not in missing
    )
    written = sum(len(plan.shard(number)) for number in numbers if number not in missing) - quarantined

    def counted(blocks: Iterable[PreparedRecords]) -> Iterator[PreparedRecords]:
        nonlocal written, quarantined
        for block in blocks:
            written, quarantined = written + len(block.rows), quarantined + len(block.quarantined)
            tell(written + quarantined, len(plan.candidates), f"{written} kept, {quarantined} quarantined")
            yield block

    shards = {number: ShardWriter(plan.growing_file(number), plan.config.window) for number in missing}
    tasks = (
        delayed(prepare_into)(shard if in_place else None, first, candidates, plan.config)
        for number, shard in shards.items()
        for first, candidates in _blocks(plan.shard(number))
    )
    # With larger batches, joblib would leave processes idle while the last batch runs.
    blocks = counted(Parallel(return_as="generator", batch_size=1)(tasks))
    earlier: dict[str, str] | None = None
    if plan.config.corpus == "paper":
        finished = [index.read(plan.rows_file(number)) for number in numbers if number not in missing]
        earlier = {
            name: by
            for rows in finished
            for name, by in zip(rows["signal_hash"].to_pylist(), index.names(rows), strict=True)
        }
    for number, shard in shards.items():
        _write_shard(plan, number, blocks, shard, earlier)


def _blocks(candidates: Sequence[Candidate]) -> Iterator[tuple[int, Sequence[Candidate]]]:
    """Yield the candidates of a shard in blocks, each with the number of its first candidate."""
    for first in range(0, len(candidates), TASK_RECORDS):
        yield first, candidates[first : first + TASK_RECORDS]


def _write_shard(
    plan: Plan,
    number: int,
    blocks: Iterator[PreparedRecords],
    shard: ShardWriter,
    earlier: dict[str, str] | None,
) -> None:
    """Finish a shard: write its signals as they arrive, then its rows, then its quarantined records.

    Args:
        plan: Plan of the preparation.
        number: Number of the shard.
        blocks: Prepared records of this shard and of later shards.
        shard: Writer of the shard.
        earlier: Names of earlier records by signal hash. A record with the same hash as an earlier record is
            quarantined. If None, duplicates are kept.
    """
    rows: list[pa.Table] = []
    quarantined: list[dict[str, str]] = []
    written = 0
    with replacing(plan.signals_file(number), private=True) as temporary:
        for first, _ in _blocks(plan.shard(number)):
            block = next(blocks)
            for offset, part in [(0, block)] if earlier is None else _distinct(block, earlier):
                shard.compact(part, first + offset, written)
                rows.append(index.table(_labelled(part.rows, plan.ontology, number, written)))
                quarantined += part.quarantined
                written += len(part.rows)
        shard.end(written)
        shard.path.rename(temporary)
    with replacing(plan.rows_file(number), private=True) as temporary:
        index.write(pa.concat_tables(rows), temporary)
    write_json(quarantined, plan.quarantine_file(number))


def _distinct(block: PreparedRecords, earlier: dict[str, str]) -> Iterator[tuple[int, PreparedRecords]]:
    """Yield the number of each record in a block that isn't a duplicate, with the record.

    The last item has all quarantined records, including the duplicates.
    """
    quarantined = list(block.quarantined)
    for number, row in enumerate(block.rows):
        name = f"{row['root']}/{row['path']}"
        twin = earlier.setdefault(row["signal_hash"], name)
        if twin == name:
            yield number, PreparedRecords([row], block.signals_nCL[number : number + 1], [])
        else:
            entry = {key: row[key] for key in ("source", "root", "path")}
            quarantined.append(
                entry | {"reason": Reason.duplicate.value, "message": f"has the same signal as {twin}"}
            )
    yield 0, PreparedRecords([], block.signals_nCL[:0], quarantined)


def _labelled(
    rows: Sequence[dict[str, Any]], ontology: Ontology, shard: int, first: int
) -> list[dict[str, Any]]:
    y = ontology.leaf_multi_hot([row["codes"] for row in rows], strict=None)
    labels = zip(y, ontology.primary(y).tolist(), strict=True)
    return [
        row | {"shard": shard, "row": number, "leaves": np.flatnonzero(leaves).tolist(), "primary": primary}
        for number, (row, (leaves, primary)) in enumerate(zip(rows, labels, strict=True), start=first)
    ]


def _complete(plan: Plan, codes: CodeAccount | CodeMapping | None) -> None:
    """Combine the index rows and reports of all shards, and write `report.json`, the index and `corpus.json`.

    `corpus.json` is written last, because it marks a complete corpus.
    """
    numbers = range(len(plan))
    rows = pa.concat_tables([index.read(plan.rows_file(number)) for number in numbers])
    quarantined = [
        Quarantined.model_validate(entry)
        for number in numbers
        for entry in read_json(plan.quarantine_file(number))
    ]
    account = report(
        found=[candidate.source for candidate in plan.candidates],
        kept=rows["source"].to_pylist(),
        quarantined=quarantined,
        hashes=dict(zip(index.names(rows), rows["signal_hash"].to_pylist(), strict=True)),
        codes=of_statements(rows, codes, plan.ontology) if isinstance(codes, CodeMapping) else codes,
        notes=rows["notes"].to_pylist(),
    )
    write_json(account.as_json(), plan.out / "report.json")
    if unavailable := sum(entry.reason == Reason.unavailable for entry in quarantined):
        logger.warning("%d records were unavailable; run the same command to try them again", unavailable)
    sizes = np.bincount(rows["shard"].to_numpy(), minlength=len(plan))
    shards = {plan.signals_file(number).name: int(sizes[number]) for number in numbers}
    index.complete(plan.out, plan.settings | {"shards": shards}, rows)
