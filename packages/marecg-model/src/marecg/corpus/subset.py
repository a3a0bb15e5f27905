"""A corpus of some records of another: what `marecg cohort --out FOLDER/` writes and `train --data` takes.

Shapes: C leads, L samples, n records of a shard.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ecg_ontology import refuse_others, replacing
from marecg.base.errors import UsageError
from marecg.corpus import index
from marecg.corpus.account import report
from marecg.corpus.index import ONTOLOGY
from marecg.corpus.prepared import Corpus, read_about


def write_subset(corpus: Corpus, rows: Sequence[int], out: Path, text: str) -> None:
    """Write records into a corpus of their own, with the other's labels, routing and settings.

    Args:
        corpus: whose records.
        rows: their numbers, ascending.
        out: the folder; an older corpus there isn't replaced.
        text: how they were chosen, kept in `corpus.json` as `where`.

    Raises:
        UsageError: there are none, or something lies at `out`.
        OutputError: it can't be written.
    """
    if not len(rows):
        raise UsageError("no record is left for a corpus", remedy="Ask for less in --where")
    refuse_others(out, lambda _: False)
    about = read_about(corpus.folder)
    table = index.read(corpus.folder / "index.parquet").take(pa.array(rows))
    size, shards = corpus.config.shard, dict[str, int]()
    with replacing(out) as temporary:
        (temporary / "shards").mkdir(parents=True)
        for first in range(0, len(rows), size):
            signals_nCL = corpus.stored(rows[first : first + size])
            name = f"{len(shards):05d}.npy"
            np.save(temporary / "shards" / name, signals_nCL, allow_pickle=False)
            shards[name] = len(signals_nCL)
        places = np.arange(len(rows), dtype=np.int32)
        for name, values in (("shard", places // size), ("row", places % size)):
            table = table.set_column(table.column_names.index(name), name, pa.array(values))
        index.write(table, temporary / "index.parquet")
        if (corpus.folder / ONTOLOGY).is_file():
            shutil.copyfile(corpus.folder / ONTOLOGY, temporary / ONTOLOGY)
        sources = table["source"].to_pylist()
        hashes = dict(zip(index.names(table), table["signal_hash"].to_pylist(), strict=True))
        account = report(found=sources, kept=sources, quarantined=[], hashes=hashes, codes=None)
        (temporary / "report.json").write_text(json.dumps(account.as_json(), indent=1), encoding="utf-8")
        text_about = json.dumps(about | {"shards": shards, "where": text}, indent=1, ensure_ascii=False)
        (temporary / "corpus.json").write_text(text_about, encoding="utf-8")
