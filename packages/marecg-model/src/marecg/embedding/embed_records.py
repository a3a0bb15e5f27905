"""`marecg embed`: embed records on disk into one file or a folder of Parquet parts.

A part is embedded by a single process in a fixed order, and never changes once it is written. So the result
depends neither on which process makes a part nor on interruptions. A single file is joined from parts in a
hidden folder next to it.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ecg_base import replacing
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.discovery import SourcesHash
from ecg_records.storage.places import is_remote
from marecg.base.progress import Progress, Tell, shown
from marecg.base.temporary import temporary_folder
from marecg.corpus.workers import records_named
from marecg.embedding.embed import PASS_WINDOWS, check_readout
from marecg.embedding.embedding_files import FORMATS, schema, write
from marecg.embedding.embedding_store import EmbeddingStore, manifest
from marecg.embedding.inputs import Inputs, Named, Source
from marecg.embedding.processes import counted, device_here, elsewhere, processes
from marecg.embedding.recordings import Embedded, embedded, noted_when_read
from marecg.errors import UsageError
from marecg.model.pretrained import weights_sha256
from marecg.model.readout import Readout
from marecg.model.window_encoder import WindowEncoder

PART = 1024
"""Records per part: 3 MB of h_rhythm at the paper's width, 50 MB of the wide readout."""
SHARES = 64
"""Least number of parts that a file is joined from, so that several processes have work."""
FORMAT = 3


