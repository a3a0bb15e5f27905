"""`marecg embed`: embed records on disk into one file or a folder of Parquet parts.

Each record is opened once and becomes a `Record` (`inputs`), then the encoder's input (`recordings`), then
windows whose vectors are joined (`embed.encode`). Its vectors are a row of a part (`embedding_files`).

A part is embedded by a single process in a fixed order, and never changes once it is written. So the result
depends neither on which process makes a part nor on interruptions: the same command keeps the finished parts
of a folder. A single file is joined from parts in a hidden folder next to it.
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
from marecg.embedding.processes import device_here, elsewhere, processes
from marecg.embedding.recordings import Embedded, embedded
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.model.readout import Readout

PART = 1024
"""Records per part: 3 MB of h_rhythm at the paper's width, 50 MB of the wide readout."""
SHARES = 64
"""Least number of parts that a file is joined from, so that several processes have work."""
FORMAT = 3


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
    few = max(batch_size, min(PART, len(records) // SHARES))
    settings = {
        "format": FORMAT,
        "weights_sha256": weights_sha256(model),
        "ontology_sha256": model.ontology.sha256,
        "readout": readout,
        "patches": patches,
        "records": len(records),
        **(records.hashed(manifest(out)) if folder else SourcesHash("")).described(),
        "part_records": (part_records or PART) if folder else few,
        "arrays": layout.as_dict() if layout else None,
        **({"leads": list(map(list, given))} if (given := given_leads()) else {}),
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
        remedy = f"Use {' or '.join(FORMATS)}, or end the name of a folder in /"
        raise UsageError(f"can't write {out.suffix}", remedy=remedy)
    if any(option is not None for option in options):
        problem = "part_records and --cluster are for a folder of parts"
        raise UsageError(problem, remedy="End --out in / to write one")


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
    """Make the parts that a folder lacks."""
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

        def told(part: Iterable[Unread]) -> Iterator[Unread]:
            for number, unread in enumerate(part):
                tell(total.records + len(total.failed) + number, len(records))
                yield unread

        made: Iterator[Embedded]
        if cluster is None and count == 1:
            made = (make_part(model, store, batch_size, number, told(part)) for number, part in parts)
        else:
            folder = ""
            if cluster is None:
                folder = stack.enter_context(temporary_folder())
                stack.enter_context(records_named(Path(folder)))
            tasks = ((store, batch_size, number, part, folder) for number, part in parts)
            made = elsewhere(make_part_noted, run, model, tasks, count, cluster, store.where)
        for done in made:
            total.add(done)
            tell(total.records + len(total.failed), len(records))
    store.tidy()
    total.refuse_none()
    return total


def make_part_noted(
    model: MarEcg, store: EmbeddingStore, batch_size: int, number: int, part: list[Unread], folder: str
) -> Embedded:
    """Make a part in a worker process, which notes in `folder`, if given, which record it is reading."""
    if not folder:
        return make_part(model, store, batch_size, number, part)
    with notes(Path(folder)) as note:
        noted = (note(unread.place) or unread for unread in part)
        return make_part(model, store, batch_size, number, noted)


def make_part(
    model: MarEcg, store: EmbeddingStore, batch_size: int, number: int, part: Iterable[Unread]
) -> Embedded:
    """Embed a part's records and write its file."""
    done, readout, patches = Embedded(), store.settings["readout"], bool(store.settings["patches"])
    constants = {name: str(store.settings[name]) for name in ("weights_sha256", "ontology_sha256")}
    vectors = embedded(model, part, done, batch_size, readout=readout, patches=patches)
    rows = ((row | constants, vector) for row, vector in vectors)
    columns = schema(model.config, readout, patches=patches)
    with store.writing(number) as temporary:
        write(temporary, columns, rows, lambda: store.metadata(done))
    return done
