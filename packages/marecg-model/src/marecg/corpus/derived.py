"""Derive a corpus from another: a subset of its records, or all records with the labels of another ontology.

Shapes: C leads, L samples, M records, N concepts, n records of a shard.
"""

import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ecg_base import refuse_others, replacing
from ecg_ontology import Ontology
from ecg_records.storage.lock import locked
from marecg.corpus import index
from marecg.corpus.account import report
from marecg.corpus.plan import routing_sha256
from marecg.corpus.prepared import Corpus, read_about
from marecg.errors import CorpusError, UsageError

logger = logging.getLogger(__name__)
_STAYS = ["root", "path", "codes", "signal_hash"]
"""Columns of the index that don't depend on the ontology."""


def write_subset(corpus: Corpus, rows: Sequence[int], out: Path, text: str) -> None:
    """Write selected records as a new corpus, with the labels, ontology and settings of the original.

    If `out` already contains the same corpus, it is left unchanged.

    Args:
        corpus: Original corpus.
        rows: Row numbers of the selected records, ascending.
        out: Folder of the new corpus.
        text: Expression that selected the records, stored in `corpus.json` as `where`.

    Raises:
        UsageError: If there are no rows, or `out` contains something else.
        OutputError: If `out` can't be written.
    """
    if not len(rows):
        raise UsageError("no record matches, so no corpus was written", remedy="Use a less strict expression")
    size, numbers = corpus.config.shard, np.arange(len(rows))
    table = index.of(corpus.folder).take(pa.array(rows))
    table = _with_columns(table, shard=numbers // size, row=numbers % size)
    shards = {
        f"{first // size:05d}.npy": len(rows[first : first + size]) for first in numbers[::size].tolist()
    }
    settings = read_about(corpus.folder) | {"shards": shards, "where": text, index.HASH: None}
    if _holds(out, settings, table):
        logger.warning("%s is already complete", out)
        return
    refuse_others(out, lambda _: False)
    with replacing(out, private=True) as temporary:
        (temporary / "shards").mkdir(parents=True)
        for first, name in zip(numbers[::size].tolist(), shards, strict=True):
            signals_nCL = corpus.stored(rows[first : first + size])
            np.save(temporary / "shards" / name, signals_nCL, allow_pickle=False)
        sources = table["source"].to_pylist()
        hashes = dict(zip(index.names(table), table["signal_hash"].to_pylist(), strict=True))
        index.write_json(report(sources, sources, [], hashes).as_json(), temporary / "report.json")
        _finish(temporary, corpus.ontology(), settings, table)


def _holds(out: Path, settings: dict[str, Any], rows: pa.Table) -> bool:
    try:
        about = read_about(out)
        return about | {index.HASH: None} == settings and index.of(Corpus.open(out).folder).equals(rows)
    except (CorpusError, OSError):  # there is no corpus, or it is damaged
        return False


def relabelled(corpus: Corpus, graph: Ontology, out: Path) -> Corpus:
    """Write a corpus with the same records and the labels of another ontology, and return the new corpus.

    The result is the same as if the records had been prepared with that ontology. Shards are hard links to
    the original files. If `out` already contains the same corpus, it is left unchanged.

    Args:
        corpus: Original corpus.
        graph: Ontology of the new labels.
        out: Folder of the new corpus.

    Raises:
        CorpusError: If the folder contains something else.
        OutputError: If the folder can't be written.
    """
    with locked(out.parent, "relabelled in"):
        if not out.exists():
            with replacing(out, private=True) as temporary:
                _relabel(corpus, graph, temporary)
        made = Corpus.open(out)
    same_graph = made.ontology().bundle_sha256 == graph.bundle_sha256
    new_rows, original_rows = (index.of(each.folder, _STAYS) for each in (made, corpus))
    if not (same_graph and new_rows.equals(original_rows)):
        problem = "already has a corpus with other records, other codes or another graph"
        raise CorpusError(problem, where=out, remedy="Remove it, or choose another folder")
    return made


def _relabel(corpus: Corpus, graph: Ontology, out: Path) -> None:
    (out / "shards").mkdir(parents=True)
    for path in (corpus.folder / "shards").iterdir():
        try:  # a hard link is safe, because shards never change
            os.link(path, out / "shards" / path.name)
        except OSError:  # the file system has no hard links
            shutil.copyfile(path, out / "shards" / path.name)
    if (account := corpus.folder / "report.json").is_file():
        shutil.copyfile(account, out / account.name)
    rows = index.of(corpus.folder)
    y_MN = graph.leaf_multi_hot(rows["codes"].to_pylist(), strict=None)
    settings = read_about(corpus.folder) | {
        "profile": graph.profile,
        "ontology_sha256": graph.sha256,
        "routing_sha256": routing_sha256(graph),
    }
    leaves = [np.flatnonzero(y_N).tolist() for y_N in y_MN]
    _finish(out, graph, settings, _with_columns(rows, leaves=leaves, primary=graph.primary(y_MN)))


def _with_columns(rows: pa.Table, **columns: Any) -> pa.Table:
    """Return the rows with new values in some columns."""
    for name, values in columns.items():
        number = rows.schema.get_field_index(name)
        rows = rows.set_column(number, rows.field(number), pa.array(values, rows.field(number).type))
    return rows


def _finish(out: Path, graph: Ontology, settings: dict[str, Any], rows: pa.Table) -> None:
    """Write the files of a corpus, except its shards and report."""
    graph.save(out / index.ONTOLOGY)
    index.complete(out, settings, rows)