class Shard(NamedTuple):
    """Parts that one process embeds: every `of`-th part, starting with number `number`."""

    number: int = 1
    of: int = 1

    @classmethod
    def parsed(cls, text: str) -> "Shard":
        """Parse `i/n`, with i from 1 to n. Raises `UsageError` for anything else."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise UsageError(f"{text} isn't a shard", remedy="Give i/n, such as 1/8 to 8/8")
        return cls(int(number), int(of))


@dataclass(frozen=True)
class Work:
    """Settings of the work on all parts, sent to worker processes together with the model.

    If the folder `notes` is given, a process notes there which record it is reading.
    """

    store: EmbeddingStore
    batch_size: int
    notes: str = ""


def is_folder(out: str | Path) -> bool:
    """Return whether a name means a folder of parts.

    It does if it ends in /, has no suffix, is an address, or is an existing folder.
    """
    path = Path(out)
    return str(out).endswith("/") or is_remote(out) or path.is_dir() or not path.suffix


def embed_records(
    run: str | Path,
    inputs: Sequence[str | Path],
    out: str | Path,
    *,
    layout: Layout | None = None,
    patches: bool = False,
    readout: Readout = "rhythm",
    step: float | None = None,
    batch_size: int = PASS_WINDOWS,
    part_records: int | None = None,
    shard: Shard | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress = shown,
) -> Embedded:
    """Embed records into a file, or into a folder of Parquet parts that can be continued.

    Parquet files have the columns `embedding_files.RECORD_FIELDS` and `rhythm`, and on request the readout
    and `patch`. For `.npz`, see `gather_npz`. Unreadable records are left out and listed in the result. If a
    worker process is killed, the error names the records that were being read.

    Args:
        run: a run or a model, as for `MarEcg.from_pretrained`.
        inputs: headers, folders, array files, corpora written by `marecg prepare`, or addresses of these.
        out: `.npz`, `.parquet`, or a folder (`is_folder`), local or at an address that fsspec supports.
        layout: meaning of the arrays. Without it, arrays in folders are ignored.
        patches: write H̄ as well.
        readout: `wide` writes the wide readout as well, `beats` appends the beat readout to it, and `full`
            appends everything else. The column or array has the readout's name.
        step: seconds per row; a recording has a row for each step. With None, it has a single row.
        batch_size: windows per forward pass.
        part_records: records per part of a folder, `PART` by default.
        shard: parts of a folder to make; all parts if None.
        jobs: number of processes, which take GPUs in turn; see `processes` for the default.
        cluster: address of a Dask scheduler whose workers embed instead. They must see run, inputs and `out`
            under the same names.

    Raises:
        UsageError: an option is invalid, an input is the output, or the folder holds something else.
        InputError: an input or every record is unreadable, or a worker process was killed.
        CheckpointError: the model can't be loaded, its output is not finite, or it was replaced.
        OutputError: the output can't be written.
    """
    check_readout(readout)
    folder = is_folder(out)
    if not folder:
        _refuse_for_file(Path(out), part_records, shard, cluster)
    elif is_remote(out) and not str(out).endswith("/") and Path(out).suffix in FORMATS:
        problem = "a file is written here, and to an address a folder of parts"
        raise UsageError(problem, where=out, remedy="End --out in / for a folder, or name a path")
    if part_records is not None and part_records < 1:
        raise UsageError(f"a part can't have {part_records} records", remedy="Give a number from 1")
    model = WindowEncoder.from_pretrained(run).to(device_here())
    records = Inputs(inputs, layout, step)
    few = max(batch_size, min(PART, len(records) // SHARES))
    key = {
        "format": FORMAT,
        "weights_sha256": weights_sha256(model),
        "ontology_sha256": model.ontology.sha256,
        "readout": readout,
        "patches": patches,
        "records": len(records),
        **(records.hashed(manifest(out)) if folder else SourcesHash("")).described(),
        "part_records": (part_records or PART) if folder else few,
        "arrays": layout.as_dict() if layout else None,
    }

    def fill(where: str | Path) -> Embedded:
        """Make the parts that a folder lacks."""
        share, store = shard or Shard(), EmbeddingStore(str(where), key)
        with progress("records") as tell, temporary_folder() as notes, records_named(Path(notes)):
            work = Work(store, batch_size, "" if cluster else notes)
            return _fill(work, records, share, str(run), model, jobs, cluster, tell)

    if folder:
        return fill(out)
    records.refuse(Path(out))
    with replacing(out, private=True) as temporary:
        parts = Path(f"{temporary}.parts")
        try:
            done = fill(parts)
            FORMATS[temporary.suffix](sorted(parts.glob("part-*")), temporary)
        finally:
            shutil.rmtree(parts, ignore_errors=True)
    return done


def _refuse_for_file(out: Path, *options: object) -> None:
    if out.suffix not in FORMATS:
        remedy = f"Use {' or '.join(FORMATS)}, or end a folder's name in /"
        raise UsageError(f"can't write {out.suffix}", remedy=remedy)
    if any(option is not None for option in options):
        problem = "part_records, --shard and --cluster are for a folder of parts"
        raise UsageError(problem, remedy="End --out in / to write one")


def _fill(
    work: Work,
    records: Inputs,
    shard: Shard,
    run: str,
    model: WindowEncoder,
    jobs: int | None,
    cluster: str | None,
    tell: Tell,
) -> Embedded:
    store = work.store
    store.begin()
    numbers = range(shard.number - 1, len(store), shard.of)
    count = sum(last - first for first, last in map(store.span, numbers))
    total, missing = Embedded(), []
    for number in numbers:
        done = store.finished(number)
        if done is None:
            missing.append(number)
        else:
            total.add(done)

    def tell_more(more: int = 0) -> None:
        tell(total.records + len(total.failed) + more, count)

    make: Callable[..., Embedded] = partial(make_part, work)
    tasks = ((number, records.part(*store.span(number))) for number in missing)
    workers = max(min(processes(model, len(records), jobs), len(missing)), 1)
    if cluster is None and workers == 1:
        made: Iterator[Embedded] = (
            make(model, number, [counted(chain(*sources), tell_more)]) for number, sources in tasks
        )
    else:
        made = elsewhere(make, run, model, tasks, workers, cluster, store.where)
    for done in made:
        total.add(done)
        tell_more()
    store.tidy()
    total.refuse_none()
    return total


def make_part(
    work: Work, model: WindowEncoder, number: int, sources: Iterable[Source | Iterable[Named]]
) -> Embedded:
    """Embed a part's records and write its file."""
    settings, done = work.store.settings, Embedded()
    patches = bool(settings["patches"])
    columns = schema(model.config, settings["readout"], patches=patches)
    constants = {name: str(settings[name]) for name in ("weights_sha256", "ontology_sha256")}
    with work.store.writing(number) as temporary:
        rows = embedded(
            model,
            noted_when_read(chain.from_iterable(sources), work.notes),
            done,
            work.batch_size,
            readout=settings["readout"],
            patches=patches,
        )
        full = ((row | constants, vectors) for row, vectors in rows)
        write(temporary, columns, full, lambda: work.store.metadata(done))
    return done
