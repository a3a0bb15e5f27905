"""What tests of preparing share: shards of two records, and the bytes of a folder."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ecg_base import file_sha256
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepared import Corpus

SMALL = CorpusConfig(shard=2)


def digest(folder: Path) -> dict[str, str]:
    """Every file of a folder, hidden ones too, with a hash of its bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def with_column(corpus: Corpus, folder: Path, **columns: Sequence[Any]) -> Corpus:
    """A copy of the corpus with these values in columns of its index, and nothing there of later records."""
    shutil.copytree(corpus.folder, folder)
    rows = pq.read_table(folder / "index.parquet")
    for name, values in columns.items():
        column = pa.array([*values, *[None] * (len(rows) - len(values))], rows.schema.field(name).type)
        rows = rows.set_column(rows.column_names.index(name), name, column)
    pq.write_table(rows, folder / "index.parquet")
    about = json.loads((folder / "corpus.json").read_text())
    about["index_sha256"] = file_sha256(folder / "index.parquet")
    (folder / "corpus.json").write_text(json.dumps(about))
    return Corpus.open(folder)
