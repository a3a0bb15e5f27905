"""Compute embeddings of records on disk, and write a file or a folder of Parquet files (`marecg embed`).

A record is read (`inputs`), converted to the encoder's input (`recordings`) and embedded window by window
(`embed.encode`). Its vectors become a row of a file (`embedding_files`).

The records are divided into parts. A single process embeds the records of a part in a fixed order. A finished
part never changes. The result therefore doesn't depend on the number of processes or on interruptions. To
continue an interrupted call, repeat it: finished parts of a folder are kept. For a single file, the parts are
written into a hidden folder next to the file, and then joined.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from ecg_base import replacing
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.discovery import SourcesHash
from ecg_records.signal.leads import given_leads
from ecg_records.storage.places import is_remote
from marecg.base.progress import Progress, shown
from marecg.base.temporary import temporary_folder
from marecg.corpus.shards import notes
from marecg.corpus.workers import records_named
from marecg.embedding.embed import PASS_WINDOWS, check_readout
from marecg.embedding.embedding_files import FORMATS, schema, write
from marecg.embedding.embedding_store import EmbeddingStore, manifest
from marecg.embedding.inputs import Inputs, Unread
from marecg.embedding.processes import device_here, in_processes, processes
from marecg.embedding.recordings import Embedded, embedded
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.model.readout import Readout

PART = 1024
"""Number of records per part. At the paper's width, a part takes 3 MB, or 50 MB with the wide readout."""
SHARES = 64
"""Number of parts into which the records of a single file are divided, so that several processes have work.

Few records have fewer parts, and more than 64 · `PART` records have more.
"""
FORMAT = 3


