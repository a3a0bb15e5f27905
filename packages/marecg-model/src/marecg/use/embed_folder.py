"""`marecg embed --out folder/`: millions of records into parts, by any number of processes and machines.

A part is the unit: it is embedded by one process, alone, in an order of its own, and never changes once it is
there. So it does not matter who makes it, or how often the others were interrupted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from marecg.corpus.index import keep_private
from marecg.errors import UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256
from marecg.read.array_layout import Layout
from marecg.use.embed import BATCH, Readout, check_readout, encode
from marecg.use.inputs import Inputs, Named
from marecg.use.parts import Done, Parts
from marecg.use.processes import EmbedProgress, counted, device_here, elsewhere, processes
from marecg.use.recordings import Embedded, none_read, recordings
from marecg.use.vectors import lengths_of, part

PART = 1024
"""Records per part: 3 MB of h_rhythm at the paper's width, 50 MB of the wide readout."""
FORMAT = 1


@dataclass(frozen=True)
class Shard:
    """Which parts are this process': every `of`-th, the `number`-th of them first.

    Example:
        >>> [list(Shard.named(name).of_parts(5)) for name in ("1/2", "2/2")]
        [[0, 2, 4], [1, 3]]
    """

    number: int = 1
    of: int = 1

    @classmethod
    def named(cls, text: str) -> "Shard":
        """Read `i/n`, from 1 to n. Raises `UsageError` for anything else."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise UsageError(f"{text} is no shard", remedy="Give i/n, such as 1/8 to 8/8")
        return cls(int(number), int(of))

    def of_parts(self, parts: int) -> range:
        """The numbers of the parts."""
        return range(self.number - 1, parts, self.of)


@dataclass(frozen=True)
class Work:
    """What every part is made by, besides the model; it is sent to other processes."""

    parts: Parts
    batch_size: int


def embed_folder(
    run: str | Path,
    inputs: Sequence[str | Path],
    out: str | Path,
    *,
    layout: Layout | None = None,
    patches: bool = False,
    readout: Readout = "rhythm",
    batch_size: int = BATCH,
    part_records: int = PART,
    shard: Shard | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    watch: EmbedProgress | None = None,
) -> Done:
    """Embed records into a folder of Parquet files; called again after an interruption, go on.

    The files have the columns `id`, those of `vectors.TOLD`, `weights_sha256`, `ontology_sha256`, `rhythm`,
    and `wide` and `patch` where they are asked for. A record that can't be read is left out and named.

    Args:
        run: a run or a model, as for `MarEcg.from_pretrained`.
        inputs: headers, folders, array files, or prepared corpora.
        out: a folder, or an address that fsspec knows.
        layout: what the arrays are; without it, those in folders are passed over.
        patches: write H̄ as well.
        readout: `wide` writes the wide readout as well.
        batch_size: windows per forward pass.
        part_records: records per file.
        shard: which of the parts are to be made; all of them if None.
        jobs: how many processes, which take GPUs in turn; by default as `processes` says.
        cluster: the address of a Dask scheduler whose workers do the work instead; they must see run,
            inputs and `out` under the same names.
        watch: called whenever some more records are done.

    Returns:
        What became of the shard's records.

    Raises:
        UsageError: an option can't be, or the folder holds something else or embeddings of others.
        InputError: an input can't be read, or not one record of the shard.
        CheckpointError: the model can't be loaded, gives values that aren't finite, or was replaced.
        OutputError: the folder can't be written.
    """
    check_readout(readout)
    if part_records < 1:
        raise UsageError(f"{part_records} records are no part", remedy="Give a number from 1")
    model = MarEcg.from_pretrained(run).to(device_here())
    records = Inputs(inputs, layout)
    about = {
        "format": FORMAT,
        "weights_sha256": weights_sha256(model),
        "ontology_sha256": model.ontology.sha256,
        "readout": readout,
        "patches": patches,
        "records": len(records),
        "records_sha256": records.sha256,
        "part_records": part_records,
        "arrays": layout.as_dict() if layout else None,
    }
    parts = Parts(str(out), about)
    parts.begin()
    own = (shard or Shard()).of_parts(len(parts))
    wanted = sum(last - first for first, last in map(parts.span, own))
    total, missing = Done(), []
    for number in own:
        found = parts.finished(number)
        if found is None:
            missing.append(number)
        else:
            total.add(found)

    def tell(more: int = 0) -> None:
        if watch is not None:
            watch(total.records + len(total.failed) + more, wanted)

    make = partial(make_part, Work(parts, batch_size))
    tasks = ((number, records.part(*parts.span(number))) for number in missing)
    count = min(processes(model, len(records), jobs), max(len(missing), 1))
    if cluster is None and count == 1:
        made: Iterable[Done] = (make(model, number, counted(named, tell)) for number, named in tasks)
    else:
        made = elsewhere(make, str(run), model, tasks, count, cluster, parts.where)
    for done in made:
        total.add(done)
        tell()
    parts.tidy()
    if total.failed and not total.records:
        raise none_read(total.failed)
    return total


def make_part(work: Work, model: MarEcg, number: int, named: Iterable[Named]) -> Done:
    """Embed a part's records and write its file."""
    about = work.parts.about
    lengths = lengths_of(model.config, about["readout"])
    constants = {name: str(about[name]) for name in ("weights_sha256", "ontology_sha256")}
    done = Embedded()
    with (
        work.parts.writing(number) as temporary,
        part(temporary, lengths, bool(about["patches"]), constants) as (add, note),
    ):
        found = recordings(model, named, done)
        for row, embedded in enumerate(encode(model, found, work.batch_size)):
            add(done.ids[row], embedded, done.told[row])
        account = Done(len(done.ids), done.failed, done.doubtful)
        note(work.parts.metadata(account))
        keep_private(temporary)
    return account
