"""What a run was trained on, kept in its folder, so that a probe can tell whether its records were seen.

`trained_on.parquet` has a row per record of the corpus: what the world calls it and its patient, where they
are known, and the hash of its window; the window's length and rate are in the file's metadata.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ecg_ontology import replacing
from marecg.corpus import index
from marecg.corpus.audit import dataset_of, identity, patient_of, published_as
from marecg.corpus.columns import AT_ONCE
from marecg.corpus.prepared import Corpus
from marecg.errors import InputError
from marecg.read.datasets import cpsc2018, ptbxl

FILE = "trained_on.parquet"
TRAINING_FOLDS = frozenset(range(1, 9))
"""PTB-XL's folds that no task takes its val or test records from."""
TITLES = {ptbxl.SOURCE: "PTB-XL", cpsc2018.SOURCE: "CPSC2018"}
"""The datasets that the published tasks evaluate on."""


@dataclass(frozen=True)
class TrainedOn:
    """The records of a run's corpus.

    Attributes:
        identities: of those from published collections (`audit.published_as`).
        patients: those that are known (`audit.patient_of`).
        hashes: of their windows (`prepare_record.signal_hash`).
        window: samples of such a window at `fs` Hz.
    """

    identities: frozenset[str]
    patients: frozenset[str]
    hashes: frozenset[str]
    window: int
    fs: int


def write(corpus: Corpus, run: Path) -> None:
    """Keep what a run is about to be trained on in its folder."""
    rows = index.read(corpus.folder / "index.parquet", ["id", "source", "patient", "signal_hash"])
    about = {"window": str(corpus.config.window), "fs": str(corpus.config.fs)}
    schema = pa.schema(dict.fromkeys(("identity", "patient", "signal_hash"), pa.string()), metadata=about)
    with replacing(run / FILE) as temporary:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as file:
            for batch in rows.to_batches(AT_ONCE):  # ten million rows are no list
                names, sources, patients = (column.to_pylist() for column in batch.columns[:3])
                known = [*map(published_as, names, sources)], [*map(patient_of, sources, patients)]
                columns = [*(pa.array(each, pa.string()) for each in known), batch.column("signal_hash")]
                file.write_table(pa.table(columns, schema=schema))
        index.keep_private(temporary)


def read(run: Path) -> TrainedOn | None:
    """What a run was trained on; None where its folder doesn't say.

    Raises:
        InputError: the file is damaged.
    """
    path = run / FILE
    if not path.is_file():
        return None
    try:
        table = pq.read_table(path)
        about = table.schema.metadata
        identities, patients, hashes = (
            frozenset(table[name].drop_null().to_pylist()) for name in ("identity", "patient", "signal_hash")
        )
        return TrainedOn(
            identities=identities,
            patients=patients,
            hashes=hashes,
            window=int(about[b"window"]),
            fs=int(about[b"fs"]),
        )
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise InputError(f"can't be read ({error})", where=path, remedy="Remove it") from error


def evaluation_records(corpus: Corpus) -> dict[str, int]:
    """By title, how many records a corpus holds of the datasets that the published tasks evaluate on.

    A corpus that was prepared from PTB-XL's training folds alone holds none of it; the Challenges' copies
    don't name their fold, and count.
    """
    training_only = bool(corpus.config.ptbxl_folds) and set(corpus.config.ptbxl_folds) <= TRAINING_FOLDS
    counts = Counter(
        dataset_of(identity(record, source))
        for record, source in zip(corpus.ids, corpus.sources, strict=True)
        if not (training_only and source == ptbxl.SOURCE)
    )
    return {title: counts[name] for name, title in TITLES.items() if counts[name]}
