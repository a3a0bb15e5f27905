"""A prepared corpus under another graph: the same signals, and their codes read by other routes and edges.

Shapes: M records, N concepts.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from ecg_ontology import Ontology, replacing
from marecg.base.errors import CorpusError
from marecg.base.lock import locked
from marecg.corpus import index
from marecg.corpus.index import ONTOLOGY
from marecg.corpus.plan import routing_sha256, write_json
from marecg.corpus.prepared import Corpus, read_about

_STAYS = ["root", "path", "codes", "signal_hash"]
"""What a record is under any graph."""


def relabelled(corpus: Corpus, graph: Ontology, out: Path) -> Corpus:
    """The corpus that preparing the same records under another graph would have made.

    Its signals are other names of the same files.

    Args:
        corpus: whose records, with the codes that they carry.
        graph: what their codes mean.
        out: the folder of the new corpus; one that was made by the same call is left as it is.

    Raises:
        CorpusError: the folder holds something else.
        OutputError: it can't be written.
    """
    with locked(out.parent, "relabelled in"):
        if not out.exists():
            with replacing(out) as temporary:
                _write(corpus, graph, temporary)
        relabelled_corpus = Corpus.open(out)
    same_graph = relabelled_corpus.ontology().bundle_sha256 == graph.bundle_sha256
    mine, theirs = (index.read(each.folder / "index.parquet", _STAYS) for each in (relabelled_corpus, corpus))
    if not (same_graph and mine.equals(theirs)):
        problem = "holds a corpus of other records or codes, or of another graph"
        raise CorpusError(problem, where=out, remedy="Remove it, or choose another folder for --out")
    return relabelled_corpus


def _write(corpus: Corpus, graph: Ontology, out: Path) -> None:
    shards = out / "shards"
    shards.mkdir(parents=True)
    for path in (corpus.folder / "shards").iterdir():
        _link(path, shards / path.name)
    graph.save(out / ONTOLOGY)
    rows = index.read(corpus.folder / "index.parquet")
    y_MN = graph.leaf_multi_hot(rows["codes"].to_pylist())
    columns = {"leaves": [np.flatnonzero(y_N).tolist() for y_N in y_MN], "primary": graph.primary(y_MN)}
    for name, values in columns.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, rows.field(place), pa.array(values, rows.field(place).type))
    index.write(rows, out / "index.parquet")
    if (report := corpus.folder / "report.json").is_file():
        shutil.copyfile(report, out / report.name)
    labelled = {
        "profile": graph.profile,
        "ontology_sha256": graph.sha256,
        "routing_sha256": routing_sha256(graph),
    }
    write_json(read_about(corpus.folder) | labelled, out / "corpus.json")


def _link(path: Path, link: Path) -> None:
    """Another name of a file that never changes; a copy where the file system has no such names."""
    try:
        os.link(path, link)
    except OSError:
        shutil.copyfile(path, link)