def is_folder(out: str | Path) -> bool:
    """Return whether an output path stands for a folder of parts rather than a single file.

    A path stands for a folder if it ends in /, has no suffix, is an address such as `s3://bucket/embeddings`,
    or is an existing folder.
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
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress = shown,
) -> Embedded:
    """Compute embeddings of records, and write them into a file or a folder of Parquet files.

    Parquet files have the columns `embedding_files.RECORD_FIELDS` and `rhythm`. The readout and `patch` are
    optional columns. For `.npz`, see `gather_npz`. Unreadable records are left out and listed in the result.

    Args:
        run: Run or model, in any form accepted by `MarEcg.from_pretrained`.
        inputs: Record files, folders, array files, corpora written by `marecg prepare`, or addresses of
            these.
        out: `.npz` file, `.parquet` file, or folder (`is_folder`). A folder may be an address that fsspec
            supports.
        layout: Layout (rate, leads, units) of the array files among the inputs. Without a layout, array files
            in folders are skipped.
        patches: Whether to write patch embeddings (H̄).
        readout: Readout to write in addition to the record embedding, as for `embed`. Its column has the name
            of the readout.
        step: Length of a step in seconds. A recording is divided into steps, and each step is a row. If None,
            a recording is a single row.
        batch_size: Number of windows per forward pass.
        part_records: Number of records per part of a folder. `PART` if None.
        jobs: Number of processes, which use the GPUs in turn. For the default, see `processes`.
        cluster: Address of a Dask scheduler whose workers compute the embeddings instead. The workers must
            see run, inputs and `out` under the same paths. None for local processes.
        progress: Function that opens a progress display: `shown` or `silent` of `marecg.base.progress`.

    Raises:
        UsageError: If an option is invalid, an input is the output, or the folder contains something else.
        InputError: If an input or every record is unreadable, or a worker process was killed.
        CheckpointError: If the model can't be loaded, its output isn't finite, or its files were replaced
            while the call ran.
        OutputError: If the output can't be written.
    """
    check_readout(readout)
    folder = is_folder(out)
    if not folder:
        _refuse_for_file(Path(out), part_records, cluster)
    elif is_remote(out) and not str(out).endswith("/") and Path(out).suffix in FORMATS:
        problem = "--out must be a local path for a single file, got an address"
        raise UsageError(
            problem, where=out, remedy="End --out in / to write a folder of parts, or give a local path"
        )
    if part_records is not None and part_records < 1:
        raise UsageError(f"part_records must be at least 1, got {part_records}")
    model = MarEcg.from_pretrained(run).to(device_here())
    records = Inputs(inputs, layout, step)
    records_per_share = max(batch_size, min(PART, len(records) // SHARES))
    settings = {
        "format": FORMAT,
        "weights_sha256": weights_sha256(model),
        "ontology_sha256": model.ontology.sha256,
        "readout": readout,
        "patches": patches,
        "records": len(records),
        **(records.hashed(manifest(out)) if folder else SourcesHash("")).described(),
        "part_records": (part_records or PART) if folder else records_per_share,
        "arrays": layout.as_dict() if layout else None,
        **({"leads": list(map(list, lead_names))} if (lead_names := given_leads()) else {}),
    }
    fill = partial(_embed_parts, records, model, str(run), batch_size, jobs, cluster, progress)
    if folder:
        return fill(EmbeddingStore(str(out), settings))
    records.refuse(Path(out))
    with replacing(out, private=True) as temporary:
        parts = Path(f"{temporary}.parts")
        try:
            done = fill(EmbeddingStore(str(parts), settings))
            FORMATS[temporary.suffix](sorted(parts.glob("part-*")), temporary)
        finally:
            shutil.rmtree(parts, ignore_errors=True)
    return done


def _refuse_for_file(out: Path, *options: object) -> None:
    if out.suffix not in FORMATS:
        remedy = f"Use {' or '.join(FORMATS)}, or a folder name that ends in /"
        raise UsageError(f"can't write {out.suffix}", remedy=remedy)
    if any(option is not None for option in options):
        problem = "part_records and --cluster require a folder of parts as --out, got a file"
        raise UsageError(problem, remedy="End --out in / to write a folder")


def _embed_parts(
    records: Inputs,
    model: MarEcg,
    run: str,
    batch_size: int,
    jobs: int | None,
    cluster: str | None,
    progress: Progress,
    store: EmbeddingStore,
) -> Embedded:
    """Embed the records of all missing parts, and return the outcome for all parts."""
    store.begin()
    total, missing = Embedded(), []
    for number in range(len(store)):
        if (done := store.finished(number)) is None:
            missing.append(number)
        else:
            total.add(done)
    count = max(1, min(processes(model, len(records), jobs), len(missing)))
    parts = ((number, records.part(*store.span(number))) for number in missing)
    with progress("records") as tell, ExitStack() as stack:

        def counted(part: Iterable[Unread]) -> Iterator[Unread]:
            for number, unread in enumerate(part):
                tell(total.records + len(total.failed) + number, len(records))
                yield unread

        made: Iterator[Embedded]
        if cluster is None and count == 1:
            made = (make_part(model, store, batch_size, number, counted(part)) for number, part in parts)
        else:
            folder = ""
            if cluster is None:
                folder = stack.enter_context(temporary_folder())
                stack.enter_context(records_named(Path(folder)))
            tasks = ((store, batch_size, number, part, folder) for number, part in parts)
            made = in_processes(make_part_noted, run, model, tasks, count, cluster, store.where)
        for done in made:
            total.add(done)
            tell(total.records + len(total.failed), len(records))
    store.tidy()
    total.refuse_none()
    return total


def make_part_noted(
    model: MarEcg, store: EmbeddingStore, batch_size: int, number: int, part: list[Unread], folder: str
) -> Embedded:
    """Embed the records of a part in a worker process, as `make_part` does.

    The name of the current record is written into `folder` (`shards.notes`), so that an error message can
    name the record if the process is killed. If `folder` is the empty string, no name is written.
    """
    if not folder:
        return make_part(model, store, batch_size, number, part)
    with notes(Path(folder)) as note:
        noted = (note(unread.place) or unread for unread in part)
        return make_part(model, store, batch_size, number, noted)


def make_part(
    model: MarEcg, store: EmbeddingStore, batch_size: int, number: int, part: Iterable[Unread]
) -> Embedded:
    """Embed the records of the part `number`, write its file, and return the outcome."""
    done, readout, patches = Embedded(), store.settings["readout"], bool(store.settings["patches"])
    constants = {name: str(store.settings[name]) for name in ("weights_sha256", "ontology_sha256")}
    vectors = embedded(model, part, done, batch_size, readout=readout, patches=patches)
    rows = ((row | constants, vector) for row, vector in vectors)
    columns = schema(model.config, readout, patches=patches)
    with store.writing(number) as temporary:
        write(temporary, columns, rows, lambda: store.metadata(done))
    return done
